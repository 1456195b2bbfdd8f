import type { Policy } from '../plan/policy.ts';
import type { Prices } from '../plan/prices.ts';
import type { Contender } from './contender.ts';
import { countMisses, type Evidence, type Misses, quotesOf } from './evidence.ts';
import { type Layout, layoutOf } from './layout.ts';
import { type OptimumInput, optimum, requestsOf } from './optimum.ts';
import type { Context } from './run.ts';
import { costOf, type SentRequest, type Setting, type Simulation, simulate } from './simulate.ts';

/** Who plays, and at which prices. */
export interface ReplaySetting extends Setting {
  readonly contenders: readonly Contender[];
  readonly prices: readonly Prices[];
  /** How long a cache lives: for ever, as each price list says, or so long. */
  readonly cacheLife: 'endless' | 'listed' | number;
}

/** What one policy would have done in one context, at one price list or at all alike. */
export interface Played {
  readonly contender: string;
  /** Undefined where the prices make no difference. */
  readonly prices: string | undefined;
  readonly requests: readonly SentRequest[];
  readonly maskedAt: readonly number[];
  readonly placeholders: ReadonlyMap<number, string>;
  readonly misses: Misses;
  readonly cost: Readonly<Record<string, number>>;
}

/** Plays every policy on one context. */
export function replayContext(context: Context, setting: ReplaySetting): Played[] {
  const layout = layoutOf(context, setting.counter, setting.systemTokens);
  const evidence = quotesOf(context);
  const table: Table = { context, setting, layout, evidence, idle: idleTimes(context) };
  return setting.contenders.flatMap((contender) => {
    if (contender.isOptimum) return playOptimum(table, contender);
    if (contender.isPriced) return setting.prices.map((prices) => playPriced(table, contender, prices));
    return [playAlike(table, contender)];
  });
}

/** What is the same for all who play. */
interface Table {
  readonly context: Context;
  readonly setting: ReplaySetting;
  readonly layout: Layout;
  readonly evidence: Evidence;
  readonly idle: readonly (number | undefined)[];
}

const anyOf = (prices: readonly Prices[]): Prices => prices[0] as Prices;

/** A policy with prices of its own, if it has any, knows when the cache has died that it reckons with. */
function playAlike(table: Table, contender: Contender): Played {
  const { context, setting } = table;
  const policy = contender.policy(anyOf(setting.prices));
  const isColdAt = coldAt(table, { lifeMs: policy.cacheLifeMs ?? Number.POSITIVE_INFINITY });
  return played(table, contender, undefined, simulate(context, policy, setting, isColdAt));
}

function playPriced(table: Table, contender: Contender, prices: Prices): Played {
  const policy: Policy = contender.policy(prices);
  return played(table, contender, prices, simulate(table.context, policy, table.setting, coldAt(table, prices)));
}

function played(table: Table, contender: Contender, prices: Prices | undefined, simulation: Simulation): Played {
  const { requests, maskedAt, placeholders } = simulation;
  const lists = prices ? [prices] : table.setting.prices;
  const { carriedTurns } = table.context;
  const cost = lists.map((list): [string, number] => {
    const isCold = coldAt(table, list);
    return [list.name, costOf(requests, list, (index) => isCold(carriedTurns + 1 + index))];
  });
  return {
    contender: contender.name,
    prices: prices?.name,
    requests,
    maskedAt,
    placeholders,
    misses: countMisses(table.evidence, maskedAt),
    cost: Object.fromEntries(cost),
  };
}

/** The policy of its class that masks at once tells what may be masked, from when on, and what that saves. */
function playOptimum(table: Table, contender: Contender): Played[] {
  const { context, setting, layout } = table;
  const eager = simulate(context, contender.policy(anyOf(setting.prices)), { ...setting, contextLimit: undefined });
  const candidates = layout.positions.flatMap((position, i) => {
    const gain = eager.gains.get(i);
    return gain === undefined ? [] : [{ from: eager.maskedAt[i] as number, position, gain }];
  });
  return setting.prices.map((prices) => {
    const { read, write } = prices;
    const isColdAt = coldAt(table, prices);
    const input: OptimumInput = {
      sizes: layout.sizes,
      candidates,
      read,
      write,
      billedBefore: context.carriedTurns,
      isColdAt,
    };
    const { epochs } = optimum(input);
    const hiddenAt = (from: number): number => epochs.find((epoch) => epoch >= from) ?? Number.POSITIVE_INFINITY;
    const maskedAt = eager.maskedAt.map((from, i) => (eager.gains.has(i) ? hiddenAt(from) : Number.POSITIVE_INFINITY));
    const simulation = { ...eager, requests: requestsOf(input, epochs), maskedAt };
    return played(table, contender, prices, simulation);
  });
}

/** Whether the cache had died before a request, counted from 1. */
function coldAt({ idle, setting }: Table, { lifeMs }: Pick<Prices, 'lifeMs'>): (request: number) => boolean {
  const { cacheLife } = setting;
  if (cacheLife === 'endless') return () => false;
  const life = cacheLife === 'listed' ? lifeMs : cacheLife;
  return (request) => (idle[request] ?? 0) > life;
}

/** How long nothing was sent before each request, counted from 1: from the reply before it to the last thing it answers. */
function idleTimes({ messages, times }: Context): (number | undefined)[] {
  const idle: (number | undefined)[] = [undefined];
  let [replied, asked]: (number | undefined)[] = [undefined, undefined];
  for (const [i, { role }] of messages.entries()) {
    if (role !== 'assistant') {
      asked = times[i] ?? asked;
      continue;
    }
    const sent = asked ?? times[i];
    idle.push(replied === undefined || sent === undefined ? undefined : Math.max(0, sent - replied));
    replied = times[i];
    asked = undefined;
  }
  return idle;
}
