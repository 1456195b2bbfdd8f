import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { palimpsest } from '../../test/support/memory-io.ts';
import { lengths, simulateTraffic } from '../../test/support/simulated-traffic.ts';
import type { Report } from '../report/report.ts';
import type { Arm, RequestRecord } from '../report/request-record.ts';
import { openStore } from '../store/open-store.ts';

/** The output in docs/report.md. */
const [, shown] =
  /report-command\.test\.ts -->\n```text\n([\s\S]*?)```/.exec(readFileSync('docs/report.md', 'utf8')) ?? [];

const DAY_MS = 86_400_000;
const START = Date.parse('2026-11-01');
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-report-'));
const paths = { measured: join(folder, 'measured'), plain: join(folder, 'plain'), empty: join(folder, 'empty') };

beforeAll(async () => {
  await fill(paths.measured, traffic(0.1));
  await fill(paths.plain, traffic(0));
  await fill(paths.empty, []);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const traffic = (holdout: number): RequestRecord[] =>
  simulateTraffic({
    seed: 7,
    sessions: 412,
    holdout,
    at: START,
    everyMs: DAY_MS / 40,
    effect: { hides: 0.5, lengthens: 1, harms: 0 },
    lengths: lengths.lognormal,
  });

async function fill(path: string, records: readonly RequestRecord[]): Promise<void> {
  const store = await openStore({ path, mode: 'write' });
  await store.putRecords?.(records);
  await store.close();
}

const report = (path: string, ...args: string[]) => palimpsest(['report', '--store', path, ...args]);
const UNTIL = ['--until', '2026-11-20'];

describe('palimpsest report', () => {
  it('compares the sessions in the store, with the sentence first', async () => {
    const { code, stdout, stderr } = await report(paths.measured, ...UNTIL);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(shown);
  });

  it('prints JSON without any name of a session', async () => {
    const { code, stdout } = await report(paths.measured, ...UNTIL, '--json');
    const found: Report = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(found.headline.verdict).toBe('saves');
    expect(found.unit).toBe('dollars');
    expect(stdout).not.toMatch(/"s7000021/);
  });

  it('says that damaged records are in no figure, and where to look', async () => {
    const path = join(folder, 'damaged');
    await fill(path, traffic(0.1));
    const [day = ''] = readdirSync(join(path, 'default', 'records')).sort();
    const file = join(path, 'default', 'records', day);
    const bytes = readFileSync(file);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    bytes[bytes.lastIndexOf(10, -2) + 20] = 0;
    writeFileSync(file, bytes);
    const { stdout } = await report(path, ...UNTIL);
    expect(stdout).toContain('2 damaged records of requests are in no figure: palimpsest store verify says where.');
    expect(JSON.parse((await report(path, ...UNTIL, '--json')).stdout).damagedRecords).toBe(2);
    expect((await report(path, ...UNTIL, '--since', '2026-11-10')).stdout).not.toContain('damaged');
  });

  it('counts only sessions that began in the range', async () => {
    const { stdout } = await report(paths.measured, ...UNTIL, '--since', '2026-11-06', '--json');
    const found: Report = JSON.parse(stdout);
    expect(found.arms.reduce((sum, { sessions }) => sum + sessions, 0)).toBe(212);
    expect(found.range.since).toBe(START + 5 * DAY_MS);
    expect(found.covers?.from).toBeGreaterThanOrEqual(found.range.since);
  });

  it('says that a moving start is for one look, as text and as data', async () => {
    const moving = ['--since', '100w'];
    expect((await report(paths.measured, ...moving)).stdout).toContain('for one look');
    const isMoving = async (...args: string[]): Promise<unknown> =>
      JSON.parse((await report(paths.measured, ...args, '--json')).stdout).range.isMoving;
    expect([await isMoving(...moving), await isMoving(...UNTIL)]).toEqual([true, false]);
  });

  it('shows spend and an estimate without held-out sessions, and how to measure', async () => {
    const { code, stdout } = await report(paths.plain, ...UNTIL);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Spent \$[\d.]+ of input in 412 sessions; by estimate, masking saved 1\d %\. This is not measured\./,
    );
    expect(stdout).toContain('--holdout 10%');
    expect(stdout).not.toContain('Signs of harm');
  });

  it('says that there is nothing where there is nothing', async () => {
    expect(await report(paths.empty)).toEqual({
      code: 0,
      stdout:
        'No sessions to report on.\nNext: npx palimpsest serve, and point an agent at it; or name another store, or an earlier --since.\n',
      stderr: '',
    });
  });

  it('says once why there is nothing to report on', async () => {
    const { stdout } = await report(paths.measured, '--since', '2026-11-01', '--until', '2026-11-01T00:30:00Z');
    expect(stdout).toMatch(/^No sessions to report on\.\n\d+ sessions? began in the last hour and may still run\.\n$/);
  });

  it('leaves out sessions that began while another share was held out, and says so', async () => {
    const path = join(folder, 'two-shares');
    const earlier = traffic(0.5).map((one) => ({
      ...one,
      ...{ id: `x${one.id}`, session: `x${one.session}`, at: one.at - 60 * DAY_MS },
    }));
    await fill(path, [...earlier, ...traffic(0.1)]);
    const [both, newest] = [await report(path, ...UNTIL), await report(paths.measured, ...UNTIL)];
    expect(both.stdout).toContain('Left out: 412 sessions began while another share was held out; 63 requests failed');
    const firstLine = (text: string): string | undefined => text.split('\n')[0];
    expect(firstLine(both.stdout)).toBe(firstLine(newest.stdout));
  });

  it('says how many more sessions it takes before the first is held out', async () => {
    const path = join(folder, 'none-yet');
    await fill(
      path,
      traffic(0).map((one) => ({ ...one, holdoutShare: 0.01 })),
    );
    const { stdout } = await report(path, ...UNTIL);
    expect(stdout).toMatch(/^Too few sessions to tell: about 2,000 more; so far, \$[\d.]+ of input was spent in 412 /);
    expect(stdout).not.toContain('--holdout');
  });

  it('takes own prices', async () => {
    const prices = 'claude-opus-5: { input: 50, output: 1 }\nclaude-haiku-4-5: { input: 10, output: 1 }';
    const readFile = async (path: string): Promise<string> => {
      if (path === 'prices.yaml') return prices;
      throw new Error('ENOENT: no such file');
    };
    const costOf = (stdout: string): number => JSON.parse(stdout).arms[0].cost;
    const { stdout: listed } = await report(paths.measured, ...UNTIL, '--json');
    const args = ['report', '--store', paths.measured, ...UNTIL, '--json', '--price-file', 'prices.yaml'];
    const { stdout: own } = await palimpsest(args, { readFile });
    expect(costOf(own) / costOf(listed)).toBeCloseTo(10);
  });

  it('counts in tokens where a model is paid by subscription', async () => {
    const readFile = async (path: string): Promise<string> => {
      if (path === 'prices.yaml') return 'claude-opus-5: { subscription: true, window: 200000 }';
      throw new Error('ENOENT: no such file');
    };
    const args = ['report', '--store', paths.measured, ...UNTIL, '--price-file', 'prices.yaml'];
    const { stdout } = await palimpsest(args, { readFile });
    expect(stdout).toMatch(
      /Tokens are counted at the base price of input; [\d,]+ requests used a model without a price/,
    );
    expect(stdout).not.toContain('$');
    // Of the traffic above, the prompts of that model over 200,000.
    const mean = (arm: Arm): string => {
      const billed = traffic(0.1).filter((one) => one.arm === arm && one.model === 'claude-opus-5' && one.billed);
      const sum = billed.reduce((all, { billed: b }) => all + ((b?.cached ?? 0) + (b?.written ?? 0)) / 200_000, 0);
      return `${Math.round((100 * sum) / billed.length)} %`;
    };
    expect(stdout).toContain(
      'Share of the context window, mean of requests paid by subscription: ' +
        `${mean('treated')} with masking; ${mean('held-out')} held out, untouched.`,
    );
  });

  it('keeps dollars where hardly any request is without a price, and says how many are not counted', async () => {
    const path = join(folder, 'one-unpriced');
    const [first, ...rest] = traffic(0.1);
    await fill(path, [...rest, { ...(first as RequestRecord), model: 'no-such-model' }]);
    const { stdout } = await report(path, ...UNTIL);
    expect(stdout).toMatch(/^Saves 2\d % of input cost/);
    expect(stdout).toContain('1 request used a model without a price per token: its cost is not counted');
    expect(stdout).toMatch(/with masking +378 +5,910 +\$84/);
  });

  it('writes a page that holds the figures and no name of a session', async () => {
    let page = '';
    const writeFile = async (_: string, text: string): Promise<void> => {
      page = text;
    };
    const args = ['report', '--store', paths.measured, ...UNTIL, '--html', 'out.html'];
    const { stdout } = await palimpsest(args, { writeFile });
    expect(stdout).toMatch(/The page is in out\.html\n$/);
    expect(page).toContain('"verdict":"saves"');
    expect(page).not.toMatch(/"[sc]7000021/);
    expect(page).not.toMatch(/<link rel="stylesheet"|<script[^>]+src=/);
  });

  it.each([
    [['--since', 'yesterday'], "expected --since to be a time such as 7d or 2026-11-01 but found 'yesterday'"],
    [['--until', '2026-13-01'], "expected --until to be a time such as 7d or 2026-11-01 but found '2026-13-01'"],
    [['--since', '2026-11-02', '--until', '2026-11-01'], 'expected --since to be before --until'],
    [['--since', '2999-01-01'], 'expected --since to be before now'],
    [['now'], "expected no further words but found 'now'"],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await report(paths.empty, ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it('reads beside a gateway that writes to the store', async () => {
    const path = join(folder, 'beside');
    const store = await openStore({ path, mode: 'write' });
    await store.putRecords?.(traffic(0));
    const { code, stdout } = await report(path, ...UNTIL);
    await store.close();
    expect(code).toBe(0);
    expect(stdout).toContain('in 412 sessions');
  });

  it('says where it looked for a store', async () => {
    const { code, stderr } = await report(join(folder, 'nowhere'));
    expect(code).toBe(1);
    expect(stderr).toContain('there is no store at');
  });
});
