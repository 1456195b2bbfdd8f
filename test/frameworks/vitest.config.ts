import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('.', import.meta.url).pathname,
    include: ['*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A shared machine may stall for seconds. What fails twice is broken.
    retry: process.env.PALIMPSEST_CI ? 1 : 0,
  },
});
