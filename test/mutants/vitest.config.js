import { defineConfig } from 'vitest/config';
import { groups } from './groups.js';

const { tests } = groups[process.env.PALIMPSEST_MUTANTS];

export default defineConfig({
  test: {
    include: tests,
    setupFiles: ['test/mutants/same-samples.js'],
    // Tests of time and size find no mutant that smaller ones miss, and each takes a second.
    testNamePattern: /^(?!.*(\d MB|100,000|long texts take time|the work of|real runs))/,
    testTimeout: 120_000,
    // One worker runs all files. Stryker starts a new one for each mutant.
    isolate: false,
  },
});
