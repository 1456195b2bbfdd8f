import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contextOf } from '../../../test/support/logs/contexts.ts';
import { sampleLogs } from '../../../test/support/logs/logs.ts';
import { palimpsest } from '../../../test/support/memory-io.ts';
import { ensureBuilt } from '../../../test/support/modules.ts';
import type { ReplayResult } from '../../lab/replay-result.ts';
import { policies } from '../../plan/policies/index.ts';
import { priceLists } from '../../plan/prices.ts';
import type { Io } from '../io.ts';
import { help as replayHelp } from './replay-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-replay-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Seven replies; its figures are worked out in test/lab/simulate.test.ts. */
const LOG = join(folder, 'run.json');
writeFileSync(LOG, JSON.stringify(contextOf(500, 100, 100, 100, 100, 100).messages));
const BREAK_EVEN = 'break-even:window=2,window-by-kind=false';

interface Given {
  readonly stdin?: Io['stdin'];
  readonly isTerminal?: boolean;
  readonly writeFile?: Io['writeFile'];
}

/** Runs `palimpsest replay` on real files. */
async function replayed(args: readonly string[], { stdin, isTerminal = false, writeFile }: Given = {}) {
  const files: Record<string, string> = {};
  const keep: Io['writeFile'] = async (path, text) => {
    files[path] = text;
  };
  return { ...(await palimpsest(['replay', ...args], { stdin, isTerminal, writeFile: writeFile ?? keep })), files };
}

async function json(...args: readonly string[]): Promise<ReplayResult> {
  const { stdout } = await replayed([...args, '--json']);
  return JSON.parse(stdout);
}

