import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChatMessage, createPlanner, never, type Policy } from '../../src/index.ts';
import { batchesOf, layoutOf } from '../../src/lab/layout.ts';
import { replayContext } from '../../src/lab/replay-context.ts';
import { readPrices, readReplayPolicy } from '../../src/lab/replay-policy.ts';
import type { Context } from '../../src/lab/run.ts';
import { type Setting, simulate } from '../../src/lab/simulate.ts';
import { priceLists } from '../../src/plan/prices.ts';
import { anyContext, chars, contextFrom, contextOf, system, textOf, turn, user } from '../support/logs/contexts.ts';
import { anyPolicy } from '../support/policies.ts';

// All figures here were worked out by hand, from DESIGN.md section 13 alone. Sizes are characters / 4.

const SETTING: Setting = { counter: chars, systemTokens: 0 };
const LISTS = Object.keys(priceLists);

/** A request as it is written down here: its size, and how much of it the cache holds. */
type Row = readonly [size: number, cached: number];

function sent(context: Context, policy: string, more: Partial<Setting> = {}): Row[] {
  const { requests } = simulate(context, policyOf(policy), { ...SETTING, ...more });
  return requests.map(({ size, cached }): Row => [size, cached]);
}

const policyOf = (text: string): Policy => readReplayPolicy(text).policy(priceLists['anthropic-5m']);

const epochsOf = (context: Context, policy: string): number[] =>
  simulate(context, policyOf(policy), SETTING).requests.flatMap(({ isEpoch }, i) => (isEpoch ? [i + 1] : []));

/** The cost at every price list, in the order of `LISTS`. */
function costs(context: Context, policy: string): number[] {
  const policies = [readReplayPolicy(policy)];
  const setting = { ...SETTING, policies, prices: LISTS.map(readPrices), cacheLife: 'endless' as const };
  const cost = Object.assign({}, ...replayContext(context, setting).map((played) => played.cost));
  return LISTS.map((list) => Math.round(cost[list] * 1e6) / 1e6);
}

