import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'web/**/*.test.ts'],
    // Real agents and frameworks are large: `npm run agents` and `npm run frameworks` install and run them.
    exclude: [...configDefaults.exclude, 'test/agents/**', 'test/frameworks/**'],
    testTimeout: 120_000,
    // A build, a database or a browser is started in some.
    hookTimeout: 120_000,
    // A shared machine may stall a browser or a process for seconds. What fails twice is broken.
    retry: process.env.PALIMPSEST_CI ? 1 : 0,
  },
});
