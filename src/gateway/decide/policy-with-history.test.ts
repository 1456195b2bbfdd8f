import { describe, expect, it } from 'vitest';
import { anthropic } from '../../formats/anthropic.ts';
import { allParts } from '../../plan/parts/all-parts.ts';
import { Planner } from '../../plan/planner.ts';
import { breakEven } from '../../plan/policies/break-even.ts';
import type { Policy } from '../../plan/policy.ts';
import { type CacheLookup, type Prices, priceLists } from '../../plan/prices.ts';
import { providers } from '../wire/providers.ts';
import { oncePerPriceList, policyWithHistory, toRecorded } from './policy-with-history.ts';

const five = { ...priceLists['anthropic-5m'], leastTokens: 0, canMark: true };
const none = { ...priceLists.none, canMark: true };
const { canMark: _place, ...plain } = five;
const make = (prices: Prices) => breakEven({ prices });

function history(turns: number, words = 'Find the bug'): { role: string; content: unknown }[] {
  const task = { role: 'user', content: words };
  const replies = Array.from({ length: turns }, (_, turn) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `t${turn}`, name: 'read', input: { path: `${turn}` } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `t${turn}`, content: `line ${turn}\n`.repeat(200) }],
    },
  ]);
  return [task, ...replies.flat()];
}

function masksOf(policy: ReturnType<typeof breakEven>, turns = 40, words?: string): number[] {
  const planner = new Planner(anthropic, { policy, parts: allParts });
  planner.take(history(turns, words));
  return planner.ledger.edits().flatMap((edit) => (edit.kind === 'replace' ? [edit.segment] : []));
}

