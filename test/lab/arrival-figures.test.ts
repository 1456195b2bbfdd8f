import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReplayResult } from '../../src/lab/replay-result.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { ensureBuilt } from '../support/modules.ts';

const MASKING_ALONE = 'break-even:clean=false,references=false';
const SHELL = 'break-even:shell-output=true';
/** Input cost against sending everything, as measured by another simulator on the same runs. */
const MEASURED = [
  { list: 'anthropic-5m', cost: 0.609, withShell: 0.605 },
  { list: 'anthropic-1h', cost: 0.665, withShell: 0.659 },
  { list: 'gpt-5', cost: 0.587, withShell: 0.584 },
  { list: 'gpt-4.1', cost: 0.506, withShell: 0.504 },
  { list: 'deepseek', cost: 0.772, withShell: 0.762 },
];
const SETTINGS = '--cache-life endless --no-usage --least-turns 30 --counter chars --json'.split(' ');

/** What `palimpsest replay` says. Counts of misses are those at the first list. */
function replay(policies: readonly string[], lists: readonly string[]): ReplayResult {
  const given = [...policies.flatMap((name) => ['--policy', name]), ...lists.flatMap((name) => ['--prices', name])];
  const args = ['dist/cli/main.js', 'replay', CORPUS, ...given, ...SETTINGS];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

describe.skipIf(!hasCorpus)('arrival on the corpus (skipped where ../shared/corpus is absent)', () => {
  let all: ReplayResult;

  beforeAll(async () => {
    await ensureBuilt();
    all = replay(
      ['none', 'break-even', SHELL, MASKING_ALONE],
      MEASURED.map(({ list }) => list),
    );
  }, 180_000);

  const costOf = (policy: string, list: string): number => 1 + (all.total[policy]?.saving[list] as number);
  const worstOf = (policy: string, list: string): number =>
    Math.max(
      ...all.runs.map(({ results }) => (results[policy]?.cost[list] as number) / (results.none?.cost[list] as number)),
    );

  it('has 45 runs of 30 turns and more', () => {
    expect(all.skipped).toEqual([]);
    expect(all.runs).toHaveLength(45);
  });

  describe.each(MEASURED)('at $list prices', ({ list, cost, withShell }) => {
    it('break-even costs what was measured, within a point', () => {
      expect(Math.abs(costOf('break-even', list) - cost)).toBeLessThan(0.01);
    });

    it('break-even with shell output costs what was measured, within a point', () => {
      expect(Math.abs(costOf(SHELL, list) - withShell)).toBeLessThan(0.01);
    });

    it('arrival makes break-even cheaper, and shell output still more', () => {
      expect(costOf('break-even', list)).toBeLessThan(costOf(MASKING_ALONE, list));
      expect(costOf(SHELL, list)).toBeLessThanOrEqual(costOf('break-even', list));
    });

    it('break-even costs less than sending everything', () => {
      expect(costOf('break-even', list)).toBeLessThan(1);
      expect(costOf(SHELL, list)).toBeLessThan(1);
    });

    it('break-even misses no more than without arrival', { timeout: 120_000 }, () => {
      const { runs } = list === MEASURED[0]?.list ? all : replay(['break-even', MASKING_ALONE], [list]);
      const missed = (policy: string): number =>
        runs.reduce((sum, { results }) => sum + (results[policy]?.misses.any as number), 0);
      expect(missed('break-even')).toBeLessThanOrEqual(missed(MASKING_ALONE));
    });
  });

  it('no run costs 5 % more at anthropic-5m prices', () => {
    expect(worstOf('break-even', 'anthropic-5m')).toBeLessThanOrEqual(1.05);
  });
});
