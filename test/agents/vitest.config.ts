import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('.', import.meta.url).pathname,
    include: ['*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    // An agent uses about one core.
    maxConcurrency: 2,
    // A shared machine may stall an agent for longer than it waits. What fails twice is broken.
    retry: process.env.PALIMPSEST_CI ? 1 : 0,
  },
});
