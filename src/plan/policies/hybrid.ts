import { count, func, given, positive } from '../../options.ts';
import { type CommonOptions, createPolicy, type Policy, windowOf } from '../policy.ts';
import type { SummaryWriter } from '../summary.ts';

/** Options of `hybrid`, in turns. */
export interface HybridOptions extends CommonOptions {
  /** The last turns that stay whole. @default 10 */
  readonly window?: number;
  /** The number of turns outside the window that become one summary. @default 43 */
  readonly summarizeEvery?: number;
  /**
   * Writes the summary. A promise can be awaited by `fitAndStore`, `openSession` and `runAgent` only. @default the
   * built-in rules
   */
  readonly summarize?: SummaryWriter<string | Promise<string>>;
}

/**
 * The window, and a summary of the oldest turns each time `summarizeEvery` of them are outside it.
 *
 * @example
 * ```ts
 * import { fit, hybrid } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: hybrid({ window: 10, summarizeEvery: 43 }) });
 * ```
 */
export function hybrid(options: HybridOptions = {}): Policy {
  const { window = 10, summarizeEvery = 43 } = given('hybrid', options);
  const sliding = windowOf(window, options);
  return createPolicy({
    name: 'hybrid',
    options,
    rules: { window: count, summarizeEvery: positive, summarize: func },
    window,
    leavesOut: true,
    summarize: options.summarize,
    ...sliding,
    step(state, request, eligible) {
      const step = sliding.step(state, request, eligible);
      return request.turns >= summarizeEvery + window ? { ...step, summarize: summarizeEvery } : step;
    },
  });
}
