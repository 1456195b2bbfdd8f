import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Io } from '../../src/cli/io.ts';
import { type ReplayRequest, settingOf } from '../../src/cli/replay/replay-request.ts';
import { createReplayWorkers } from '../../src/cli/replay/replay-workers.ts';
import { run } from '../../src/cli/run.ts';
import { replayFile } from '../../src/lab/replay-file.ts';
import { contextOf } from '../support/logs/contexts.ts';
import { sampleLogs } from '../support/logs/logs.ts';
import { ensureBuilt, ROOT } from '../support/modules.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-pool-'));
const logs = join(folder, 'logs');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  mkdirSync(logs);
  for (const [i, { text, isLines }] of sampleLogs.entries())
    writeFileSync(join(logs, `${i}.${isLines ? 'jsonl' : 'json'}`), text);
  // The first is the longest, so that the others are done before it.
  writeFileSync(join(logs, '00.json'), JSON.stringify(contextOf(...new Array(120).fill(300)).messages));
  writeFileSync(join(logs, 'broken.json'), '{"messages":[');
  await ensureBuilt();
});

/** In this process, in which no worker can be started. */
async function here(args: readonly string[]): Promise<{ code: number; stdout: string }> {
  let stdout = '';
  const io: Io = {
    stdin: undefined,
    stdout: (text) => {
      stdout += text;
    },
    stderr: () => {},
    readFile: () => Promise.reject(new Error('not here')),
    writeFile: async () => {},
    color: false,
    columns: 100,
    isTerminal: false,
  };
  return { code: await run(args, io), stdout };
}

/** The program as it is published. */
const built = (args: readonly string[]) =>
  spawnSync(process.execPath, [join(ROOT, 'dist/cli/main.js'), ...args], { encoding: 'utf8', maxBuffer: 1 << 26 });

describe(`replay in ${availableParallelism()} workers`, () => {
  const args = (): string[] => ['replay', logs, '--compare', '--prices', 'all', '--json', '--cache-life', 'listed'];

  it('prints what one process alone prints', async () => {
    const alone = await here(args());
    const { status, stdout, stderr } = built(args());
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(JSON.parse(stdout).runs.length).toBeGreaterThan(sampleLogs.length);
    expect(stdout).toBe(alone.stdout);
    expect(status).toBe(alone.code);
  });

  it('prints the same with every way to count, and in a table', async () => {
    for (const more of [
      ['--counter', 'o200k'],
      ['--system-tokens', '900', '--context-limit', '20000'],
      ['--policy', 'break-even:window=2', '--prices', 'mine:read=0.3,write=1'],
    ])
      expect(built(['replay', logs, ...more]).stdout).toBe((await here(['replay', logs, ...more])).stdout);
  });

  it('writes the page', () => {
    const page = join(folder, 'report.html');
    const { stdout } = built(['replay', logs, '--html', page]);
    expect(stdout).toContain(`The page is in ${page}`);
  });

  it('tells a mistake once, and without a stack trace', () => {
    const { status, stdout, stderr } = built(['replay', logs, '--policy', 'nonsense']);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr.match(/palimpsest replay: /g)).toHaveLength(1);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe('createReplayWorkers', () => {
  it('from the sources is one player, in this thread', async () => {
    const request: ReplayRequest = {
      policies: ['break-even'],
      prices: ['gpt-5'],
      counter: 'chars',
      systemTokens: 0,
      contextLimit: undefined,
      cacheLife: 'endless',
      format: undefined,
      keepSchedules: true,
    };
    const workers = createReplayWorkers(request, { files: 9 });
    expect(workers.count).toBe(1);
    const file = join(logs, '00.json');
    expect(await workers.replay(file)).toEqual(await replayFile(file, settingOf(request)));
    await workers.close();
  });
});
