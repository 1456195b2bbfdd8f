import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    // A test beside its file changes nothing that others see, so these share a process and import the sources once.
    projects: [
      { extends: true, test: { name: 'beside', include: ['{src,web}/**/*.test.ts'], isolate: false } },
      { extends: true, test: { name: 'across', include: ['test/**/*.test.ts'] } },
    ],
    // Real agents and frameworks are large: `npm run agents` and `npm run frameworks` install and run them.
    exclude: [...configDefaults.exclude, 'test/agents/**', 'test/frameworks/**'],
    // Tests with processes wait for half of their time, and vitest leaves one core free: on two cores it would use one.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    // A build, a database or a browser is started in some.
    hookTimeout: 120_000,
    // A shared machine may stall a browser or a process for seconds. What fails twice is broken.
    retry: process.env.PALIMPSEST_CI ? 1 : 0,
  },
});
