import { type ModelPrice, ratesFor } from '../money/index.ts';
import type { Prices } from '../plan/prices.ts';
import { type CacheTimes, cacheTimesOf } from './cache-times.ts';
import type { Contender } from './contender.ts';
import { countMisses, type Evidence, type Misses, missedCalls, quotesOf } from './evidence.ts';
import { layoutOf } from './layout.ts';
import { type Candidate, type OptimumInput, optimum, requestsOf } from './optimum.ts';
import type { Context } from './run.ts';
import { costOfRequest, type SentRequest, type Setting, type Simulation, simulate } from './simulate.ts';
import { RECALL_OUTPUT_TOKENS, withRecalls } from './with-recalls.ts';
import { withTexts } from './with-texts.ts';

/** The policies and the price lists of a replay. */
export interface ReplaySetting extends Setting {
  readonly contenders: readonly Contender[];
  readonly prices: readonly Prices[];
  /** How long a cache lives: for ever, as each price list says, or so long. */
  readonly cacheLife: 'endless' | 'listed' | number;
  /** How many requests may keep the cache alive in a pause. None if not given. */
  readonly keepWarm?: number | undefined;
  /** Whether to price what recalling every missed text would cost. */
  readonly recalls?: boolean | undefined;
  /** The price of the model in dollars, where it is known. */
  readonly modelPrice?: ModelPrice | undefined;
}

/** The result of one policy in one context, at one price list or at all of them. */
export interface Played {
  readonly contender: string;
  /** Undefined where the prices make no difference. */
  readonly prices: string | undefined;
  readonly requests: readonly SentRequest[];
  readonly maskedAt: readonly number[];
  readonly placeholders: ReadonlyMap<number, string>;
  readonly misses: Misses;
  /** The cost by price list, in tokens at the base price. */
  readonly cost: Readonly<Record<string, number>>;
  /** The same if every miss costs one recall. Empty unless asked for. */
  readonly costWithRecalls: Readonly<Record<string, number>>;
  /** Dollars by price list. Empty if the price of the model is unknown. */
  readonly dollars: Readonly<Record<string, number>>;
}

/** Plays every policy on one context. */
export function replayContext(context: Context, setting: ReplaySetting): Played[] {
  const evidence = quotesOf(context);
  const table = tableOf(context, setting);
  return setting.contenders.flatMap((contender) => {
    const lists = contender.isOptimum || contender.isPriced ? setting.prices : [undefined];
    return lists.map((prices) => play(table, evidence, { contender, prices }));
  });
}

/** A policy, at one price list where it decides by the prices. */
interface Player {
  readonly contender: Contender;
  readonly prices: Prices | undefined;
}

function play(table: Table, evidence: Evidence, player: Player): Played {
  const { context, setting } = table;
  const { requests, maskedAt, placeholders } = simulationOf(table, player);
  const lists = player.prices ? [player.prices] : setting.prices;
  const bills = lists.map((list) => ({ list, ...billOf(table, requests, list) }));
  const missed = setting.recalls ? missedCalls(evidence, maskedAt) : [];
  const recalled = missed.length === 0 ? undefined : tableOf(withRecalls(context, missed), setting);
  const recalledRequests = recalled && simulationOf(recalled, player).requests;
  const costWithRecalls = bills.map(({ list, cost }): [string, number] => {
    if (!recalled || !recalledRequests) return [list.name, cost];
    return [list.name, billOf(recalled, recalledRequests, list).cost + missed.length * recallOutput(setting)];
  });
  return {
    contender: player.contender.name,
    prices: player.prices?.name,
    requests,
    maskedAt,
    placeholders,
    misses: countMisses(evidence, maskedAt),
    cost: Object.fromEntries(bills.map(({ list, cost }) => [list.name, cost])),
    costWithRecalls: setting.recalls ? Object.fromEntries(costWithRecalls) : {},
    dollars: setting.modelPrice ? Object.fromEntries(bills.map(({ list, dollars }) => [list.name, dollars])) : {},
  };
}

/** A token of output costs as much as this many of input, where the price of the model is not known. */
const OUTPUT_RATIO = 5;

const recallOutput = ({ modelPrice }: ReplaySetting): number =>
  RECALL_OUTPUT_TOKENS * (modelPrice && modelPrice.input > 0 ? modelPrice.output / modelPrice.input : OUTPUT_RATIO);

/** A context that is played, and what all who play it share. */
interface Table {
  readonly context: Context;
  readonly setting: ReplaySetting;
  readonly times: CacheTimes;
  /** The results that each optimum may mask: the same at all prices. */
  readonly eager: Map<Contender, Eager>;
}

const tableOf = (context: Context, setting: ReplaySetting): Table => ({
  context,
  setting,
  times: cacheTimesOf(context, setting),
  eager: new Map(),
});

function simulationOf(table: Table, { contender, prices }: Player): Simulation {
  const { context, setting, times } = table;
  if (contender.isOptimum && prices) return optimumOf(table, contender, prices);
  const policy = contender.policy(prices ?? (setting.prices[0] as Prices));
  // A policy with prices of its own, if it has any, knows when the cache has died that it reckons with.
  const lifeMs = prices?.lifeMs ?? policy.cacheLifeMs ?? Number.POSITIVE_INFINITY;
  return simulate(context, policy, setting, (request) => times.isColdAt(request, lifeMs));
}

interface Eager {
  readonly simulation: Simulation;
  readonly candidates: readonly Candidate[];
  readonly sizes: readonly number[];
}

/**
 * The policy of its class that masks at once tells what may be masked, from when on, and what that saves. The texts that it still
 * sees are there in every schedule, so that its references are right in all of them.
 */
function eagerOf({ context, setting, eager }: Table, contender: Contender): Eager {
  const known = eager.get(contender);
  if (known) return known;
  const { counter, systemTokens, hiddenTokens } = setting;
  const policy = contender.policy(setting.prices[0] as Prices);
  const simulation = simulate(context, policy, { ...setting, contextLimit: undefined });
  const { sizes, positions } = layoutOf(withTexts(context, simulation.arrived), counter, systemTokens, hiddenTokens);
  const candidates = positions.flatMap((position, i) => {
    const gain = simulation.gains.get(i);
    return gain === undefined ? [] : [{ from: simulation.replacedAt.get(i) as number, position, gain }];
  });
  const found = { simulation, candidates, sizes };
  eager.set(contender, found);
  return found;
}

function optimumOf(table: Table, contender: Contender, { read, write, lifeMs }: Prices): Simulation {
  const { context, setting, times } = table;
  const { simulation, candidates, sizes } = eagerOf(table, contender);
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
function billOf({ context, setting, times }: Table, requests: readonly SentRequest[], list: Prices) {
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
