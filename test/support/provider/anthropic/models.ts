/** Claude 5.1 and later bind thinking to the conversation that it was made in. */
export const isBound = (model: string): boolean => /^claude-[a-z]+-(?:5-[1-9](?!\d)|[6-9])/.test(model);

const LEAST: readonly (readonly [RegExp, number])[] = [
  [/opus-4-[56]|haiku-4-5/, 4096],
  [/opus-4-7/, 2048],
  [/opus-5/, 512],
];

/** Shorter prefixes are not cached. */
export const leastCacheable = (model: string): number => LEAST.find(([pattern]) => pattern.test(model))?.[1] ?? 1024;
