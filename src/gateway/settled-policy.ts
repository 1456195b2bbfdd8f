import type { Observation, Policy, RequestView } from '../plan/policy.ts';
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
  /** The epochs that others after them did not write anew. */
  readonly epochs: readonly Epoch[];
}

/** Behind its first mask an epoch writes all of its request anew. */
interface Epoch {
  readonly first: Observation;
  readonly turns: number;
}

/**
 * A policy whose prices change in the course of a conversation: with the size of the request, since nothing is cached
 * below the provider's least size, and with what was recorded. What it decides for an earlier request is what was decided
 * then, so that a change of prices takes back no mask.
 */
export function settledPolicy(make: MakePolicy, periods: readonly Period[], besideTokens = 0): Policy {
  const made = new Map<MaskingPrices, Policy>();
  const policyFor = (prices: MaskingPrices): Policy => {
    const known = made.get(prices);
    if (known) return known;
    const { canMark: _place, ...list } = prices;
    const policy = make(list);
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
      const epochs = state?.epochs ?? [];
      const step = policy.step(own, asCached(request, { prices, epochs, besideTokens }));
      return { ...step, state: { policy, own: step.state, epochs: withEpoch(epochs, step.mask, request) } };
    },
  };
}

function pricesAt(periods: readonly Period[], turn: number): MaskingPrices {
  return periods.findLast(({ fromTurn }) => fromTurn <= turn)?.prices ?? UNCACHED;
}

const UNCACHED: MaskingPrices = { ...priceLists.none, canMark: true };

/**
 * The request, with what the provider finds of it again before an edit. Where no marker can stand before the edit, that is
 * system prompt and tools. A provider that caches at markers finds the end of every request, but of what an epoch wrote anew
 * only what stands before its first mask, where a marker of ours stood, and that only from near by.
 */
function asCached(request: RequestView, { prices, epochs, besideTokens }: Caching): RequestView {
  if (!prices.canMark) return withTextBefore(request, () => besideTokens);
  if (epochs.length === 0 || !prices.name.startsWith('anthropic')) return request;
  return withTextBefore(request, (observation) => {
    const { first, turns = 0 } = epochs.findLast((epoch) => epoch.first.segment <= observation.segment) ?? {};
    if (!first || observation.turn > turns) return request.textBefore(observation);
    return observation.segment - first.segment > LOOK_BACK ? besideTokens : request.textBefore(first);
  });
}

/** In blocks; a little less than the provider's twenty, since not every block is a segment. */
const LOOK_BACK = 18;

interface Caching {
  readonly prices: MaskingPrices;
  readonly epochs: readonly Epoch[];
  readonly besideTokens: number;
}

function withTextBefore(request: RequestView, textBefore: RequestView['textBefore']): RequestView {
  return {
    turns: request.turns,
    tokens: request.tokens,
    observations: request.observations,
    frontier: request.frontier,
    omitted: request.omitted,
    revision: request.revision,
    maskable: request.maskable,
    text: request.text,
    isCold: request.isCold,
    gain: (observation) => request.gain(observation),
    textOf: (turn) => request.textOf(turn),
    textBefore,
  };
}

function withEpoch(epochs: readonly Epoch[], mask: readonly number[], request: RequestView): readonly Epoch[] {
  if (mask.length === 0) return epochs;
  const masked = new Set(mask);
  // A policy may name what is masked already, or is no result.
  const first = request.observations.find((one) => masked.has(one.segment) && request.maskable(one));
  if (!first) return epochs;
  return [...epochs.filter((epoch) => epoch.first.segment < first.segment), { first, turns: request.turns }];
}

const isCached = ({ tokens }: RequestView, { leastTokens }: Prices): boolean => tokens >= leastTokens;

/** What break-even keeps in mind are sizes, whatever they cost. */
const isHeir = (before: Policy, policy: Policy): boolean =>
  before === policy || (before.name === 'break-even' && policy.name === 'break-even');
