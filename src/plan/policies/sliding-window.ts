import { count, given, positive } from '../../options.ts';
import { countLines } from '../../text.ts';
import type { PlaceholderStyle } from '../placeholder.ts';
import { type CommonOptions, createPolicy, type Policy, windowOf } from '../policy.ts';

/** Options of `slidingWindow`. */
export interface SlidingWindowOptions extends CommonOptions {
  /** How many of the last turns stay whole. @default 10 (`openHands`: 58) */
  readonly turns?: number;
}

/**
 * Masks everything outside the window, on every turn. From the observation-masking paper.
 *
 * @example
 * ```ts
 * import { fit, slidingWindow } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: slidingWindow({ turns: 10 }) });
 * ```
 */
export function slidingWindow(options: SlidingWindowOptions = {}): Policy {
  return windowPolicy('sliding-window', options, 10, omittedStyle);
}

function windowPolicy(name: string, options: SlidingWindowOptions, most: number, style: PlaceholderStyle): Policy {
  const { turns = most } = given(name, options);
  return createPolicy({ name, options, rules: { turns: count }, window: turns, style, ...windowOf(turns, options) });
}

export const OMITTED = '[Observation omitted for brevity]';
const omittedStyle: PlaceholderStyle = { write: () => OMITTED, known: true };

const linesStyle: PlaceholderStyle = {
  write: ({ text }) => `Old environment output: (${countLines(text)} lines omitted)`,
  known: true,
};

/**
 * The paper's window for SWE-agent, with that agent's words.
 *
 * @example
 * ```ts
 * import { fit, sweAgent } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: sweAgent() });
 * ```
 */
export function sweAgent(options: SlidingWindowOptions = {}): Policy {
  return windowPolicy('swe-agent', options, 10, linesStyle);
}

/**
 * The paper's window for OpenHands, which keeps its retries and needs a longer one.
 *
 * @example
 * ```ts
 * import { fit, openHands } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: openHands() });
 * ```
 */
export function openHands(options: SlidingWindowOptions = {}): Policy {
  return windowPolicy('open-hands', options, 58, omittedStyle);
}

/** Options of `polling`. */
export interface PollingOptions extends SlidingWindowOptions {
  /** The window moves on only every so many turns. @default 5 */
  readonly every?: number;
}

/**
 * The sliding window, moved on only every `every` turns, so that the prompt cache lives that long.
 *
 * @example
 * ```ts
 * import { fit, polling } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: polling({ turns: 10, every: 5 }) });
 * ```
 */
export function polling(options: PollingOptions = {}): Policy {
  const { turns = 10, every = 5 } = given('polling', options);
  return createPolicy({
    name: 'polling',
    options,
    rules: { turns: count, every: positive },
    window: turns,
    // The turn of the last move.
    ...windowOf(turns, options, (request) => request.turns - (request.turns % every)),
  });
}
