import { type ModelPrice, ratesFor } from '../money/index.ts';
import type { Prices } from '../plan/prices.ts';
import { type CacheTimes, cacheTimesOf } from './cache-times.ts';
import { countMisses, type Evidence, type Misses, missedCalls, quotesOf } from './evidence.ts';
import { layoutOf } from './layout.ts';
import { type Candidate, type OptimumInput, optimum, requestsOf } from './optimum.ts';
import type { ReplayPolicy } from './replay-policy.ts';
import type { Context } from './run.ts';
import { costOfRequest, type SentRequest, type Setting, type Simulation, simulate } from './simulate.ts';
import { RECALL_OUTPUT_TOKENS, withRecalls } from './with-recalls.ts';
import { withTexts } from './with-texts.ts';

/** The policies and the price lists of a replay. */
export interface ReplaySetting extends Setting {
  /** The policies to replay. */
  readonly policies: readonly ReplayPolicy[];
  /** The price lists to replay them at. */
  readonly prices: readonly Prices[];
  /** How long a cache lives: for ever, as each price list says, or this many milliseconds. */
  readonly cacheLife: 'endless' | 'listed' | number;
  /** How many requests may keep the cache alive in a pause. None if not given. */
  readonly keepWarm?: number | undefined;
  /** Whether to price a recall of every missed text. */
  readonly recalls?: boolean | undefined;
  /** The price of the model in dollars, if it is known. */
  readonly modelPrice?: ModelPrice | undefined;
}

/** The result of one policy in one context, at one price list or at all of them. */
export interface PolicyRun {
  /** The name of the policy. */
  readonly policy: string;
  /** Undefined if prices make no difference to the policy. */
  readonly prices: string | undefined;
  /** The requests that the policy would have sent. */
  readonly requests: readonly SentRequest[];
  /** For each result, the request that masks it first; infinite for a result that stays. */
  readonly maskedAt: readonly number[];
  /** The placeholder of each result that has one at the end, by the result's index. */
  readonly placeholders: ReadonlyMap<number, string>;
  /** The calls that quote text which was masked by then. */
  readonly misses: Misses;
  /** The cost by price list, in tokens at the base price. */
  readonly cost: Readonly<Record<string, number>>;
  /** The same if every miss costs one recall. Empty unless asked for. */
  readonly costWithRecalls: Readonly<Record<string, number>>;
  /** Dollars by price list. Empty if the price of the model is unknown. */
  readonly dollars: Readonly<Record<string, number>>;
}

/** Replays one context under every policy. */
export function replayContext(context: Context, setting: ReplaySetting): PolicyRun[] {
  const evidence = quotesOf(context);
  const shared = sharedOf(context, setting);
  return setting.policies.flatMap((spec) => {
    const lists = spec.isOptimum || spec.isPriced ? setting.prices : [undefined];
    return lists.map((prices) => runPolicy(shared, evidence, { spec, prices }));
  });
}

/** A policy, with the price list if it decides by prices. */
interface PolicyAtPrices {
  readonly spec: ReplayPolicy;
  readonly prices: Prices | undefined;
}

function runPolicy(shared: Shared, evidence: Evidence, at: PolicyAtPrices): PolicyRun {
  const { context, setting } = shared;
  const { requests, maskedAt, placeholders } = simulationOf(shared, at);
  const lists = at.prices ? [at.prices] : setting.prices;
  const bills = lists.map((list) => ({ list, ...billOf(shared, requests, list) }));
  const missed = setting.recalls ? missedCalls(evidence, maskedAt) : [];
  const recalled = missed.length === 0 ? undefined : sharedOf(withRecalls(context, missed), setting);
  const recalledRequests = recalled && simulationOf(recalled, at).requests;
  const costWithRecalls = bills.map(({ list, cost }): [string, number] => {
    if (!recalled || !recalledRequests) return [list.name, cost];
    return [list.name, billOf(recalled, recalledRequests, list).cost + missed.length * recallOutput(setting)];
  });
  return {
    policy: at.spec.name,
    prices: at.prices?.name,
    requests,
    maskedAt,
    placeholders,
    misses: countMisses(evidence, maskedAt),
    cost: Object.fromEntries(bills.map(({ list, cost }) => [list.name, cost])),
    costWithRecalls: setting.recalls ? Object.fromEntries(costWithRecalls) : {},
    dollars: setting.modelPrice ? Object.fromEntries(bills.map(({ list, dollars }) => [list.name, dollars])) : {},
  };
}

