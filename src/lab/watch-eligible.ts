import type { Policy, RequestView } from '../plan/policy.ts';

/** A policy that waits until the last request, and what it has seen on the way. */
export interface Watch {
  readonly policy: Policy;
  /** By segment, the request from which on the result may be masked for good. */
  readonly from: ReadonlyMap<number, number>;
}

/**
 * Asks a policy before each request what it would mask, and masks that in the last request only. Until then every reference leads
 * to a text that is still there: a result that may be masked now has to stay if a later one refers to it.
 */
export function watchEligible(policy: Policy, requests: number): Watch {
  const from = new Map<number, number>();
  let seen = 0;
  const take = (request: number, mask: readonly number[]): void => {
    seen = request;
    const eligible = new Set(mask);
    for (const segment of from.keys()) if (!eligible.has(segment)) from.delete(segment);
    for (const segment of mask) if (!from.has(segment)) from.set(segment, request);
  };
  const step = (state: unknown, view: RequestView) => {
    const { mask, because } = policy.step(policy.init(), view);
    const request = view.turns + 1;
    // The last request is decided again where it changes results that refer to others.
    if (request > seen) take(request, mask);
    return { state, mask: request < requests ? [] : mask, because };
  };
  return { policy: { ...policy, init: () => undefined, step }, from };
}
