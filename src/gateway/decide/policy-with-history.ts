import { makePolicy } from '../../plan/policies/index.ts';
import { type Observation, type Policy, type RequestView, specOf } from '../../plan/policy.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import { insideWindow, outsideWindow } from '../../plan/stages/mask.ts';
import type { RecordedPolicy } from '../conversation/events.ts';
import { LruMap } from '../conversation/lru-map.ts';
import type { MaskingPrices } from '../wire/request-prices.ts';

/** The prices and the policy from a turn on. */
export interface Period {
  readonly fromTurn: number;
  readonly prices: MaskingPrices;
  /** Undefined: the current policy. */
  readonly policy?: RecordedPolicy | undefined;
}

/** Makes a policy for a price list. */
export type MakePolicy = (prices: Prices) => Policy;

/** Makes each policy once for all conversations: making one takes longer than reading a turn, and policies hold no state. */
export function oncePerPriceList(make: MakePolicy): MakePolicy {
  const made = new LruMap<string, Policy>(MOST_PRICE_LISTS);
  return (prices) => {
    const key = JSON.stringify(prices);
    const policy = made.get(key) ?? make(prices);
    made.set(key, policy);
    return policy;
  };
}

/** Price lists also come from recorded events, so there may be any number of them. */
const MOST_PRICE_LISTS = 100;

/** A policy as it is recorded; undefined if it cannot be recorded as data. */
export function toRecorded(policy: Policy, { canMark: _place, ...prices }: MaskingPrices): RecordedPolicy | undefined {
  const spec = specOf(policy);
  if (!spec) return undefined;
  const { prices: own, ...options } = spec.options;
  const isPriced = JSON.stringify(own) === JSON.stringify(prices);
  return isPriced ? { name: spec.name, options, isPriced } : { ...spec, isPriced };
}

function makerOf({ name, options, isPriced }: RecordedPolicy): MakePolicy {
  return (prices) => makePolicy({ name, options: isPriced ? { ...options, prices } : options });
}

/** A policy at all the prices that it is used with. Each is created once. */
class PolicyAtPrices {
  readonly #make: MakePolicy;
  readonly #made = new Map<MaskingPrices, Policy>();

  constructor(make: MakePolicy) {
    this.#make = make;
  }

  at(prices: MaskingPrices): Policy {
    const known = this.#made.get(prices);
    if (known) return known;
    const { canMark: _place, ...list } = prices;
    const policy = this.#make(list);
    this.#made.set(prices, policy);
    return policy;
  }
}

interface Stage extends Period {
  readonly policies: PolicyAtPrices;
}

function stagesOf(make: MakePolicy, periods: readonly Period[]): readonly Stage[] {
  const known = new Map<string | undefined, PolicyAtPrices>();
  const all = periods.length > 0 ? periods : [{ fromTurn: 0, prices: UNCACHED }];
  return all.map((period: Period) => {
    const key = JSON.stringify(period.policy) as string | undefined;
    const policies = known.get(key) ?? new PolicyAtPrices(period.policy ? makerOf(period.policy) : make);
    known.set(key, policies);
    return { ...period, policies };
  });
}

interface State {
  readonly policies: PolicyAtPrices;
  readonly policy: Policy;
  readonly own: unknown;
  /** The epochs whose messages no later epoch has rewritten. */
  readonly epochs: readonly Epoch[];
}

/** An epoch rewrites everything after its first mask. */
interface Epoch {
  readonly first: Observation;
  readonly turns: number;
}

/**
 * A policy that changes during a conversation. Its prices change with the size of the request, because nothing is cached below the
 * provider's minimum size, and with the recorded settings. The policy changes with the options of the gateway. Earlier requests are decided
 * with the policy and the prices of their time, so no change removes a mask.
 */
export function policyWithHistory(make: MakePolicy, periods: readonly Period[], overheadTokens = 0): Policy {
  const stages = stagesOf(make, periods);
  const [first, latest] = [stages[0] as Stage, stages.at(-1) as Stage];
  const stageOf = ({ turns }: RequestView): Stage => stages.findLast(({ fromTurn }) => fromTurn <= turns) ?? first;
  const policyFor = (request: RequestView): Policy => {
    const { policies, prices } = stageOf(request);
    return policies.at(isCached(request, prices) ? prices : UNCACHED);
  };
  return {
    ...latest.policies.at(latest.prices),
    ...sentBytesOf(first.policies.at(first.prices)),
    ...toolUseIn(stages),
    init: () => undefined,
    step(before, request) {
      const state = before as State | undefined;
      const { prices, policies } = stageOf(request);
      const policy = policyFor(request);
      const own = state && keepsState(state, { policy, policies }) ? state.own : policy.init();
      const epochs = state?.epochs ?? [];
      const step = policy.step(own, asCached(request, { prices, epochs, overheadTokens }));
      return { ...step, state: { policies, policy, own: step.state, epochs: withEpoch(epochs, step.mask, request) } };
    },
    outside: (request) => outsideWindow(request, policyFor(request)),
    inside: (request) => insideWindow(request, policyFor(request)),
  };
}

/** The wording of placeholders and the size of cut results stay as at the start of the conversation. */
function sentBytesOf({ style, maxResultTokens, truncation }: Policy): Partial<Policy> {
  return {
    ...(style ? { style } : {}),
    ...(maxResultTokens === undefined ? {} : { maxResultTokens }),
    ...(truncation ? { truncation } : {}),
  };
}

/** Kinds of tools are read if any of the policies uses them. */
function toolUseIn(stages: readonly Stage[]): Pick<Policy, 'toolUse'> {
  const { toolUse } = stages.map(({ policies, prices }) => policies.at(prices)).findLast((one) => one.toolUse) ?? {};
  return toolUse ? { toolUse } : {};
}

const UNCACHED: MaskingPrices = { ...priceLists.none, canMark: true };

/**
 * The request as the provider's cache sees it: the text that it finds before an edit. If no marker can be placed before the edit, it finds
 * only system prompt and tools. A cache with markers finds the end of every request. Inside the part that an epoch rewrote, it finds only
 * our marker before the first mask, and only from near by.
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

/** Not every block is a segment, so the look-back is assumed to be this many blocks shorter. */
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
    carried: request.carried,
    isCold: request.isCold,
    hasNewReferences: request.hasNewReferences,
    gain: (observation) => request.gain(observation),
    textOf: (turn) => request.textOf(turn),
    textBefore,
  };
}

function withEpoch(epochs: readonly Epoch[], mask: readonly number[], request: RequestView): readonly Epoch[] {
  if (mask.length === 0) return epochs;
  const masked = new Set(mask);
  // A policy may name segments that are already masked, or are not results.
  const first = request.observations.find((one) => masked.has(one.segment) && request.maskable(one));
  if (!first) return epochs;
  return [...epochs.filter((epoch) => epoch.first.segment < first.segment), { first, turns: request.turns }];
}

const isCached = ({ tokens }: RequestView, { leastTokens }: Prices): boolean => tokens >= leastTokens;

/** A policy that decides by prices keeps its state when they change: the state does not depend on them. */
function keepsState(before: State, { policies, policy }: Pick<State, 'policies' | 'policy'>): boolean {
  if (before.policies !== policies) return false;
  return before.policy === policy || (before.policy.prices !== undefined && policy.prices !== undefined);
}
