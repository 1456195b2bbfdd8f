import { count, given, positive } from '../../options.ts';
import { type CommonOptions, createPolicy, type Policy, windowOf } from '../policy.ts';

/** Options of `hybrid`, in turns. */
export interface HybridOptions extends CommonOptions {
  readonly window?: number;
  readonly summarizeEvery?: number;
}

/** The window, and a summary of the oldest turns each time `summarizeEvery` of them stand outside it. */
export function hybrid(options: HybridOptions = {}): Policy {
  const { window = 10, summarizeEvery = 43 } = given('hybrid', options);
  const sliding = windowOf(window, options);
  return createPolicy({
    name: 'hybrid',
    options,
    rules: { window: count, summarizeEvery: positive },
    window,
    ...sliding,
    step(state, request, eligible) {
      const step = sliding.step(state, request, eligible);
      return request.turns >= summarizeEvery + window ? { ...step, summarize: summarizeEvery } : step;
    },
  });
}
