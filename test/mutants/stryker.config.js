import { groups } from './groups.js';

const group = process.env.PALIMPSEST_MUTANTS;
const { mutate, ignoreStatic = false } = groups[group];
const reports = 'test/mutants/reports';

export default {
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutants/vitest.config.js', related: false },
  mutate: [...mutate, '!**/*.test.ts'],
  // Copied to the sandbox: the sources, the tests and the pages that tests read.
  ignorePatterns: [
    '/*',
    '!/src',
    '!/test',
    '!/docs',
    '!/package.json',
    '/test/agents',
    '/test/frameworks',
    `/${reports}`,
  ],
  // Vitest does not check types.
  disableTypeChecks: false,
  concurrency: 1,
  timeoutMS: 3000,
  ignoreStatic,
  // A later run tries only mutants whose code or tests changed.
  incremental: true,
  incrementalFile: `${reports}/${group}-incremental.json`,
  reporters: ['clear-text', 'progress', 'json'],
  jsonReporter: { fileName: `${reports}/${group}.json` },
  clearTextReporter: { allowColor: false, reportTests: false },
  tempDirName: '.stryker-tmp',
  cleanTempDir: 'always',
};
