import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CORPUS, hasCorpus } from '../support/corpus.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const page = readFileSync(join(ROOT, 'docs/which-policy.md'), 'utf8');

describe('docs/which-policy.md', () => {
  beforeAll(async () => {
    await ensureBuilt();
  });

  const check = (folder: string) =>
    spawnSync(process.execPath, ['scripts/which-policy.js', folder, '--check'], { cwd: ROOT, encoding: 'utf8' });

  it.skipIf(!hasCorpus)(
    'has the figures that the lab finds on the corpus (skipped without ../shared/corpus)',
    { timeout: 120_000 },
    () => {
      const { status, stderr } = check(CORPUS);
      expect(status, stderr).toBe(0);
    },
  );

  it('is refused where the lab finds other figures', { timeout: 60_000 }, () => {
    const { status, stderr } = check('examples');
    expect(status).toBe(1);
    expect(stderr).toBe('docs/which-policy.md is not what the lab says. Run: node scripts/which-policy.js\n');
  });
});

describe('the advice of docs/which-policy.md follows from its tables', () => {
  const CACHED = ['anthropic-5m', 'anthropic-1h', 'gpt-5', 'gpt-4.1', 'gpt-4o', 'deepseek'];
  const GROUPS = ['chat', 'under 15 turns', '15 to 50 turns', 'over 50 turns'];
  const costs = rowsOf('answer');
  const cost = (group: string, policy: string, list: string): number =>
    figure(costs.find((row) => row.group === group && row.policy?.startsWith(`\`${policy}`))?.[list]);

  it('break-even costs at most half a percent more than no masking, in every group and at every price list', () => {
    for (const group of GROUPS)
      for (const list of [...CACHED, 'none']) expect(cost(group, 'break-even', list)).toBeLessThanOrEqual(0.5);
  });

  it('with a prompt cache break-even costs less than a sliding window, in every group', () => {
    for (const group of GROUPS)
      for (const list of CACHED)
        expect(cost(group, 'break-even', list)).toBeLessThan(cost(group, 'sliding-window', list));
  });

  it('without a prompt cache no run loses', () => {
    expect(rowsOf('losses').map((row) => row.none)).toEqual(costs.map(() => '0'));
  });

  it('a sliding window of 10 loses money on chat and short runs at every price list with a cache', () => {
    for (const group of ['chat', 'under 15 turns'])
      for (const list of CACHED) expect(cost(group, 'sliding-window', list)).toBeGreaterThan(0);
  });

  it('at deepseek prices masks of break-even save on long runs only, and moving windows of 10 lose in every group that they mask', () => {
    const maskingAlone = 'break-even:window=10,clean=false,references=false';
    expect(cost('over 50 turns', maskingAlone, 'deepseek')).toBeLessThan(-10);
    for (const group of GROUPS.slice(0, 3)) expect(cost(group, maskingAlone, 'deepseek')).toBeGreaterThan(-2);
    for (const group of GROUPS) expect(cost(group, 'polling', 'deepseek')).toBeGreaterThanOrEqual(0);
  });

  it('with arrival break-even saves in every group at every price list with a cache, and more than without', () => {
    const maskingAlone = 'break-even:window=10,clean=false,references=false';
    for (const group of GROUPS)
      for (const list of CACHED) {
        expect(cost(group, 'break-even', list)).toBeLessThan(-3);
        expect(cost(group, 'break-even', list)).toBeLessThan(cost(group, maskingAlone, list));
      }
  });

  it('the window of break-even makes no difference below 15 turns; else a smaller one saves more and hides more', () => {
    const rows = rowsOf('windows').filter(({ policy }) => policy?.startsWith('`break-even'));
    const short = rows.map((row) => figure(row['under 15 turns']?.split('; ')[0]));
    expect(Math.max(...short) - Math.min(...short)).toBeLessThan(0.5);
    for (const group of GROUPS.filter((name) => name !== 'under 15 turns')) {
      const cells = rows.map((row) => row[group]?.split('; ').map(figure) ?? []);
      expect(cells.map(([saved = 0]) => saved)).toEqual(cells.map(([saved = 0]) => saved).sort((a, b) => a - b));
      expect(cells.map(([, missed = 0]) => missed)).toEqual(
        cells.map(([, missed = 0]) => missed).sort((a, b) => b - a),
      );
    }
  });

  it('large results are missed more often than small ones, at every window up to 20', () => {
    const rows = rowsOf('sizes');
    for (const window of ['window 3', 'window 5', 'window 10', 'window 20']) {
      const misses = rows.map((row) => figure(row[window]?.split('; ')[1]));
      expect(misses).toEqual([...misses].sort((a, b) => a - b));
    }
  });

  it('a larger sliding window costs more on long runs', () => {
    const rows = rowsOf('windows').filter(({ policy }) => policy?.startsWith('`sliding-window'));
    const costsOfLong = rows.map((row) => figure(row['over 50 turns']?.split('; ')[0]));
    expect(costsOfLong).toEqual([...costsOfLong].sort((a, b) => a - b));
  });

  it('at a window of 10, Claude Code, pi and Codex have the most misses; a window of 20 about halves those of Claude Code', () => {
    const missesAt = (row: Readonly<Record<string, string>> | undefined, window: string): number =>
      figure(row?.[window]?.split('; ')[1]);
    const rows = rowsOf('agents').sort((a, b) => missesAt(b, 'window 10') - missesAt(a, 'window 10'));
    expect(rows.slice(0, 3).map(({ agent }) => agent)).toEqual(['claude-code', 'pi', 'codex']);
    expect(missesAt(rows[0], 'window 20') / missesAt(rows[0], 'window 10')).toBeCloseTo(0.5, 1);
  });

  it('hybrid sends the smallest requests and costs more than break-even where cached tokens are cheap', () => {
    const rows = rowsOf('growth');
    const of = (policy: string, column: string): number =>
      figure(rows.find((row) => row.policy?.startsWith(`\`${policy}`))?.[column]);
    const largest = rows.map((row) => figure(row['largest request of all']));
    expect(of('hybrid', 'largest request of all')).toBe(Math.min(...largest));
    expect(of('hybrid', 'anthropic-5m')).toBeGreaterThan(of('break-even', 'anthropic-5m'));
  });
});

describe('the README', () => {
  it.each(['docs/which-policy.md', 'docs/history-reducer.md'])('links to %s', (path) => {
    expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toContain(`](${path})`);
  });
});

/** The rows of a generated table, each cell under the title of its column. */
function rowsOf(name: string): Readonly<Record<string, string>>[] {
  const [, block = ''] = new RegExp(`<!-- table: ${name} -->([\\s\\S]*?)<!-- end -->`).exec(page) ?? [];
  const lines = block.trim().split('\n');
  const [head = [], , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
  return rows.map((cells) => Object.fromEntries(cells.map((cell, i) => [head[i] ?? '', cell])));
}

/** `−1.5 %`, `43,048` and `8.1` as numbers. */
function figure(cell: string | undefined): number {
  if (cell === undefined) throw new Error('no such cell');
  return Number(cell.replace('−', '-').replaceAll(/[,% ]/g, ''));
}
