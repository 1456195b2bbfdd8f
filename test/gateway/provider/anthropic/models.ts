/** Claude 5.1 and later bind thinking to the conversation that it was made in. */
export const isBound = (model: string): boolean => /^claude-[a-z]+-(?:5-[1-9](?!\d)|[6-9])/.test(model);

/** From 4.6 on, a conversation must end with the user. */
export const takesPrefill = (model: string): boolean => !/^claude-[a-z]+-(?:4-[6-9](?!\d)|[5-9])/.test(model);

/** From Opus 4.7 on, a model decides by itself how much it thinks. */
export const isAdaptiveOnly = (model: string): boolean => /^claude-(?:opus-4-[7-9](?!\d)|[a-z]+-[5-9])/.test(model);

/** Opus from 4.8 on and all of Fable take system messages in the middle of a conversation. */
export const takesSystemMessages = (model: string): boolean =>
  /^claude-(?:opus-(?:4-[89](?!\d)|[5-9])|fable)/.test(model);

const LEAST: readonly (readonly [RegExp, number])[] = [
  [/opus-4-[56]|haiku-4-5/, 4096],
  [/opus-4-7/, 2048],
  [/opus-5/, 512],
];

/** Shorter prefixes are not cached. */
export const leastCacheable = (model: string): number => LEAST.find(([pattern]) => pattern.test(model))?.[1] ?? 1024;

export const MOST_OUTPUT_TOKENS = 128_000;
