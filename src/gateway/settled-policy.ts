import type { Policy, RequestView, Step } from '../plan/policy.ts';
import { type Prices, priceLists } from '../plan/prices.ts';
import type { MaskingPrices } from './request-prices.ts';

/** Prices that hold from a turn on. */
export interface Period {
  readonly fromTurn: number;
  readonly prices: MaskingPrices;
}

/** Makes a policy for a price list. */
export type MakePolicy = (prices: Prices) => Policy;

interface State {
  readonly policy: Policy;
  readonly own: unknown;
}

/**
 * A policy whose prices change in the course of a conversation: with the size of the request, since nothing is cached
 * below the provider's least size, and with what was recorded. What it decides for an earlier request is what was decided
 * then, so that a change of prices takes back no mask.
 */
export function settledPolicy(make: MakePolicy, periods: readonly Period[], besideTokens = 0): Policy {
  const made = new Map<MaskingPrices, Policy>();
  const policyFor = (prices: MaskingPrices): Policy => {
    const { canMark: _place, ...list } = prices;
    const policy = made.get(prices) ?? make(list);
    made.set(prices, policy);
    return policy;
  };
  const latest = policyFor(pricesAt(periods, Number.POSITIVE_INFINITY));
  return {
    ...latest,
    init: () => undefined,
    step(before, request) {
      const state = before as State | undefined;
      const prices = pricesAt(periods, request.turns);
      const policy = policyFor(isCached(request, prices) ? prices : UNCACHED);
      const own = state && isHeir(state.policy, policy) ? state.own : policy.init();
      const step = policy.step(own, prices.canMark ? request : withoutMarker(request, besideTokens));
      return { ...step, state: { policy, own: step.state } } as Step<unknown>;
    },
  };
}

function pricesAt(periods: readonly Period[], turn: number): MaskingPrices {
  return periods.findLast(({ fromTurn }) => fromTurn <= turn)?.prices ?? UNCACHED;
}

const UNCACHED: MaskingPrices = { ...priceLists.none, canMark: true };

/** Where no marker can stand before an edit, the provider finds what was cached of system prompt and tools, and no more. */
function withoutMarker(request: RequestView, besideTokens: number): RequestView {
  const { turns, tokens, observations, frontier, omitted, revision, maskable, text, isCold } = request;
  return {
    ...{ turns, tokens, observations, frontier, omitted, revision, maskable, text, isCold },
    gain: (observation) => request.gain(observation),
    textOf: (turn) => request.textOf(turn),
    textBefore: () => besideTokens,
  };
}

const isCached = ({ tokens }: RequestView, { leastTokens }: Prices): boolean => tokens >= leastTokens;

/** What break-even keeps in mind are sizes, whatever they cost. */
const isHeir = (before: Policy, policy: Policy): boolean =>
  before === policy || (before.name === 'break-even' && policy.name === 'break-even');
