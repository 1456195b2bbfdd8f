import { type Eligible, eligibleIn, type Observation, type RequestView, type Step } from '../policy.ts';

/** Results that could be masked, and wait until masking them is worth it. */
export interface Pending {
  readonly from: number;
  readonly to: number;
  readonly tokens: number;
  readonly revision: number;
}

export const nothingPending = (): Pending => ({ from: 0, to: 0, tokens: 0, revision: 0 });

/** Adds the results up to `end`. The sum is recomputed if sizes changed or the end moved back. */
export function addPending(pending: Pending, request: RequestView, end: number, eligible: Eligible): Pending {
  const { revision } = request;
  const from = Math.max(pending.from, request.frontier);
  const to = Math.max(from, end);
  if (revision !== pending.revision || to < pending.to || from > pending.to) {
    return { from, to, revision, tokens: sum(request, from, to, eligible) };
  }
  return { ...pending, to, tokens: pending.tokens + sum(request, pending.to, to, eligible) };
}

function sum(request: RequestView, from: number, to: number, eligible: Eligible): number {
  let tokens = 0;
  for (let i = from; i < to; i++) {
    const observation = request.observations[i] as Observation;
    if (eligible(observation, request)) tokens += observation.tokens;
  }
  return tokens;
}

/** Masks all pending results. */
export function maskPending(
  pending: Pending,
  request: RequestView,
  eligible: Eligible,
  because: string,
): Step<Pending> {
  const mask = eligibleIn(pending.from, pending.to, request, eligible);
  const state = { ...pending, from: pending.to, tokens: 0 };
  return { state, mask, because: { act: 'mask', because, tokens: pending.tokens } };
}