describe('a settled policy', () => {
  it('decides as the policy itself where prices never change', () => {
    expect(masksOf(policyWithHistory(make, [{ fromTurn: 0, prices: five }]))).toEqual(masksOf(make(plain)));
  });

  it('masks as soon as it can while nothing is cached yet, and waits from then on', () => {
    const policy = policyWithHistory(make, [{ fromTurn: 0, prices: { ...five, leastTokens: 1e9 } }]);
    expect(masksOf(policy)).toEqual(masksOf(make(priceLists.none)));
    const small = { ...five, leastTokens: 12_000 };
    expect(masksOf(policyWithHistory(make, [{ fromTurn: 0, prices: small }]), 12).length).toBeGreaterThan(0);
    expect(masksOf(make(plain), 12)).toEqual([]);
  });

  it('keeps what was decided at earlier prices', () => {
    const periods = [
      { fromTurn: 0, prices: none },
      { fromTurn: 20, prices: five },
    ];
    const early = masksOf(make(priceLists.none), 19);
    expect(early.length).toBeGreaterThan(0);
    expect(masksOf(policyWithHistory(make, periods), 24)).toEqual(early);
  });

  it('goes on with what it had in mind, so that turn by turn and all at once are the same', () => {
    const periods = [
      { fromTurn: 0, prices: five },
      { fromTurn: 12, prices: { ...priceLists['gpt-4.1'], canMark: true } },
    ];
    const planner = new Planner(anthropic, { policy: policyWithHistory(make, periods), parts: allParts });
    for (const message of history(40)) planner.take([message]);
    const masks = planner.ledger.edits().flatMap((edit) => (edit.kind === 'replace' ? [edit.segment] : []));
    expect(masks).toEqual(masksOf(policyWithHistory(make, periods)));
  });

  it('waits longer if no marker can be placed before an edit: more would be written again', () => {
    const prices = { ...five, canMark: false };
    const firstAt = (policy: () => ReturnType<typeof breakEven>): number => {
      let turns = 1;
      while (masksOf(policy(), turns, 'A long task. '.repeat(4000)).length === 0) turns += 1;
      return turns;
    };
    const marked = firstAt(() => policyWithHistory(make, [{ fromTurn: 0, prices: five }]));
    expect(firstAt(() => policyWithHistory(make, [{ fromTurn: 0, prices }]))).toBeGreaterThan(marked);
  });

  it('goes on with the state of any policy that decides by prices', () => {
    const seen: number[] = [];
    const counting = (prices: Prices): Policy => ({
      prices,
      init: () => 0,
      step: (state) => {
        seen.push(state as number);
        return { state: (state as number) + 1, mask: [], because: { act: 'wait', because: 'so' } };
      },
    });
    masksOf(
      policyWithHistory(counting, [
        { fromTurn: 0, prices: five },
        { fromTurn: 3, prices: none },
      ]),
      5,
    );
    expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('has the window and the words of the policy it is made of', () => {
    const policy = policyWithHistory((prices) => breakEven({ prices, window: 7 }), [{ fromTurn: 0, prices: five }]);
    expect(policy).toMatchObject({ name: 'break-even', window: 7, cacheLifeMs: five.lifeMs });
  });

  it('lets its policy name what is no result, or is masked already', () => {
    const stubborn: Policy = {
      init: () => undefined,
      step: (state) => ({ state, mask: [2, 9999], because: { act: 'mask', because: 'so' } }),
    };
    expect(
      masksOf(
        policyWithHistory(() => stubborn, [{ fromTurn: 0, prices: five }]),
        4,
      ),
    ).toEqual([2]);
  });

  const markers = (lookBackBlocks: number): CacheLookup => ({ kind: 'markers', lookBackBlocks });
  const steps = (stepTokens: number): CacheLookup => ({ kind: 'prefix', stepTokens });

  /** The cost of an epoch on each request after the first one. */
  function pricesAfterEpoch(lookup: CacheLookup, overheadTokens = 0): number[] {
    const policy = policyWithHistory(make, [{ fromTurn: 0, prices: { ...five, lookup } }], overheadTokens);
    const planner = new Planner(anthropic, { policy, parts: allParts });
    const prices: number[] = [];
    for (const message of history(60)) {
      planner.take([message]);
      const { epoch, decision } = planner.report();
      if (epoch === 1 && decision.act === 'wait' && typeof decision.price === 'number') prices.push(decision.price);
    }
    return prices;
  }

  it('prices what an epoch wrote again from where the provider finds a marker', () => {
    const [marked = 0] = pricesAfterEpoch(markers(20));
    const [automatic = 0] = pricesAfterEpoch(steps(1));
    expect(automatic).toBeGreaterThan(0);
    expect(marked).toBeGreaterThan(automatic);
  });

  it('prices all messages where that marker is too far back to be found', () => {
    const [all = 0] = pricesAfterEpoch(markers(20));
    const [behindSystem = 0] = pricesAfterEpoch(markers(20), 500);
    expect(all - behindSystem).toBeCloseTo((five.write - five.read) * 500);
  });

  it('prices less where the provider looks further back for that marker', () => {
    const [near = 0] = pricesAfterEpoch(markers(20));
    const [far = 0] = pricesAfterEpoch(markers(1000));
    const [any = 0] = pricesAfterEpoch(steps(1));
    expect(far).toBeLessThan(near);
    expect(far).toBeGreaterThan(any);
  });

  it('prices a part of a step that no cache keeps', () => {
    const [exact = 0] = pricesAfterEpoch(steps(1));
    const [coarse = 0] = pricesAfterEpoch(steps(5000));
    const perToken = five.write - five.read;
    expect(coarse).toBeGreaterThan(exact);
    expect(coarse - exact).toBeLessThan(perToken * 5000);
  });
});

describe('the default policy', () => {
  it('is recorded alike at all prices: the gateway writes it down once', () => {
    const own = Object.values(providers).flatMap(({ prices }) => prices ?? []);
    const lists = [...Object.values(priceLists), ...own];
    const recorded = lists.map((prices) => toRecorded(make(prices), { ...prices, canMark: true }));
    expect(recorded).toEqual(lists.map(() => ({ name: 'break-even', options: {}, isPriced: true })));
  });
});

describe('oncePerPriceList', () => {
  it('makes a policy once for all lists with equal prices', () => {
    const asked: Prices[] = [];
    const make = oncePerPriceList((prices) => {
      asked.push(prices);
      return breakEven({ prices });
    });
    const policy = make(plain);
    expect(make({ ...plain })).toBe(policy);
    expect(make(priceLists.none)).not.toBe(policy);
    expect(asked).toEqual([plain, priceLists.none]);
  });

  it('keeps a limited number of policies', () => {
    const make = oncePerPriceList((prices) => breakEven({ prices }));
    const first = make({ ...plain, read: 0.5 });
    for (let i = 0; i < 1000; i++) make({ ...plain, read: i / 1000 + 0.0001 });
    expect(make({ ...plain, read: 0.5 })).not.toBe(first);
  });
});