describe('palimpsest replay', () => {
  it('prints a table, and a sentence to act on at the end', async () => {
    const args = [LOG, '--prices', 'gpt-5', '--policy', 'none', '--policy', BREAK_EVEN, '--policy', 'optimum:window=2'];
    const { code, stdout, stderr } = await replayed(args);
    expect([code, stderr]).toEqual([0, '']);
    // None 1745, break-even 1692.5; the optimum masks at request 4: .1 · 2764.75 + 1378.25 = 1654.725.
    expect(stdout.split('\n')).toEqual([
      '1 run, 7 turns. Input cost against sending everything:',
      '',
      'policy                                     gpt-5  with recalls  tokens sent  masked  epochs  misses / 100 calls',
      'none                                       0.0 %         0.0 %        6,110       0       0                 0.0',
      'break-even:window=2,window-by-kind=false  −3.0 %        −3.0 %        4,359       2       1                 0.0',
      'optimum:window=2                          −5.2 %        −5.2 %        4,143       1       1                 0.0',
      '',
      'gpt-5         a cached token costs 0.1 of the base price, a new one 1; unused, it is cached for 5 min',
      'none          sends everything; all others are compared with it',
      'break-even    masks old results in batches, when waiting has cost about what masking costs',
      'optimum       the cheapest times to mask, known only after the run; no agent can use it',
      'epoch         a request that changes earlier messages: the provider caches the rest again',
      'miss          a call that quotes text which only a masked result held',
      'with recalls  the same, if each miss costs one request that brings the text back',
      '',
      `${BREAK_EVEN} saves 3 % of the input cost at gpt-5 prices; in 0.0 of 100 calls the agent would have had to look something up again, and if each of them costs a recall of the whole text, it saves 3 %.`,
      `Next: npx palimpsest serve --policy '${BREAK_EVEN}'`,
      '',
    ]);
  });

  it('--json prints one object of the shape that the documents give', async () => {
    const policy = ['--policy', 'none', '--policy', BREAK_EVEN];
    const result = await json(LOG, '--prices', 'gpt-5', '--prices', 'anthropic-5m', ...policy);
    expect(result).toEqual({
      version: 1,
      prices: ['gpt-5', 'anthropic-5m'],
      policies: ['none', BREAK_EVEN],
      runs: [
        {
          file: LOG,
          run: 0,
          format: 'messages',
          turns: 7,
          // 200, six replies with their calls of 10, results of 1000, the last reply 8.
          tokens: 1268,
          observationShare: 1000 / 1268,
          results: {
            none: {
              tokensSent: 6110,
              peakTokens: 1260,
              masks: 0,
              epochs: 0,
              cost: { 'gpt-5': expect.closeTo(1745, 9), 'anthropic-5m': expect.closeTo(2060, 9) },
              costWithRecalls: { 'gpt-5': expect.closeTo(1745, 9), 'anthropic-5m': expect.closeTo(2060, 9) },
              misses: { edit: 0, identifier: 0, any: 0, calls: 6 },
            },
            [BREAK_EVEN]: {
              tokensSent: 4358.75,
              peakTokens: 930,
              masks: 2,
              epochs: 1,
              cost: { 'gpt-5': expect.closeTo(1692.5, 9), 'anthropic-5m': expect.closeTo(2102.2375, 9) },
              costWithRecalls: { 'gpt-5': expect.closeTo(1692.5, 9), 'anthropic-5m': expect.closeTo(2102.2375, 9) },
              misses: { edit: 0, identifier: 0, any: 0, calls: 6 },
            },
          },
        },
      ],
      total: {
        none: {
          tokensSent: 6110,
          cost: { 'gpt-5': expect.closeTo(1745, 9), 'anthropic-5m': expect.closeTo(2060, 9) },
          costWithRecalls: { 'gpt-5': expect.closeTo(1745, 9), 'anthropic-5m': expect.closeTo(2060, 9) },
          saving: { 'gpt-5': 0, 'anthropic-5m': 0 },
          savingWithRecalls: { 'gpt-5': 0, 'anthropic-5m': 0 },
        },
        [BREAK_EVEN]: {
          tokensSent: 4358.75,
          cost: { 'gpt-5': expect.closeTo(1692.5, 9), 'anthropic-5m': expect.closeTo(2102.2375, 9) },
          costWithRecalls: { 'gpt-5': expect.closeTo(1692.5, 9), 'anthropic-5m': expect.closeTo(2102.2375, 9) },
          saving: {
            'gpt-5': expect.closeTo(1692.5 / 1745 - 1, 9),
            'anthropic-5m': expect.closeTo(2102.2375 / 2060 - 1, 9),
          },
          savingWithRecalls: {
            'gpt-5': expect.closeTo(1692.5 / 1745 - 1, 9),
            'anthropic-5m': expect.closeTo(2102.2375 / 2060 - 1, 9),
          },
        },
      },
      models: [{ runs: 1, hasDollars: false }],
      next: { command: `npx palimpsest serve --policy '${BREAK_EVEN}'` },
      skipped: [],
    });
  });

  it('compares none, two windows, break-even and the optimum with and without arrival, in tokens where the log names no model', async () => {
    const { policies: compared, prices, runs, total } = await json(LOG);
    expect(compared).toEqual([
      'none',
      'sliding-window',
      'polling',
      'break-even',
      'break-even:clean=false,references=false',
      'optimum',
      'optimum:clean=true,references=true',
    ]);
    expect(prices).toEqual(['tokens']);
    expect(Object.keys(runs[0]?.results ?? {})).toEqual(compared);
    expect(Object.keys(total)).toEqual(compared);
  });

  it('--policy takes every policy there is, as often as one likes, and none twice', async () => {
    const all = Object.keys(policies).map((name) => (name === 'graduated' ? 'graduated:max-input-chars=2000' : name));
    const { policies: compared, runs } = await json(LOG, ...[...all, ...all].flatMap((name) => ['--policy', name]));
    expect(compared).toEqual(all);
    expect(Object.keys(runs[0]?.results ?? {})).toEqual(all);
  });

  it('tells savings against sending everything though that was not asked for', async () => {
    const { policies: compared, runs, total } = await json(LOG, '--prices', 'gpt-5', '--policy', BREAK_EVEN);
    expect(compared).toEqual([BREAK_EVEN]);
    expect(Object.keys(runs[0]?.results ?? {})).toEqual([BREAK_EVEN]);
    expect(total[BREAK_EVEN]?.saving['gpt-5']).toBeCloseTo(1692.5 / 1745 - 1, 9);
  });

  it('--compare adds the defaults of other tools', async () => {
    const { policies: compared } = await json(LOG, '--compare', '--policy', 'break-even');
    expect(compared).toEqual([
      'break-even',
      'swe-agent',
      'open-hands',
      'first-and-last',
      'protect-tokens',
      'gemini-cli',
      'clear-tool-uses',
    ]);
  });

  it('--prices takes all lists, and one’s own', async () => {
    const own = 'mine:read=0.1,write=1.25,look-back-blocks=20';
    const args = ['--prices', 'all', '--prices', own, '--prices', 'gpt-5', '--policy', BREAK_EVEN];
    const { prices, total } = await json(LOG, ...args);
    expect(prices).toEqual([...Object.keys(priceLists), own]);
    expect(Object.keys(total[BREAK_EVEN]?.saving ?? {})).toEqual(prices);
    // The prices of Anthropic, by another name.
    expect(total[BREAK_EVEN]?.cost[own]).toBe(total[BREAK_EVEN]?.cost['anthropic-5m']);
  });

  it('--window is the window of every policy that has one, unless it was given', async () => {
    const named = ['none', 'sliding-window', 'polling:every=3', 'break-even:window=4', 'optimum', 'first-and-last'];
    const args = [...named, 'hybrid', 'swe-agent', 'open-hands', 'oldest-batch'].flatMap((name) => ['--policy', name]);
    expect((await json(LOG, '--window', '2', ...args)).policies).toEqual([
      'none',
      'sliding-window:turns=2',
      'polling:every=3,turns=2',
      'break-even:window=4',
      'optimum:window=2',
      'first-and-last',
      'hybrid:window=2',
      'swe-agent:turns=2',
      'open-hands:turns=2',
      'oldest-batch:window=2',
    ]);
    const zero = await json(LOG, '--window', '0', '--policy', 'sliding-window');
    expect(zero.runs[0]?.results['sliding-window:turns=0']?.masks).toBe(6);
  });

  it('--system-tokens fills up the text before the first reply', async () => {
    const { total } = await json(LOG, '--policy', 'none', '--system-tokens', '1000');
    expect(total.none?.tokensSent).toBe(6110 + 7 * 800);
  });

  it('--context-limit leaves every optimum out of the defaults', async () => {
    const { policies: compared } = await json(LOG, '--context-limit', '1000');
    expect(compared.filter((name) => name.startsWith('optimum'))).toEqual([]);
    expect(compared).toContain('break-even:clean=false,references=false');
  });

  it('--context-limit keeps every request below it', async () => {
    const { runs } = await json(LOG, '--policy', 'none', '--context-limit', '1000');
    expect(runs[0]?.results.none?.peakTokens).toBeLessThanOrEqual(1000);
    expect(runs[0]?.results.none?.epochs).toBeGreaterThan(0);
  });

  it('--cache-life lets caches die by the log’s own times', async () => {
    // Two replies, ten minutes apart.
    const log = join(folder, 'slow.json');
    const at = (minute: number): string => new Date(Date.UTC(2026, 0, 2, 3, minute)).toISOString();
    const says = (role: string, timestamp: string) => ({ role, content: 'x'.repeat(400), timestamp });
    writeFileSync(
      log,
      JSON.stringify([says('user', at(0)), says('assistant', at(0)), says('user', at(10)), says('assistant', at(11))]),
    );
    const cost = async (...args: string[]): Promise<number> => {
      const { total } = await json(log, '--policy', 'none', '--prices', 'anthropic-5m', ...args);
      return total.none?.cost['anthropic-5m'] as number;
    };
    // 100, then 100 more twice.
    const [warm, cold] = [1.25 * 100 + 0.1 * 100 + 1.25 * 200, 1.25 * 400];
    expect(await cost()).toBeCloseTo(cold, 9);
    expect(await cost('--cache-life', 'listed')).toBeCloseTo(cold, 9);
    expect(await cost('--cache-life', 'endless')).toBeCloseTo(warm, 9);
    expect(await cost('--cache-life', '10')).toBeCloseTo(warm, 9);
    expect(await cost('--cache-life', '9.5')).toBeCloseTo(cold, 9);
  });

  it('--counter counts otherwise', async () => {
    const sizes = await Promise.all(
      ['chars', 'default', 'o200k', 'cl100k'].map(async (counter) => {
        const { runs } = await json(LOG, '--policy', 'none', '--counter', counter);
        return runs[0]?.tokens;
      }),
    );
    expect(sizes[0]).toBe(1268);
    expect(new Set(sizes).size).toBeGreaterThan(2);
  });

  it('--help tells how it is called, on one screen', async () => {
    expect(await replayed(['--help'])).toMatchObject({ code: 0, stdout: replayHelp, stderr: '' });
    for (const line of replayHelp.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(replayHelp.split('\n').length).toBeLessThanOrEqual(40);
    for (const list of Object.keys(priceLists)) expect(replayHelp).toContain(list);
  });
});

describe('the logs', () => {
  const logs = join(folder, 'logs');
  beforeAll(() => {
    mkdirSync(join(logs, 'deep'), { recursive: true });
    mkdirSync(join(logs, 'empty'));
    writeFileSync(join(logs, 'a.json'), JSON.stringify(contextOf(100).messages));
    writeFileSync(join(logs, 'deep/b.json.gz'), gzipSync(JSON.stringify(contextOf(100, 100).messages)));
    writeFileSync(join(logs, 'notes.txt'), 'not a log');
  });

  const filesOf = ({ runs }: ReplayResult): string[] => runs.map(({ file }) => file.slice(logs.length + 1));

  it('are found in folders, globs and files, each once', async () => {
    expect(filesOf(await json(logs))).toEqual(['a.json', 'deep/b.json.gz']);
    expect(filesOf(await json(join(logs, '**/*.gz'), join(logs, 'deep')))).toEqual(['deep/b.json.gz']);
  });

  it('that are broken are told, the others replayed, and the exit code says so', async () => {
    const broken = join(logs, 'deep/c.json');
    writeFileSync(broken, '{"messages":[');
    const { code, stdout, stderr } = await replayed([logs, '--json']);
    rmSync(broken);
    const result: ReplayResult = JSON.parse(stdout);
    expect([code, stderr]).toEqual([1, '']);
    expect(filesOf(result)).toEqual(['a.json', 'deep/b.json.gz']);
    expect(result.skipped).toEqual([{ file: broken, reason: expect.stringContaining('found no JSON object') }]);
  });

  it('that are not there are told, the others replayed, and the exit code says so', async () => {
    const gone = join(logs, 'gone.json');
    const { code, stdout } = await replayed([gone, join(logs, 'a.json'), '--policy', 'none']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^1 run, 2 turns\./);
    expect(stdout).toContain(`1 skipped:\n  ${gone}: there is no such file\n`);
  });

  it('says that --least-turns left out every run', async () => {
    const { stderr } = await replayed([join(logs, 'a.json'), '--least-turns', '99']);
    expect(stderr).toBe('palimpsest replay: found no run of 99 turns or more (--least-turns)\n');
  });

  it('does not say that runs are too short where a file is not there', async () => {
    const { stderr } = await replayed([join(logs, 'gone.json'), '--least-turns', '99']);
    expect(stderr).toBe('palimpsest replay: found no log\n');
  });

  it.each([
    ['an empty folder', 'empty', 'found no log: it looks for .json, .jsonl and .traj, also .gz and .zst'],
    ['a file that is not there', 'gone.json', 'found no log'],
    ['a glob that matches nothing', '*.jsonl', 'found no log'],
    [
      'a file of no agent',
      'odd/odd.json',
      'found no run of an agent in a format that it knows (palimpsest replay --help lists them)',
    ],
  ])('%s is no run', async (_, path, why) => {
    mkdirSync(join(logs, 'odd'), { recursive: true });
    writeFileSync(join(logs, 'odd', 'odd.json'), '{}');
    const { code, stdout, stderr } = await replayed([join(logs, path)]);
    rmSync(join(logs, 'odd'), { recursive: true });
    expect([code, stderr]).toEqual([1, `palimpsest replay: ${why}\n`]);
    expect(stdout).toContain('There is no run to replay.');
    const result = await json(join(logs, path));
    expect([result.runs, result.total.none]).toEqual([
      [],
      { tokensSent: 0, cost: { tokens: 0 }, saving: { tokens: 0 } },
    ]);
  });

  it('of every agent are replayed', async () => {
    const agents = join(folder, 'agents');
    mkdirSync(agents);
    for (const [i, { text, isLines }] of sampleLogs.entries())
      writeFileSync(join(agents, `${i}.${isLines ? 'jsonl' : 'json'}`), text);
    const { runs, skipped } = await json(agents, '--compare', '--prices', 'all');
    // One has a line before its object that only looks like JSON.
    expect(skipped).toEqual([{ file: expect.any(String), reason: 'the JSON that begins in line 1 is cut off' }]);
    expect(new Set(runs.map(({ format }) => format))).toEqual(new Set(sampleLogs.map(({ format }) => format)));
  });

  it('can be forced to be of a format', async () => {
    const { code, stdout } = await replayed([join(logs, 'a.json'), '--format', 'messages', '--json']);
    expect([code, JSON.parse(stdout).runs[0].format]).toEqual([0, 'messages']);
    expect((await replayed([join(logs, 'a.json'), '--format', 'codex'])).code).toBe(1);
  });
});

describe('progress', () => {
  it('is shown on a terminal, on one line, and taken away at the end', async () => {
    const { stdout, stderr } = await replayed([LOG, '--policy', 'none'], { isTerminal: true });
    expect(stderr).toMatch(/^\r\[\.{24}\] 0 of 1 files/);
    expect(stderr.endsWith('\r\u001b[K')).toBe(true);
    expect(stderr).not.toContain('\n');
    expect(stdout).not.toContain('\r');
  });

  it('is shown nowhere else', async () => {
    expect((await replayed([LOG, '--policy', 'none'])).stderr).toBe('');
  });
});

describe('standard input', () => {
  const bytes = readFileSync(LOG);

  it.each([
    ['-', bytes],
    ['/dev/stdin', bytes],
    ['-', gzipSync(bytes)],
  ])('is what %s means, also zipped', async (name, sent) => {
    const stdin = (async function* () {
      // One byte first: a pipe cuts where it likes, also through what tells that it is gzip.
      yield sent.subarray(0, 1);
      yield sent.subarray(1);
    })();
    const { code, stdout } = await replayed([name, '--policy', 'none', '--json'], { stdin });
    expect(code).toBe(0);
    const { runs } = JSON.parse(stdout) as ReplayResult;
    expect(runs).toMatchObject([{ file: '-', turns: 7, tokens: 1268 }]);
  });

  it('may be given with files', async () => {
    const stdin = (async function* () {
      yield bytes.toString();
    })();
    const { stdout } = await replayed(['-', LOG, '--policy', 'none', '--json'], { stdin });
    expect(JSON.parse(stdout).runs).toMatchObject([
      { file: '-', turns: 7 },
      { file: LOG, turns: 7 },
    ]);
  });

  it('with nothing on it is called wrongly', async () => {
    const { code, stderr } = await replayed(['-']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('expected a log on standard input')]);
  });
});

