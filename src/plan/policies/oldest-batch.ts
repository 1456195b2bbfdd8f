import { count as countRule, given, positive } from '../../options.ts';
import { describeResult, type PlaceholderStyle } from '../placeholder.ts';
import { type CommonOptions, createPolicy, type Observation, type Policy } from '../policy.ts';

/** Options of `oldestBatch`. */
export interface OldestBatchOptions extends CommonOptions {
  /** How many results go at a time. @default 3 */
  readonly count?: number;
  /** How many of the last turns stay whole. @default 10 */
  readonly window?: number;
}

interface State {
  /** All results before it are masked, or never will be. */
  readonly low: number;
  readonly scanned: number;
  /** The number of maskable results between the two. */
  readonly found: number;
  readonly revision: number;
}

/**
 * Masks the oldest `count` results as soon as that many are outside the window. Never masks a result inside it.
 *
 * @example
 * ```ts
 * import { fit, oldestBatch } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: oldestBatch({ count: 5, window: 10 }) });
 * ```
 */
export function oldestBatch(options: OldestBatchOptions = {}): Policy {
  const { count = 3, window = 10 } = given('oldest-batch', options);
  return createPolicy<State>({
    name: 'oldest-batch',
    options,
    rules: { count: positive, window: countRule },
    minTokens: 0,
    window,
    style: toolStyle,
    init: () => restart(0, 0),
    step(state, request, eligible) {
      const { observations, turns } = request;
      const at = (index: number): Observation => observations[index] as Observation;
      const { revision, frontier } = request;
      const isStale = revision !== state.revision || state.low < frontier;
      let { low, scanned, found } = isStale ? restart(Math.max(state.low, frontier), revision) : state;
      for (; scanned < observations.length && turns - at(scanned).turn >= window; scanned++) {
        if (eligible(at(scanned), request)) found += 1;
        else if (found === 0) low = scanned + 1;
      }
      const mask: number[] = [];
      const batch = found - (found % count);
      for (; mask.length < batch; low++) if (eligible(at(low), request)) mask.push(at(low).segment);
      const because =
        batch > 0 ? MASKED : { act: 'wait' as const, because: `fewer than ${count} results outside the window` };
      return { state: { low, scanned, found: found - batch, revision }, mask, because };
    },
  });
}

const restart = (at: number, revision: number): State => ({ low: at, scanned: at, found: 0, revision });

const MASKED = { act: 'mask', because: 'a batch of the oldest results was complete' } as const;

const toolStyle: PlaceholderStyle = {
  write: ({ tool, text, args }) => describeResult(tool ?? 'unknown', text, args),
  known: true,
};
