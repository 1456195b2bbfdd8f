import { describe, expect, it } from 'vitest';
import { missRate } from '../../src/lab/compare.ts';
import type { ReplayPage, ReplayResult, RunResult, Schedule } from '../../src/lab/replay-result.ts';
import { firstChoice, headlineOf, maskCount, median, runNames, savingOf, schedulesOf } from './model.ts';

const counts = { tokensSent: 1, peakTokens: 1, masks: 3, epochs: 1 };

function run(costs: Readonly<Record<string, number>>, { file = 'a.jsonl', turns = 10, run = 0 } = {}): RunResult {
  const misses = { edit: 0, identifier: 2, any: 2, calls: 40 };
  const results = Object.entries(costs).map(([policy, cost]) => [policy, { ...counts, misses, cost: { p: cost } }]);
  const text = { tokens: 1000, observationShare: 0.5, results: Object.fromEntries(results) };
  return { file, run, format: 'messages', turns, ...text };
}

function resultOf(savings: Readonly<Record<string, number | null>>, runs: readonly RunResult[]): ReplayResult {
  const total = Object.entries(savings).map(([policy, saving]) => [
    policy,
    { tokensSent: 1, cost: { p: 2000, none: 1 }, saving: { p: saving, none: saving } },
  ]);
  const policies = Object.keys(savings);
  return { version: 1, prices: ['p', 'none'], policies, runs, total: Object.fromEntries(total), skipped: [] };
}

const schedule = (size: number): Schedule => ({ sizes: [size], epochs: [], masked: [] });
const sentence = (savings: Readonly<Record<string, number | null>>, price = 'p'): string =>
  headlineOf(resultOf(savings, [run({})]), price).sentence.replaceAll('\u202f', ' ');

describe('headlineOf', () => {
  it('names the policy that saves most, of those that do not know the future', () => {
    const savings = { none: 0, 'sliding-window': 0.16, 'break-even': -0.26, 'optimum:window=20': -0.29 };
    expect(sentence(savings)).toBe('break-even would have cut the input cost by 26 % at p prices');
    expect(sentence(savings, 'none')).toBe('break-even would have cut the input cost by 26 % without a prompt cache');
  });

  it('compares with the cheapest of the policies that know the future', () => {
    const savings = { none: 0, 'break-even': -0.39, optimum: -0.38, 'optimum:clean=true': -0.41 };
    expect(headlineOf(resultOf(savings, [run({})]), 'p').detail).toContain('With hindsight (optimum:clean=true): ');
  });

  it('says what the saving is if masked texts are brought back', () => {
    const result = resultOf({ none: 0, 'break-even': -0.2 }, [run({ none: 10, 'break-even': 8 })]);
    const total = { ...result.total, 'break-even': { ...result.total['break-even'], savingWithRecalls: { p: 0.15 } } };
    const { detail } = headlineOf({ ...result, total } as ReplayResult, 'p');
    expect(detail.replaceAll('\u202f', ' ')).toContain(
      'In 5.0 of 100 calls the agent quotes text that was masked by then; if each costs a recall: +15 %.',
    );
  });

  it('says when nothing saves, when nothing changes and when nothing was compared', () => {
    expect(sentence({ none: 0, x: 0.03 })).toBe(
      'No policy would have saved anything at p prices: the cheapest, x, costs 3 % more',
    );
    expect(sentence({ none: 0, x: 0 })).toBe('No policy would have changed the input cost at p prices');
    expect(sentence({ none: 0 })).toBe('Sending everything cost 2.0k tokens at the base price, at p prices');
    expect(sentence({ none: 0, x: null })).toBe('x: nothing to compare at p prices');
    expect(headlineOf(resultOf({ none: 0 }, []), 'p').sentence).toBe('No runs to replay');
  });
});

describe('headlineOf a replay in tokens', () => {
  it('names no policy: tokens alone do not tell what saves', () => {
    const result = { ...resultOf({ none: 0, x: -0.5 }, [run({})]), prices: ['tokens'] };
    expect(headlineOf(result, 'tokens').sentence).toBe(
      'No log names a model with known prices: no saving can be computed',
    );
  });
});

describe('firstChoice', () => {
  it('shows the best policy and the longest run of which there are requests', () => {
    const runs = [5, 90, 70, 70].map((turns) => run({}, { turns }));
    const details = [0, 3, 2].map((index) => ({ run: index, schedules: {} }));
    const page = { result: resultOf({ none: 0, a: -0.1, b: -0.2 }, runs), details };
    expect(firstChoice(page)).toEqual({ price: 'p', policy: 'b', run: 2 });
  });

  it('is the choice for an empty page', () => {
    const result = { version: 1, prices: [], policies: [], runs: [], total: {}, skipped: [] } as const;
    expect(firstChoice({ result, details: [] })).toEqual({ price: '', policy: 'none', run: 0 });
  });
});

describe('a run', () => {
  it('is compared with sending everything', () => {
    expect(savingOf(run({ none: 200, x: 150 }), 'x', 'p')).toBe(-0.25);
    expect(savingOf(run({ x: 150 }), 'x', 'p')).toBeUndefined();
    expect(savingOf(run({ none: 0, x: 0 }), 'x', 'p')).toBeUndefined();
    expect(savingOf(run({ none: 200 }), 'x', 'p')).toBeUndefined();
  });

  it('counts its misses in 100 calls', () => {
    expect(missRate([run({ x: 1 }), run({ x: 1 })], 'x')).toBe(5);
    expect(missRate([run({ x: 1 })], 'unknown')).toBeUndefined();
  });

  it('has a number in its name where its file holds several', () => {
    const runs = [run({}, { file: 'a' }), run({}, { file: 'b' }), run({}, { file: 'b', run: 1 })];
    expect(runNames(runs)).toEqual(['a', 'b #1', 'b #2']);
  });
});

describe('a policy that follows the prices', () => {
  const schedules = { steady: schedule(1), 'follows @ p': schedule(2), 'follows @ none': schedule(3) };
  const result = resultOf({ steady: 0, follows: 0, absent: 0 }, [run({ steady: 1, follows: 1 })]);
  const page: ReplayPage = { result, details: [{ run: 0, schedules }] };
  const choice = { run: 0, policy: 'follows', price: 'none' };

  it('has a schedule for each price list', () => {
    const sizes = [...schedulesOf(page, choice)].map(
      ([
        policy,
        {
          sizes: [size],
        },
      ]) => [policy, size],
    );
    expect(sizes).toEqual([
      ['steady', 1],
      ['follows', 3],
    ]);
    expect(schedulesOf(page, { ...choice, run: 1 }).size).toBe(0);
  });

  it('has counts for the first price list only', () => {
    expect(maskCount(page, choice)).toBeUndefined();
    expect(maskCount(page, { ...choice, price: 'p' })).toBe(3);
    expect(maskCount(page, { ...choice, policy: 'steady' })).toBe(3);
  });
});

describe('median', () => {
  it('is the one in the middle, or half-way between two', () => {
    expect([[3, 1, 2], [4, 1, 3, 2], [7], []].map(median)).toEqual([2, 2.5, 7, undefined]);
  });
});