describe('--html', () => {
  it('- writes the page to standard output, and the table to standard error', async () => {
    const { code, stdout, stderr, files } = await replayed([LOG, '--policy', 'none', '--html', '-']);
    expect([code, files]).toEqual([0, {}]);
    expect(stdout).toMatch(/^<!doctype html>[\s\S]*<\/html>\s*$/i);
    expect(stderr).toMatch(/^1 run, 7 turns/);
  });

  beforeAll(ensureBuilt);

  it('writes a page with the result in it, and says where it is', async () => {
    const { code, stdout, files } = await replayed([LOG, '--prices', 'gpt-5', '--html', 'report.html']);
    expect([code, Object.keys(files)]).toEqual([0, ['report.html']]);
    expect(files['report.html']).toMatch(/^<!doctype html>/i);
    expect(files['report.html']).toContain(JSON.stringify(LOG).slice(1, -1));
    expect(stdout).toMatch(/\nThe page is in report\.html\. It holds the beginnings of tool outputs .*\n$/);
  });

  it('leaves the JSON on standard output alone', async () => {
    const { stdout, files } = await replayed([LOG, '--html', 'report.html', '--json']);
    expect(JSON.parse(stdout)).toEqual(await json(LOG));
    expect(Object.keys(files)).toEqual(['report.html']);
  });

  it('that cannot be written is told, without a stack trace', async () => {
    const writeFile = () => Promise.reject(Object.assign(new Error(), { code: 'ENOENT' }));
    const { code, stderr } = await replayed([LOG, '--html', 'no/report.html'], { writeFile });
    expect([code, stderr]).toEqual([1, 'palimpsest replay: could not write no/report.html: there is no such folder\n']);
  });
});

