import { count, given } from '../../options.ts';
import type { PlaceholderStyle } from '../placeholder.ts';
import { type CommonOptions, createPolicy, eligibleIn, type Policy, type RequestView } from '../policy.ts';

/** Options of `firstAndLast`: how many results to keep at either end. */
export interface FirstAndLastOptions extends CommonOptions {
  /** The number of oldest results that stay. @default 2 */
  readonly keepFirst?: number;
  /** The number of newest results that stay. @default 5 */
  readonly keepLast?: number;
}

/**
 * Masks the middle results: the first set the scene, the last are being worked on. Both 0 disables it.
 *
 * @example
 * ```ts
 * import { firstAndLast, fit } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: firstAndLast({ keepFirst: 2, keepLast: 5 }) });
 * ```
 */
export function firstAndLast(options: FirstAndLastOptions = {}): Policy {
  const { keepFirst = 2, keepLast = 5 } = given('first-and-last', options);
  const disabled = keepFirst === 0 && keepLast === 0;
  const keptFrom = ({ observations }: RequestView): number => (disabled ? 0 : observations.length - keepLast);
  return createPolicy({
    name: 'first-and-last',
    options,
    rules: { keepFirst: count, keepLast: count },
    minTokens: 0,
    style: removedStyle,
    init: () => 0,
    step(next, request, eligible) {
      const from = Math.max(next, firstOf(request, keepFirst), request.frontier);
      const mask = eligibleIn(from, keptFrom(request), request, eligible);
      const act = mask.length > 0 ? 'mask' : disabled ? 'off' : 'wait';
      return { state: Math.max(from, keptFrom(request)), mask, because: { act, because: REASONS[act] } };
    },
    keptFrom,
  });
}

/** Once older messages were left out, the first results in the list are not the first of the run. */
const firstOf = (request: RequestView, keepFirst: number): number => (request.omitted > 0 ? 0 : keepFirst);

const removedStyle: PlaceholderStyle = {
  write: ({ tokens }) => `[result masked — ~${tokens} tokens removed]`,
  known: true,
};

const REASONS = {
  mask: 'results fell between the first and the last',
  wait: 'no result between the first and the last',
  off: 'keepFirst and keepLast are both 0',
};
