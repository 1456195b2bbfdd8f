import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { LONG, LongestFirst, MEASURING } from './test/support/longest-first.ts';

const alone = [...LONG, ...MEASURING];

export default defineConfig({
  test: {
    // Tests change nothing that others see, so most share a process and import the sources once: that takes a second for each file. Long
    // ones have a process each, since a large heap slows down those after it, and so have those that measure their process.
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      { extends: true, test: { name: 'across', include: ['test/**/*.test.ts'], exclude: alone, isolate: false } },
      { extends: true, test: { name: 'beside', include: ['{src,web}/**/*.test.ts'], isolate: false } },
    ],
    // Real agents and frameworks are large: `npm run agents` and `npm run frameworks` install and run them.
    exclude: [...configDefaults.exclude, 'test/agents/**', 'test/frameworks/**'],
    // Tests with processes wait for half of their time: on two cores, four workers take 560 s where three take 615 s.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    // A build, a database or a browser is started in some.
    hookTimeout: 120_000,
    // A shared machine may stall a browser or a process for seconds. What fails twice is broken, and so is a property with a
    // counterexample: other samples would hide it.
    retry: process.env.PALIMPSEST_CI ? { count: 1, condition: /^(?!Property failed)/ } : 0,
  },
});
