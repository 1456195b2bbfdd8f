import type { Observation, Policy, RequestView } from '../../plan/policy.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import type { MaskingPrices } from '../wire/request-prices.ts';

/** Prices that hold from a turn on. */
export interface Period {
  readonly fromTurn: number;
  readonly prices: MaskingPrices;
}

/** Makes a policy for a price list. */
type MakePolicy = (prices: Prices) => Policy;

interface State {
  readonly policy: Policy;
  readonly own: unknown;
  /** The epochs whose messages no later epoch has rewritten. */
  readonly epochs: readonly Epoch[];
}

/** An epoch rewrites everything behind its first mask. */
interface Epoch {
  readonly first: Observation;
  readonly turns: number;
}

/**
 * A policy whose prices change during a conversation: with the size of the request, since nothing is cached below the
 * provider's least size, and with the recorded settings. Earlier requests are decided with the prices of their time, so a
 * change of prices takes back no mask.
 */
export function policyWithPriceHistory(make: MakePolicy, periods: readonly Period[], overheadTokens = 0): Policy {
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
      const own = state && keepsState(state.policy, policy) ? state.own : policy.init();
      const epochs = state?.epochs ?? [];
      const step = policy.step(own, asCached(request, { prices, epochs, overheadTokens }));
      return { ...step, state: { policy, own: step.state, epochs: withEpoch(epochs, step.mask, request) } };
    },
  };
}

function pricesAt(periods: readonly Period[], turn: number): MaskingPrices {
  return periods.findLast(({ fromTurn }) => fromTurn <= turn)?.prices ?? UNCACHED;
}

const UNCACHED: MaskingPrices = { ...priceLists.none, canMark: true };

/**
 * The request as the provider's cache sees it: the text that it finds again before an edit. Where no marker can be placed
 * before the edit, it finds system prompt and tools only. A cache with markers finds the end of every request. Inside the
 * part that an epoch rewrote, it finds only our marker before the first mask, and only from near by.
 */
function asCached(request: RequestView, { prices, epochs, overheadTokens }: Caching): RequestView {
  if (!prices.canMark) return withTextBefore(request, () => overheadTokens);
  const { lookup } = prices;
  if (lookup.kind === 'prefix') return inSteps(request, lookup.stepTokens);
  if (epochs.length === 0) return request;
  return withTextBefore(request, (observation) => {
    const { first, turns = 0 } = epochs.findLast((epoch) => epoch.first.segment <= observation.segment) ?? {};
    if (!first || observation.turn > turns) return request.textBefore(observation);
    const isFound = observation.segment - first.segment <= lookup.lookBackBlocks - UNSEEN_BLOCKS;
    return isFound ? request.textBefore(first) : overheadTokens;
  });
}

/** Not every block is a segment: this many of the blocks that the provider looks back are left out of the count. */
const UNSEEN_BLOCKS = 2;

function inSteps(request: RequestView, stepTokens: number): RequestView {
  if (stepTokens === 1) return request;
  return withTextBefore(request, (observation) => {
    const tokens = request.textBefore(observation);
    return tokens - (tokens % stepTokens);
  });
}

interface Caching {
  readonly prices: MaskingPrices;
  readonly epochs: readonly Epoch[];
  readonly overheadTokens: number;
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

/** A policy that decides by prices keeps its state when they change: the state does not depend on them. */
const keepsState = (before: Policy, policy: Policy): boolean =>
  before === policy || (before.prices !== undefined && policy.prices !== undefined);