/** A token of output costs as much as this many of input, if the price of the model is unknown. */
const OUTPUT_RATIO = 5;

const recallOutput = ({ modelPrice }: ReplaySetting): number =>
  RECALL_OUTPUT_TOKENS * (modelPrice && modelPrice.input > 0 ? modelPrice.output / modelPrice.input : OUTPUT_RATIO);

/** A context, and everything that all policies on it share. */
interface Shared {
  readonly context: Context;
  readonly setting: ReplaySetting;
  readonly times: CacheTimes;
  /** The results that each optimum may mask: the same at all prices. */
  readonly eager: Map<ReplayPolicy, Eager>;
}

const sharedOf = (context: Context, setting: ReplaySetting): Shared => ({
  context,
  setting,
  times: cacheTimesOf(context, setting),
  eager: new Map(),
});

function simulationOf(shared: Shared, { spec, prices }: PolicyAtPrices): Simulation {
  const { context, setting, times } = shared;
  if (spec.isOptimum && prices) return optimumOf(shared, spec, prices);
  const policy = spec.policy(prices ?? (setting.prices[0] as Prices));
  // A policy with its own prices also has the cache life that it assumes.
  const lifeMs = prices?.lifeMs ?? policy.cacheLifeMs ?? Number.POSITIVE_INFINITY;
  return simulate(context, policy, setting, (request) => times.isColdAt(request, lifeMs));
}

interface Eager {
  readonly simulation: Simulation;
  readonly candidates: readonly Candidate[];
  readonly sizes: readonly number[];
}

/**
 * Runs the policy of the same class that masks at once. It shows what may be masked, from which request on, and what that saves. Texts
 * that it still shows are visible in every schedule, so its references are right in all of them.
 */
function eagerOf({ context, setting, eager }: Shared, spec: ReplayPolicy): Eager {
  const known = eager.get(spec);
  if (known) return known;
  const { counter, systemTokens, hiddenTokens } = setting;
  const policy = spec.policy(setting.prices[0] as Prices);
  const simulation = simulate(context, policy, { ...setting, contextLimit: undefined });
  const { sizes, positions } = layoutOf(withTexts(context, simulation.arrived), counter, systemTokens, hiddenTokens);
  const candidates = positions.flatMap((position, i) => {
    const gain = simulation.gains.get(i);
    return gain === undefined ? [] : [{ from: simulation.replacedAt.get(i) as number, position, gain }];
  });
  const found = { simulation, candidates, sizes };
  eager.set(spec, found);
  return found;
}

function optimumOf(shared: Shared, spec: ReplayPolicy, { read, write, lifeMs }: Prices): Simulation {
  const { context, setting, times } = shared;
  const { simulation, candidates, sizes } = eagerOf(shared, spec);
  const input: OptimumInput = {
    sizes,
    candidates,
    read,
    write,
    billedBefore: context.carriedTurns,
    cachedAtStart: setting.cachedAtStart,
    isColdAt: (request) => times.isColdAt(request, lifeMs),
  };
  const { epochs } = optimum(input);
  const epochFrom = (from: number): number => epochs.find((epoch) => epoch >= from) ?? Number.POSITIVE_INFINITY;
  const maskedAt = simulation.maskedAt.map((at, i) => {
    const from = simulation.replacedAt.get(i) ?? Number.POSITIVE_INFINITY;
    // Shell output that was cut when it arrived hides something before it is masked.
    return at < from ? at : epochFrom(from);
  });
  return { ...simulation, requests: requestsOf(input, epochs), maskedAt };
}

/** The requests at one price list, with those that keep the cache alive. */
function billOf({ context, setting, times }: Shared, requests: readonly SentRequest[], list: Prices) {
  const { modelPrice } = setting;
  let [cost, dollars] = [0, 0];
  const add = (tokens: number, promptTokens: number): void => {
    cost += tokens;
    if (modelPrice) dollars += (tokens * ratesFor(modelPrice, promptTokens).input) / 1_000_000;
  };
  for (const [i, request] of requests.entries()) {
    const at = context.carriedTurns + 1 + i;
    const before = requests[i - 1]?.size ?? 0;
    add(list.read * before * times.pingsBefore(at, list.lifeMs), before);
    add(costOfRequest(request, list, times.isColdAt(at, list.lifeMs)), request.size);
  }
  return { cost, dollars };
}
