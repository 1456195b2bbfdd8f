import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReplayResult } from '../../src/lab/replay-result.ts';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { ensureBuilt } from '../support/modules.ts';

/** Each at the prices of one list, so that one run counts the misses at every list. */
const breakEven = (list: string): string => `break-even:prices=${list}`;
const withShellOutput = (list: string): string => `break-even:prices=${list},shell-output=true`;
const maskingAlone = (list: string): string => `break-even:prices=${list},clean=false,references=false`;

/** Input cost against sending everything, as measured by another simulator on the same runs. */
const MEASURED = [
  { list: 'anthropic-5m', cost: 0.609, withShell: 0.605 },
  { list: 'anthropic-1h', cost: 0.665, withShell: 0.659 },
  { list: 'gpt-5', cost: 0.587, withShell: 0.584 },
  { list: 'gpt-4.1', cost: 0.506, withShell: 0.504 },
  { list: 'deepseek', cost: 0.772, withShell: 0.762 },
];
const SETTINGS = '--cache-life endless --no-usage --least-turns 30 --counter chars --json'.split(' ');

/** What `palimpsest replay` says. */
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
    const lists = MEASURED.map(({ list }) => list);
    const policies = lists.flatMap((list) => [breakEven(list), withShellOutput(list), maskingAlone(list)]);
    all = replay(['none', ...policies], lists);
  }, 180_000);

  const costOf = (policy: string, list: string): number => 1 + (all.total[policy]?.saving[list] as number);
  const missesOf = (policy: string): number =>
    all.runs.reduce((sum, { results }) => sum + (results[policy]?.misses.any as number), 0);

  it('has 45 runs of 30 turns and more', () => {
    expect(all.skipped).toEqual([]);
    expect(all.runs).toHaveLength(45);
  });

  describe.each(MEASURED)('at $list prices', ({ list, cost, withShell }) => {
    it('break-even costs what was measured, within a point', () => {
      expect(Math.abs(costOf(breakEven(list), list) - cost)).toBeLessThan(0.01);
    });

    it('break-even with shell output costs what was measured, within a point', () => {
      expect(Math.abs(costOf(withShellOutput(list), list) - withShell)).toBeLessThan(0.01);
    });

    it('break-even costs less than without arrival, and less than sending everything', () => {
      expect(costOf(breakEven(list), list)).toBeLessThan(costOf(maskingAlone(list), list));
      expect(costOf(maskingAlone(list), list)).toBeLessThan(1);
    });

    it('break-even misses no more than without arrival', () => {
      expect(missesOf(maskingAlone(list))).toBeGreaterThan(0);
      expect(missesOf(breakEven(list))).toBeLessThanOrEqual(missesOf(maskingAlone(list)));
    });
  });

  it('no run costs more than 5 % above sending everything at anthropic-5m prices', () => {
    const list = 'anthropic-5m';
    const changes = all.runs.map(({ file, run, results }) => ({
      name: `${file}#${run}`,
      change: (results[breakEven(list)]?.cost[list] as number) / (results.none?.cost[list] as number) - 1,
    }));
    expect(changes.filter(({ change }) => !(change <= 0.05))).toEqual([]);
  });
});
