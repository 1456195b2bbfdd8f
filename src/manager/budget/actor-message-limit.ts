import { badOption, positive } from '../../options.ts';

/** The number of messages in memory if no model is known. */
const DEFAULT_ACTOR_MESSAGE_LIMIT = 1000;

/** A message has about 200 tokens; twice as many stay as fit, so that a render can cut precisely. */
const TOKENS_PER_MESSAGE = 200;
const HEADROOM = 2;
const [LEAST, MOST] = [100, 2000];

/** The number of messages that a session keeps in memory and in its snapshot, by the input limit of its model. */
export function actorMessageLimit(maxInputTokens?: number): number {
  if (maxInputTokens === undefined) return DEFAULT_ACTOR_MESSAGE_LIMIT;
  if (!positive.check(maxInputTokens))
    throw badOption('actorMessageLimit argument maxInputTokens', positive.expected, maxInputTokens);
  const derived = Math.floor(maxInputTokens / TOKENS_PER_MESSAGE) * HEADROOM;
  return Math.min(MOST, Math.max(LEAST, derived));
}