describe('mistakes', () => {
  it.each<[readonly string[], readonly string[]]>([
    [[], ['expected files or folders with logs']],
    [['--json'], ['expected files or folders with logs']],
    [
      [LOG, '--policy', 'sliding-windw'],
      ["'sliding-windw'", 'did you mean sliding-window?'],
    ],
    [
      [LOG, '--policy', 'nothing-like-it'],
      ['known are', 'optimum', 'none'],
    ],
    [[LOG, '--policy', 'toString'], ['policy']],
    [[LOG, '--policy', 'polling:turn=3'], ['did you mean turns?']],
    [[LOG, '--policy', 'none:turns=3'], ['an option of never']],
    [[LOG, '--policy', 'break-even:prices=gpt5'], ['did you mean gpt-5?']],
    [[LOG, '--policy', ''], ['policy']],
    [[LOG, '--prices', 'gpt5'], ['did you mean gpt-5?']],
    [[LOG, '--prices', 'mine:read=1'], ['read=…,write=…']],
    [[LOG, '--prices', 'mine:read=1,write=x'], ['write']],
    [
      [LOG, '--prices', 'mine:read=1,write=1,look-back-blocks=x'],
      ['lookup option look-back-blocks', 'whole number of 0 or more'],
    ],
    [
      [LOG, '--prices', 'mine:read=1,write=1,step-tokens=0'],
      ['lookup option step-tokens', 'whole number of 1 or more'],
    ],
    [[LOG, '--prices', 'mine:read=1,write=1,step-tokens=1,look-back-blocks=1'], ['look-back-blocks or step-tokens']],
    [
      [LOG, '--format', 'claude'],
      ['--format', 'claude-code', "'claude'"],
    ],
    [
      [LOG, '--counter', 'words'],
      ['--counter', 'o200k', "'words'"],
    ],
    [[LOG, '--counter', 'toString'], ['--counter']],
    [
      [LOG, '--window', 'ten'],
      ['--window', 'whole number of 0 or more'],
    ],
    [[LOG, '--window', '-1'], ['--window']],
    [[LOG, '--system-tokens', '1.5'], ['--system-tokens']],
    [
      [LOG, '--context-limit', '0'],
      ['--context-limit', 'whole number of 1 or more'],
    ],
    [
      [LOG, '--cache-life', 'long'],
      ['--cache-life', 'minutes', "'long'"],
    ],
    [[LOG, '--cache-life', '-5'], ['--cache-life']],
    [[LOG, '--polisy', 'none'], ['did you mean --policy?']],
    [[LOG, '--price', 'gpt-5'], ['did you mean --prices?']],
    [[LOG, '--html'], ['html']],
  ])('%j is told before anything is read', async (args, said) => {
    const { code, stdout, stderr } = await replayed(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.startsWith('palimpsest replay: ')).toBe(true);
    expect(stderr.endsWith('\nTry: palimpsest replay --help\n')).toBe(true);
    for (const part of said) expect(stderr).toContain(part);
    expect(stderr).not.toMatch(/\n\s+at |TypeError/);
  });
});
