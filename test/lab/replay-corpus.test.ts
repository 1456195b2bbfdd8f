import { beforeAll, describe, expect, it } from 'vitest';
import { type ReplayRequest, settingOf } from '../../src/cli/replay/replay-request.ts';
import { replay } from '../../src/lab/replay.ts';
import { replayFile } from '../../src/lab/replay-file.ts';
import type { ReplayResult, RunResult } from '../../src/lab/replay-result.ts';
import { priceLists } from '../../src/plan/prices.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';

/** The masking policies of DESIGN.md section 6.2 as they are by default. */
const OTHERS = [
  'sliding-window',
  'swe-agent',
  'open-hands',
  'polling',
  'first-and-last',
  'oldest-batch',
  'protect-tokens',
  'gemini-cli',
  'clear-tool-uses',
];
const MASKING_ALONE = 'break-even:clean=false,references=false';
const OPTIMUM = 'optimum:window-by-kind=true';
const OPTIMUM_WITH_ARRIVAL = 'optimum:clean=true,references=true';
const LISTS = Object.keys(priceLists);
const WITH_CACHE = LISTS.filter((list) => list !== 'none');
const LEAST_TURNS = 30;

describe.skipIf(!hasCorpus)('the runs of the corpus (skipped where ../shared/corpus is absent)', () => {
  let result: ReplayResult;
  let long: readonly RunResult[];

  beforeAll(async () => {
    const request: ReplayRequest = {
      policies: ['none', ...OTHERS, 'break-even', MASKING_ALONE, 'optimum', OPTIMUM, OPTIMUM_WITH_ARRIVAL],
      prices: LISTS,
      counter: 'chars',
      systemTokens: 0,
      contextLimit: undefined,
      cacheLife: 'endless',
      format: undefined,
      keepSchedules: false,
    };
    const setting = settingOf(request);
    ({ result } = await replay([CORPUS], { ...request, replayFile: (file) => replayFile(file, setting) }));
    long = result.runs.filter(({ turns }) => turns >= LEAST_TURNS);
  });

  const costOf = (policy: string, list: string): number =>
    long.reduce((sum, { results }) => sum + (results[policy]?.cost[list] as number), 0);

  it('are all replayed', () => {
    expect(result.skipped).toEqual([]);
    expect(result.runs).toHaveLength(180);
    expect(long).toHaveLength(45);
  });

  it('no figure is missing, negative or no number', () => {
    for (const { file, turns, tokens, observationShare, results } of result.runs) {
      expect(Object.keys(results), file).toEqual(result.policies);
      expect(turns, file).toBeGreaterThan(0);
      expect(tokens, file).toBeGreaterThan(0);
      expect(observationShare, file).toBeGreaterThanOrEqual(0);
      expect(observationShare, file).toBeLessThanOrEqual(1);
      for (const { cost, misses, peakTokens, tokensSent } of Object.values(results)) {
        expect(Object.keys(cost), file).toEqual(LISTS);
        for (const spent of Object.values(cost)) expect(spent, file).toBeGreaterThan(0);
        // Without a cache, cost is size; where it decides by the prices, tokens are those at the first list.
        expect(tokensSent, file).toBeGreaterThanOrEqual(peakTokens);
        expect(misses.any, file).toBeLessThanOrEqual(misses.calls);
      }
    }
  });

  it('without a cache, the cost is what was sent', () => {
    for (const policy of ['none', ...OTHERS])
      for (const { results, file } of result.runs)
        expect(results[policy]?.cost.none, file).toBeCloseTo(results[policy]?.tokensSent as number, 3);
  });

  describe.each(WITH_CACHE)('at %s prices', (list) => {
    it.each(OTHERS)('break-even is below %s', (policy) => {
      expect(costOf('break-even', list)).toBeLessThan(costOf(policy, list));
    });

    it('break-even without arrival is at most 5 % above the optimum of the plain window', () => {
      expect(costOf(MASKING_ALONE, list)).toBeLessThanOrEqual(1.05 * costOf('optimum', list));
    });

    it('break-even is below that optimum, and at most 5 % above the optimum with arrival', () => {
      expect(costOf('break-even', list)).toBeLessThan(costOf('optimum', list));
      expect(costOf('break-even', list)).toBeLessThanOrEqual(1.05 * costOf(OPTIMUM_WITH_ARRIVAL, list));
    });
  });

  it.each(LISTS)('break-even is not above sending everything at %s prices', (list) => {
    expect(costOf('break-even', list)).toBeLessThanOrEqual(costOf('none', list));
  });

  it.each(['anthropic-5m', 'gpt-5', 'anthropic-1h'])('no run costs 10 %% more with break-even at %s prices', (list) => {
    const worst = long.map(({ file, run, results }) => ({
      name: `${file}#${run}`,
      change: (results['break-even']?.cost[list] as number) / (results.none?.cost[list] as number) - 1,
    }));
    expect(worst.filter(({ change }) => change > 0.1)).toEqual([]);
  });

  it.each(LISTS)(
    'optimum is below break-even without arrival, of its own class, in every single run at %s prices',
    (list) => {
      for (const { file, results } of result.runs) {
        const best = results[OPTIMUM]?.cost[list] as number;
        expect(best, file).toBeLessThanOrEqual((results[MASKING_ALONE]?.cost[list] as number) + 1e-6);
        expect(best, file).toBeLessThanOrEqual((results.none?.cost[list] as number) + 1e-6);
      }
    },
  );
});