describe('the lab’s figures for a run of seven replies, six results of 100 tokens each', () => {
  /**
   * Turn 0 is 200 tokens. A turn is 110: a reply of 8, the name of a tool 1, its arguments 1, a result 100.
   * So with nothing masked, request t is 200 + 110 (t − 1), and the cache holds the request before it.
   */
  const context = contextOf(100, 100, 100, 100, 100, 100);
  const START: Row[] = [
    [200, 0],
    [310, 200],
    [420, 310],
  ];

  const TABLE: readonly {
    readonly policy: string;
    readonly why: string;
    readonly rows: readonly Row[];
    /** Sums of the columns: what is read from the cache, and what is written. */
    readonly cached: number;
    readonly rest: number;
    /** r · cached + w · rest: 5m .1/1.25, 1h .1/2, 5 .1/1, 5.6 .1/1.25, 4.1 .25/1, 4o .5/1, gemini .1/1, deepseek .02/1, none 1/1 */
    readonly costs: readonly number[];
  }[] = [
    {
      policy: 'none',
      why: 'nothing is masked',
      rows: [
        [530, 420],
        [640, 530],
        [750, 640],
        [860, 750],
      ],
      cached: 2850,
      rest: 860,
      costs: [1360, 2005, 1145, 1360, 1572.5, 2285, 1145, 917, 3710],
    },
    {
      policy: 'sliding-window:turns=2',
      why: 'request 4 has 3 turns, so turn 1 goes: 33 characters (8.25) for 100, and all from 210 on is written again',
      rows: [
        [438.25, 210], // 530 − 91.75;      200 + 10
        [456.5, 228.25], // 640 − 2 · 91.75;  210 + 8.25 + 10
        [474.75, 246.5], // 750 − 3 · 91.75;  228.25 + 18.25
        [493, 264.75], // 860 − 4 · 91.75;  246.5 + 18.25
      ],
      cached: 1459.5,
      rest: 1333,
      costs: [1812.2, 2811.95, 1478.95, 1812.2, 1697.875, 2062.75, 1478.95, 1362.19, 2792.5],
    },
    {
      policy: 'swe-agent:turns=2',
      why: 'the same with 41 characters, 10.25 tokens: Old environment output: (1 lines omitted)',
      rows: [
        [440.25, 210], // 530 − 89.75
        [460.5, 230.25], // 640 − 2 · 89.75;  210 + 10.25 + 10
        [480.75, 250.5],
        [501, 270.75],
      ],
      cached: 1471.5,
      rest: 1341,
      costs: [1823.4, 2829.15, 1488.15, 1823.4, 1708.875, 2076.75, 1488.15, 1370.43, 2812.5],
    },
    {
      policy: 'open-hands:turns=2',
      why: 'the sliding window, with another default',
      rows: [
        [438.25, 210],
        [456.5, 228.25],
        [474.75, 246.5],
        [493, 264.75],
      ],
      cached: 1459.5,
      rest: 1333,
      costs: [1812.2, 2811.95, 1478.95, 1812.2, 1697.875, 2062.75, 1478.95, 1362.19, 2792.5],
    },
    {
      policy: 'polling:turns=2,every=2',
      why: 'moves at 4 turns (1 and 2 go) and at 6 (3 and 4); [work: 1 line, 400 chars masked] is 32 characters, 8 tokens',
      rows: [
        [530, 420],
        [456, 210], // 640 − 2 · 92
        [566, 456],
        [492, 246], // 860 − 4 · 92;  200 + 18 + 18 + 10
      ],
      cached: 1842,
      rest: 1132,
      costs: [1599.2, 2448.2, 1316.2, 1599.2, 1592.5, 2053, 1316.2, 1168.84, 2974],
    },
    {
      policy: 'first-and-last:keep-first=1,keep-last=1',
      why: '[result masked — ~100 tokens removed] is 37 characters, 9.25 tokens; the first edit is in turn 2',
      rows: [
        [439.25, 320], // 530 − 90.75;  200 + 110 + 10
        [458.5, 339.25], // 320 + 9.25 + 10
        [477.75, 358.5],
        [497, 377.75],
      ],
      cached: 1905.5,
      rest: 897,
      costs: [1311.8, 1984.55, 1087.55, 1311.8, 1373.375, 1849.75, 1087.55, 935.11, 2802.5],
    },
    {
      policy: 'oldest-batch:count=2,window=1',
      why: 'two at a time, at 3 and at 5 turns; [work result masked -- 400 bytes of output] is 43 characters, 10.75',
      rows: [
        [351.5, 210], // 530 − 2 · 89.25
        [461.5, 351.5],
        [393, 251.5], // 750 − 4 · 89.25;  200 + 2 · 20.75 + 10
        [503, 393],
      ],
      cached: 1716,
      rest: 923,
      costs: [1325.35, 2017.6, 1094.6, 1325.35, 1352, 1781, 1094.6, 957.32, 2639],
    },
    {
      policy: 'protect-tokens:protect=200,at-least=150',
      why: 'the newest two are 200; two more must wait: at 4 results (1 and 2 go) and at 6 (3 and 4)',
      rows: [
        [530, 420],
        [456, 210],
        [566, 456],
        [492, 246],
      ],
      cached: 1842,
      rest: 1132,
      costs: [1599.2, 2448.2, 1316.2, 1599.2, 1592.5, 2053, 1316.2, 1168.84, 2974],
    },
    {
      policy: 'gemini-cli:protect=200,at-least=150',
      why: 'the same rule, with other defaults',
      rows: [
        [530, 420],
        [456, 210],
        [566, 456],
        [492, 246],
      ],
      cached: 1842,
      rest: 1132,
      costs: [1599.2, 2448.2, 1316.2, 1599.2, 1592.5, 2053, 1316.2, 1168.84, 2974],
    },
    {
      policy: 'clear-tool-uses:trigger=500,keep=1',
      // Whole requests, framing and ids included: 208 + 121 (t − 1). Request 4 is 571 and falls to 387, then 508, 537, 566.
      why: 'every request from the fourth on is above the trigger',
      rows: [
        [346, 210], // 530 − 2 · 92
        [364, 246], // 640 − 3 · 92;  200 + 2 · 18 + 10
        [382, 264],
        [400, 282],
      ],
      cached: 1512,
      rest: 910,
      costs: [1288.7, 1971.2, 1061.2, 1288.7, 1288, 1666, 1061.2, 940.24, 2422],
    },
    {
      policy: 'graduated:max-input-chars=2000,preserve-recent-raw-turns=1',
      // Characters: 800 + 432 (t − 1). Request 4 has 2096 and falls to 1360; then 1792; 2224, which falls to 1488; 1920.
      why: 'masks all but the last turn at requests 4 and 6; [observation masked — 400 chars] is 32 characters',
      rows: [
        [346, 210],
        [456, 346],
        [382, 246],
        [492, 382],
      ],
      cached: 1694,
      rest: 912,
      costs: [1309.4, 1993.4, 1081.4, 1309.4, 1335.5, 1759, 1081.4, 945.88, 2606],
    },
  ];

  it.each(TABLE)('$policy: $why', ({ policy, rows, cached, rest, costs: expected }) => {
    const found = sent(context, policy);
    expect(found).toEqual([...START, ...rows]);
    expect(found.reduce((sum, [, hit]) => sum + hit, 0)).toBe(cached);
    expect(found.reduce((sum, [size, hit]) => sum + size - hit, 0)).toBe(rest);
    expect(costs(context, policy)).toEqual(expected);
  });

  it('all policies of the package are in the table, or below', () => {
    const below = ['break-even', 'hybrid', 'never'];
    const known = [...TABLE.map(({ policy }) => policy.split(':')[0]), ...below].filter((name) => name !== 'none');
    const { policies } = readPolicies();
    expect(known.sort()).toEqual(policies.sort());
  });

  it('tells which requests changed what earlier ones had sent, and when each result was hidden', () => {
    expect(epochsOf(context, 'none')).toEqual([]);
    expect(epochsOf(context, 'sliding-window:turns=2')).toEqual([4, 5, 6, 7]);
    expect(epochsOf(context, 'polling:turns=2,every=2')).toEqual([5, 7]);
    const { maskedAt, placeholders, gains } = simulate(context, policyOf('polling:turns=2,every=2'), SETTING);
    expect(maskedAt).toEqual([5, 5, 7, 7, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
    expect([...placeholders]).toEqual([0, 1, 2, 3].map((i) => [i, '[work: 1 line, 400 chars masked]']));
    expect([...gains]).toEqual([0, 1, 2, 3].map((i) => [i, 92]));
  });

  it('a window of 0 masks what goes out for the first time, which breaks no cache', () => {
    const rows = sent(context, 'sliding-window:turns=0');
    // 200 + 18.25 (t − 1)
    expect(rows.slice(0, 3)).toEqual([
      [200, 0],
      [218.25, 200],
      [236.5, 218.25],
    ]);
    expect(epochsOf(context, 'sliding-window:turns=0')).toEqual([]);
  });
});

const readPolicies = (): { policies: string[] } => {
  // The error for an unknown policy names all there are; none and optimum are the lab's own.
  try {
    readReplayPolicy('zzzzzzzzzzzzzzzzzz');
  } catch (error) {
    const [, names = ''] = /known are (.*)\.$/.exec((error as Error).message) ?? [];
    return { policies: names.split(', ').filter((name) => name !== 'none' && name !== 'optimum') };
  }
  throw new Error('expected an error');
};

describe('the lab’s figures for break-even and optimum, where the first result is 500 tokens', () => {
  /**
   * With nothing masked: 200, 710, 820, 930, 1040, 1150, 1260. `[work: 1 line, 2000 chars masked]` is 33 characters, so
   * the first result gains 491.75, each other 92. With a window of 2, request t may mask turns up to t − 3:
   *
   *   request  cached before  gain    first edit  S = cached − 210 − gain
   *   4         820           491.75  210         118.25
   *   5         930           583.75  210         136.25
   *   6        1040           675.75  210         154.25
   *   7        1150           767.75  210         172.25
   *
   * The rent so far, in units of r: 491.75, 1075.5, 1751.25, 2519. It acts at rent ≥ 0.7 (w − r) S.
   */
  const context = contextOf(500, 100, 100, 100, 100, 100);
  const BREAK_EVEN = 'break-even:window=2,window-by-kind=false';
  const OPTIMUM = 'optimum:window=2';

  const START: Row[] = [
    [200, 0],
    [710, 200],
    [820, 710],
  ];
  const AT_ONCE: Row[] = [
    [438.25, 210], // 930 − 491.75
    [456.25, 228.25], // 1040 − 583.75;  210 + 8.25 + 10
    [474.25, 246.25],
    [492.25, 264.25],
  ];

  it.each<{ list: string; why: string; rows: Row[]; cost: number }>([
    {
      list: 'anthropic-5m',
      why: '107.55 < 0.7 · 1.15 · 136.25 = 109.68; 175.125 ≥ 0.7 · 1.15 · 154.25 = 124.17: request 6',
      rows: [
        [930, 820],
        [1040, 930],
        [474.25, 210], // 1150 − 675.75
        [584.25, 474.25],
      ],
      cost: 2102.2375, // .1 · 3344.25 + 1.25 · 1414.25
    },
    {
      list: 'gpt-5.6',
      why: 'the same prices',
      rows: [
        [930, 820],
        [1040, 930],
        [474.25, 210],
        [584.25, 474.25],
      ],
      cost: 2102.2375,
    },
    {
      list: 'anthropic-1h',
      why: '175.125 < 0.7 · 1.9 · 154.25 = 205.15; 251.9 ≥ 0.7 · 1.9 · 172.25 = 229.09: request 7',
      rows: [
        [930, 820],
        [1040, 930],
        [1150, 1040],
        [492.25, 210], // 1260 − 767.75
      ],
      cost: 3255.5, // .1 · 3910 + 2 · 1432.25
    },
    {
      list: 'gpt-5',
      why: '49.175 < 0.7 · 0.9 · 118.25 = 74.5; 107.55 ≥ 0.7 · 0.9 · 136.25 = 85.84: request 5',
      rows: [
        [930, 820],
        [456.25, 210], // 1040 − 583.75
        [566.25, 456.25],
        [676.25, 566.25],
      ],
      cost: 1692.5, // .1 · 2962.5 + 1396.25
    },
    {
      list: 'gemini',
      why: 'the same prices',
      rows: [
        [930, 820],
        [456.25, 210],
        [566.25, 456.25],
        [676.25, 566.25],
      ],
      cost: 1692.5,
    },
    {
      list: 'gpt-4.1',
      // Then S counts from 228.25: 118, 136, 154; the rent is 23, 69, 138 against 61.95, 71.4, 80.85.
      why: '122.94 ≥ 0.7 · 0.75 · 118.25: request 4; and again at request 7',
      rows: [
        [438.25, 210],
        [548.25, 438.25],
        [658.25, 548.25],
        [492.25, 228.25],
      ],
      cost: 2115.9375, // .25 · 2334.75 + 1532.25
    },
    {
      list: 'gpt-4o',
      why: 'the rent of one request, 46, is above 0.7 · 0.5 · 118: at every one',
      rows: AT_ONCE,
      cost: 2661.625,
    },
    {
      list: 'deepseek',
      why: '50.38 < 0.7 · 0.98 · 172.25 = 118.16: never',
      rows: [
        [930, 820],
        [1040, 930],
        [1150, 1040],
        [1260, 1150],
      ],
      cost: 1357, // .02 · 4850 + 1260
    },
    { list: 'none', why: 'without a cache there is nothing to lose', rows: AT_ONCE, cost: 3591 },
  ])('break-even at $list: $why', ({ list, rows, cost }) => {
    const [played] = play(context, BREAK_EVEN, [list]);
    expect(played?.requests.map(({ size, cached }) => [size, cached])).toEqual([...START, ...rows]);
    expect(played?.cost[list]).toBeCloseTo(cost, 9);
  });

  it('break-even with a threshold of 1 waits until all of the price is paid', () => {
    // 175.125 < 1.15 · 154.25 = 177.39; 251.9 ≥ 1.15 · 172.25.
    expect(epochsOf(context, BREAK_EVEN)).toEqual([6]);
    expect(epochsOf(context, `${BREAK_EVEN},threshold=1`)).toEqual([7]);
  });

  it('break-even takes no epoch that would lose too much if the run ended there', () => {
    // At request 6: 177.3875 − 67.575 = 109.8125, of 1.25 · 1040 + .1 · 3700 = 1670 spent: 6.6 %.
    expect(epochsOf(context, `${BREAK_EVEN},max-loss=0.066`)).toEqual([6]);
    expect(epochsOf(context, `${BREAK_EVEN},max-loss=0.065`)).not.toContain(6);
  });

  it.each([
    // The best three of sixteen, by hand: {4} 1999.2875, {5} 2041.5625, {} 2060.
    { list: 'anthropic-5m', cost: 1999.2875, epochs: [4] },
    // {} 3005, {4} 3032.975, {5} 3088.75
    { list: 'anthropic-1h', cost: 3005, epochs: [] },
    // {4} 2069.4375, {4,6} 2079.4375, {4,5} 2088.9375
    { list: 'gpt-4.1', cost: 2069.4375, epochs: [4] },
    // {4,6} 2644.625, {4,5,6} 2648.625
    { list: 'gpt-4o', cost: 2644.625, epochs: [4, 6] },
    // {} 1357, {4} 1433.545
    { list: 'deepseek', cost: 1357, epochs: [] },
    { list: 'none', cost: 3591, epochs: [4, 5, 6, 7] },
  ])('optimum at $list acts at $epochs', ({ list, cost, epochs }) => {
    const [played] = play(context, OPTIMUM, [list]);
    expect(played?.cost[list]).toBeCloseTo(cost, 9);
    expect(played?.requests.flatMap(({ isEpoch }, i) => (isEpoch ? [i + 1] : []))).toEqual(epochs);
  });

  it('optimum tells when each result goes, and what was sent', () => {
    const [played] = play(context, OPTIMUM, ['gpt-4o']);
    const later = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    expect(played?.maskedAt).toEqual([4, 6, 6, ...later]);
    expect(played?.requests.map(({ size, cached }) => [size, cached])).toEqual([
      ...START,
      [438.25, 210],
      [548.25, 438.25],
      [474.25, 228.25],
      [584.25, 474.25],
    ]);
  });

  it('optimum knows no limit: it bounds what masks by the price', () => {
    const [limited] = play(context, OPTIMUM, ['gpt-4o'], 'endless', { contextLimit: 600 });
    expect(limited?.cost['gpt-4o']).toBeCloseTo(2644.625, 9);
  });

  describe('with a cache that has died before request 5', () => {
    /** A message each second; the result of turn 4, the thirteenth message or so, comes ten minutes late. */
    const late = context.messages.findIndex(({ toolCallId }) => toolCallId === 'c40');
    const times = context.messages.map((_, i) => 1000 * i + (i >= late ? 600_000 : 0));
    const cold = { ...context, times };

    it('request 5 caches nothing', () => {
      // none: cached 4850 − 930, rest 1260 + 930.
      const [played] = play(cold, 'none', ['anthropic-5m'], 'listed');
      expect(played?.cost['anthropic-5m']).toBeCloseTo(0.1 * 3920 + 1.25 * 2190, 9);
    });

    it('break-even takes its free epoch there', () => {
      const [played] = play(cold, BREAK_EVEN, ['anthropic-5m'], 'listed');
      expect(played?.requests.map(({ size, isEpoch }) => [size, isEpoch])).toEqual([
        [200, false],
        [710, false],
        [820, false],
        [930, false],
        [456.25, true],
        [566.25, false],
        [676.25, false],
      ]);
      // cached: 200 + 710 + 820 + 0 + 456.25 + 566.25; of 4358.75 sent.
      expect(played?.cost['anthropic-5m']).toBeCloseTo(0.1 * 2752.5 + 1.25 * 1606.25, 9);
    });

    it('break-even with prices of its own takes it too, by the life of its own cache', () => {
      const lists = ['anthropic-5m', 'anthropic-1h'];
      const [own] = play(cold, `${BREAK_EVEN},prices=anthropic-5m`, lists, 'listed');
      expect(own?.requests.map(({ isEpoch }) => isEpoch).indexOf(true)).toBe(4);
      expect(own?.cost['anthropic-5m']).toBeCloseTo(2283.0625, 9);
      // There the cache lives: 210 are read.
      expect(own?.cost['anthropic-1h']).toBeCloseTo(0.1 * 2962.5 + 2 * 1396.25, 9);
      const [other] = play(cold, `${BREAK_EVEN},prices=anthropic-1h`, lists, 'listed');
      expect(other?.cost['anthropic-1h']).toBeCloseTo(3255.5, 9);
    });

    it('a list whose cache lives longer is as before', () => {
      const [played] = play(cold, BREAK_EVEN, ['anthropic-1h'], 'listed');
      expect(played?.cost['anthropic-1h']).toBeCloseTo(3255.5, 9);
      const [endless] = play(cold, BREAK_EVEN, ['anthropic-5m'], 'endless');
      expect(endless?.cost['anthropic-5m']).toBeCloseTo(2102.2375, 9);
    });

    it('a life of one’s own counts for every list, up to and including the last moment', () => {
      // The reply of turn 4 is one second older than its result: 601 seconds.
      const costAt = (life: number) => play(cold, 'none', ['anthropic-1h'], life)[0]?.cost['anthropic-1h'];
      expect(costAt(601_000)).toBeCloseTo(3005, 9);
      expect(costAt(600_999)).toBeCloseTo(0.1 * 3920 + 2 * 2190, 9);
    });

    it('optimum masks there too', () => {
      const [played] = play(cold, OPTIMUM, ['anthropic-5m'], 'listed');
      // {5}: 2283.0625. {4} saves 491.75 · .1 at request 4, and writes 118.25 again: 1.15 · 118.25 − 49.175 more, and at
      // request 5 both write 456.25 or 548.25.
      expect(played?.cost['anthropic-5m']).toBeCloseTo(2283.0625, 9);
    });
  });

  it('turns that a compaction carried over are not billed again, and the first request after it caches nothing', () => {
    const carried = { ...context, carriedTurns: 2 };
    const [none] = play(carried, 'none', ['anthropic-5m']);
    expect(none?.requests.map(({ size, cached }) => [size, cached])).toEqual([
      [820, 0],
      [930, 820],
      [1040, 930],
      [1150, 1040],
      [1260, 1150],
    ]);
    expect(none?.cost['anthropic-5m']).toBeCloseTo(0.1 * 3940 + 1.25 * 1260, 9);
    const [masked] = play(carried, BREAK_EVEN, ['anthropic-5m']);
    expect(masked?.requests.map(({ size, cached }) => [size, cached])).toEqual([
      [820, 0],
      [930, 820],
      [1040, 930],
      [474.25, 210],
      [584.25, 474.25],
    ]);
  });

  it('system tokens fill turn 0 up, and stand before everything', () => {
    const none = play(context, 'none', ['anthropic-5m'], 'endless', { systemTokens: 1000 })[0];
    expect(none?.requests.map(({ size, cached }) => [size, cached])).toEqual([
      [1000, 0],
      [1510, 1000],
      [1620, 1510],
      [1730, 1620],
      [1840, 1730],
      [1950, 1840],
      [2060, 1950],
    ]);
    // All is 800 more, but for the price of an epoch, which is as before.
    const more = (rows: readonly Row[]): Row[] => rows.map(([size, hit]) => [size + 800, hit === 0 ? 0 : hit + 800]);
    expect(sent(context, BREAK_EVEN, { systemTokens: 1000 })).toEqual(more(sent(context, BREAK_EVEN)));
    expect(sent(context, 'none', { systemTokens: 200 })).toEqual(sent(context, 'none'));
    expect(sent(context, 'none', { systemTokens: 150 })).toEqual(sent(context, 'none'));
    const [best] = play(context, OPTIMUM, ['anthropic-5m'], 'endless', { systemTokens: 1000 });
    // 800 more are written once, and read six times.
    expect(best?.cost['anthropic-5m']).toBeCloseTo(1999.2875 + 800 * 1.25 + 6 * 800 * 0.1, 9);
  });
});

describe('the lab’s figures where turns are not all alike', () => {
  it('results of parallel calls go together, and the cache breaks before the first of them', () => {
    // A reply of 8 and two calls of 2; results 100 and 200.
    const context = contextFrom([system(100), user(100), ...turn('a', 100, 200), ...turn('b', 100), ...turn('end')]);
    expect(sent(context, 'none')).toEqual([
      [200, 0],
      [512, 200],
      [622, 512],
    ]);
    expect(sent(context, 'sliding-window:turns=1')).toEqual([
      [200, 0],
      [512, 200],
      [338.5, 212], // 622 − 91.75 − 191.75
    ]);
  });

  it('a result of 80 tokens or less stays, and the cache holds all before the first that goes', () => {
    const context = contextFrom([system(100), user(100), ...turn('a', 80, 200), ...turn('b', 100), ...turn('end')]);
    expect(sent(context, 'sliding-window:turns=1').at(-1)).toEqual([410.25, 292]); // 602 − 191.75; 212 + 80
  });

  it('a user message counts in the turn it follows', () => {
    const context = contextFrom([
      system(100),
      user(100),
      ...turn('a', 100),
      user(50),
      ...turn('b', 100),
      ...turn('c'),
      ...turn('end'),
    ]);
    expect(sent(context, 'none')).toEqual([
      [200, 0],
      [360, 200],
      [470, 360],
      [478, 470],
    ]);
    expect(sent(context, 'sliding-window:turns=1')).toEqual([
      [200, 0],
      [360, 200],
      [378.25, 210],
      [294.5, 278.25], // 478 − 2 · 91.75;  200 + 18.25 + 50 + 10
    ]);
  });

  it('what comes after the last reply was never sent', () => {
    const { messages } = contextOf(100, 100);
    const more = contextFrom([...messages, user(1000)]);
    expect(sent(more, 'none')).toEqual(sent(contextOf(100, 100), 'none'));
  });

  it('a placeholder that would be larger is not written, and breaks no cache', () => {
    // 28 characters: the placeholder of first-and-last would have 35.
    const context = contextOf(7, 7, 7, 7);
    const policy = 'first-and-last:keep-first=1,keep-last=1';
    expect(sent(context, policy)).toEqual(sent(context, 'none'));
    expect(epochsOf(context, policy)).toEqual([]);
    const { maskedAt, placeholders } = simulate(context, policyOf(policy), SETTING);
    expect([maskedAt, placeholders.size]).toEqual([new Array(4).fill(Number.POSITIVE_INFINITY), 0]);
  });

  it('hybrid summarises, and the summary stands behind the system prompt', () => {
    // A turn is 352: a reply of 250, a call of 2, a result of 100. Turn 0 is 101.
    const step = (id: string): ChatMessage[] => {
      const [reply, result] = turn(id, 100) as [ChatMessage, ChatMessage];
      return [{ ...reply, content: textOf(250) }, result];
    };
    const head: ChatMessage[] = [system(100), { role: 'user', content: 'Run.' }];
    const context = contextFrom([...head, ...['a', 'b', 'c', 'd', 'e'].flatMap(step), ...turn('end')]);
    const summary = [
      'Conversation summary (contract):',
      '- Covers: 4 earlier messages',
      '- Objective: Run.',
      '- Unresolved tasks: None captured.',
      `- Key tool outcomes: ${`work: ${textOf(100)}`.slice(0, 117)}...`,
      '- Current constraints: No constraints captured.',
    ].join('\n');
    const note = summary.length / 4;
    expect(sent(context, 'hybrid:window=1,summarize-every=2')).toEqual([
      [101, 0],
      [453, 101],
      [713, 353], // turn 1 is masked: 805 − 92
      [453 + note, 100], // turns 1 and 2 become the summary
      [713 + note, 353 + note], // turn 3 is masked
      [453 + note, 100], // the summary covers 8 messages, and is as long
    ]);
    const { maskedAt } = simulate(context, policyOf('hybrid:window=1,summarize-every=2'), SETTING);
    expect(maskedAt).toEqual([3, 4, 5, 6, Number.POSITIVE_INFINITY]);
  });

  describe('with a context limit of 600', () => {
    // Framing and ids count towards the limit: 208 + 121 (t − 1), so request 5 is 692.
    const context = contextOf(100, 100, 100, 100, 100);
    const limited = { contextLimit: 600 };

    it('a policy masks outside its window and then inside it, whatever the price', () => {
      expect(sent(context, 'break-even:prices=deepseek,window=2,window-by-kind=false', limited)).toEqual([
        [200, 0],
        [310, 200],
        [420, 310],
        [530, 420],
        [364, 210], // 692 − 3 · 92 = 416: below 480, which is 80 % of the limit
        [474, 364],
      ]);
    });

    it('sending everything masks the oldest results', () => {
      expect(sent(context, 'none', limited)).toEqual([
        [200, 0],
        [310, 200],
        [420, 310],
        [530, 420],
        [364, 210],
        [474, 364],
      ]);
      const { maskedAt } = simulate(context, never(), { ...SETTING, ...limited });
      expect(maskedAt).toEqual([5, 5, 5, ...new Array(2).fill(Number.POSITIVE_INFINITY)]);
    });

    it('sending everything drops the oldest turns where results are too small to mask, with a notice behind the task', () => {
      // Turns are as large as before, but 104 tokens are the reply and 4 the result.
      const step = (id: string): ChatMessage[] => {
        const [reply, result] = turn(id, 4) as [ChatMessage, ChatMessage];
        return [{ ...reply, content: textOf(104) }, result];
      };
      const talkative = contextFrom([
        system(100),
        user(100),
        ...['a', 'b', 'c', 'd', 'e'].flatMap(step),
        ...turn('end'),
      ]);
      // Down to 480: two turns go, and 51 characters, 12.75 tokens, stand for them: 692 − 242 + 12.75 + 4 = 466.75.
      expect(sent(talkative, 'none', limited)).toEqual([
        [200, 0],
        [310, 200],
        [420, 310],
        [530, 420],
        [432.75, 200], // 640 − 220 + 12.75
        [542.75, 432.75], // 587.75 with framing
      ]);
      const { maskedAt } = simulate(talkative, never(), { ...SETTING, ...limited });
      expect(maskedAt).toEqual([5, 5, ...new Array(3).fill(Number.POSITIVE_INFINITY)]);
    });
  });
});

describe('what simulate tells is what a planner sends', () => {
  const settings = fc.record({
    systemTokens: fc.constantFrom(0, 500),
    contextLimit: fc.constantFrom(undefined, undefined, 3000, 9000),
  });

  it('the size of every request, and what it has in common with the one before', () => {
    fc.assert(
      fc.property(anyContext({ maxTurns: 16 }), anyPolicy, settings, (context, { policy }, setting) => {
        const told = simulate(context, policy, { counter: chars, ...setting }).requests;
        const measured = measure(context, policy, setting);
        expect(told.map(({ size }) => size)).toEqual(measured.map(({ size }) => expect.closeTo(size, 6)));
        expect(told.map(({ cached }) => cached)).toEqual(measured.map(({ cached }) => expect.closeTo(cached, 6)));
      }),
      { numRuns: RUNS },
    );
  });

  it('a summary before a turn that must stay is written behind what was cached', () => {
    // No system prompt, and the newest words of the user are in turn 1: the summary stands between turns 0 and 1.
    const says: ChatMessage[] = [{ role: 'user', content: 'Run.' }];
    const step = (id: string): ChatMessage[] => {
      const [reply, result] = turn(id, 100) as [ChatMessage, ChatMessage];
      return [{ ...reply, content: textOf(250) }, result];
    };
    const context = contextFrom([
      ...says,
      ...turn('a'),
      ...says,
      ...['b', 'c', 'd', 'e'].flatMap(step),
      ...turn('end'),
    ]);
    const policy = policyOf('hybrid:window=1,summarize-every=3');
    const { requests } = simulate(context, policy, SETTING);
    // Only the task is as it was.
    expect(requests.find(({ size }, i) => i > 0 && size < (requests[i - 1]?.size ?? 0))?.cached).toBe(1);
  });
});

const RUNS = Number(process.env.PALIMPSEST_RUNS ?? 300);

interface Measured {
  readonly size: number;
  readonly cached: number;
}

/** Sends every request through a planner of the library, and measures its messages. */
function measure(
  context: Context,
  policy: Policy,
  { systemTokens, contextLimit }: { systemTokens: number; contextLimit: number | undefined },
): Measured[] {
  const head = batchesOf(context.messages)[0] as ChatMessage[];
  const beside = Math.max(0, systemTokens - sizeOf(head));
  // A text of that size, where a provider takes the system prompt apart from the messages.
  const planner = createPlanner<ChatMessage>({
    format: 'chat',
    policy,
    counter: chars,
    ...(beside > 0 ? { system: 'x'.repeat(beside * 4) } : {}),
    ...(contextLimit === undefined ? {} : { maxTokens: contextLimit }),
  });
  const measured: Measured[] = [];
  let before: ChatMessage[] | undefined;
  for (const [i, batch] of batchesOf(context.messages).slice(0, -1).entries()) {
    planner.add(...batch);
    const now = planner.messages();
    const common = before?.findIndex((message, at) => JSON.stringify(message) !== JSON.stringify(now[at])) ?? 0;
    const shared = before === undefined ? [] : common < 0 ? before : before.slice(0, common);
    const isFirst = i === context.carriedTurns;
    if (i >= context.carriedTurns)
      measured.push({ size: beside + sizeOf(now), cached: isFirst ? 0 : beside + sizeOf(shared) });
    before = now;
  }
  return measured;
}

function sizeOf(messages: readonly ChatMessage[]): number {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  const texts = [...messages.map(({ content }) => content), ...calls.flatMap((call) => [call.name, call.arguments])];
  return texts.reduce((sum, text) => sum + text.length / 4, 0);
}

describe('layoutOf', () => {
  it('has the sizes that sending everything has', () => {
    fc.assert(
      fc.property(anyContext({ maxTurns: 12 }), fc.constantFrom(0, 700), (context, systemTokens) => {
        const { requests } = simulate({ ...context, carriedTurns: 0 }, never(), { counter: chars, systemTokens });
        expect(layoutOf(context, chars, systemTokens).sizes).toEqual(
          requests.map(({ size }) => expect.closeTo(size, 6)),
        );
      }),
    );
  });
});

function play(
  context: Context,
  policy: string,
  prices: readonly string[],
  cacheLife: 'endless' | 'listed' | number = 'endless',
  more: Partial<Setting> = {},
) {
  const policies = [readReplayPolicy(policy)];
  return replayContext(context, { ...SETTING, ...more, policies, prices: prices.map(readPrices), cacheLife });
}
