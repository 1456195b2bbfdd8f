import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { adviceOf, onlyAsked, replay } from './replay.ts';
import type { ReplayedFile } from './replay-file.ts';
import type { PolicyResult, ReplayResult, Schedule } from './replay-result.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-replay-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ['a', 'b', 'c', 'd', 'e']) writeFileSync(join(folder, `${name}.json`), '');

const inFolder = (name: string): string => join(folder, `${name}.json`);

function result(tokensSent: number, cost: Record<string, number>, misses = { any: 0, calls: 0 }): PolicyResult {
  return { tokensSent, peakTokens: 0, masks: 0, epochs: 0, cost, misses: { edit: 0, identifier: 0, ...misses } };
}

interface Given {
  readonly turns?: number;
  readonly results?: Readonly<Record<string, PolicyResult>>;
  readonly schedules?: Readonly<Record<string, Schedule>>;
}

/** The result of a file with one run. */
function played(file: string, { turns = 1, results = {}, schedules = {} }: Given = {}): ReplayedFile {
  const run = { file, run: 0, format: 'messages' as const, turns, tokens: 0, observationShare: 0, results };
  return { runs: [{ result: run, schedules }], skipped: [] };
}

describe('replay', () => {
  it('adds up runs, and tells what is saved against sending everything', async () => {
    const results: Record<string, Record<string, PolicyResult>> = {
      a: { none: result(100, { x: 100, y: 40 }), polling: result(60, { x: 80, y: 50 }) },
      b: { none: result(300, { x: 300, y: 60 }), polling: result(200, { x: 220, y: 60 }) },
    };
    const { result: found } = await replay([inFolder('a'), inFolder('b')], {
      policies: ['polling'],
      prices: ['x', 'y'],
      replayFile: async (file) => played(file, { results: results[file === inFolder('a') ? 'a' : 'b'] ?? {} }),
    });
    expect(found.total).toEqual({
      polling: { tokensSent: 260, cost: { x: 300, y: 110 }, saving: { x: 300 / 400 - 1, y: 110 / 100 - 1 } },
    });
    // None was not asked for: the page needs it, the answer does not have it.
    expect(found.runs.map((run) => Object.keys(run.results))).toEqual(Array(2).fill(['none', 'polling']));
    expect(onlyAsked(found).runs.map((run) => Object.keys(run.results))).toEqual([['polling'], ['polling']]);
  });

  it('saves nothing where nothing was sent', async () => {
    const options = {
      policies: ['none', 'polling'],
      prices: ['x'],
      replayFile: async () => ({ runs: [], skipped: [] }),
    };
    const { result: found } = await replay([inFolder('a')], options);
    expect(found.total.polling).toEqual({ tokensSent: 0, cost: { x: 0 }, saving: { x: 0 } });
  });

  it('keeps the order of the files, whoever is done first, and plays no more at a time than it may', async () => {
    const delays: Record<string, number> = { a: 30, b: 5, c: 20, d: 1, e: 1 };
    let [running, most] = [0, 0];
    const { result: found } = await replay([folder], {
      policies: [],
      prices: [],
      parallel: 2,
      async replayFile(file) {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, delays[file.at(-6) as string]));
        running -= 1;
        return played(file);
      },
    });
    expect(found.runs.map(({ file }) => file)).toEqual(['a', 'b', 'c', 'd', 'e'].map(inFolder));
    expect(most).toBe(2);
  });

  it('tells its progress from the first file to the last', async () => {
    const told: string[] = [];
    await replay([folder], {
      policies: [],
      prices: [],
      replayFile: async (file) => played(file),
      onProgress: (done, total) => told.push(`${done}/${total}`),
    });
    expect(told).toEqual(['0/5', '1/5', '2/5', '3/5', '4/5', '5/5']);
  });

  it('lists what could not be read: paths first, then parts of files', async () => {
    const { result: found } = await replay([join(folder, 'gone.json'), inFolder('a')], {
      policies: [],
      prices: [],
      replayFile: async (file) => ({ ...played(file), skipped: ['line 3 is cut off'] }),
    });
    expect(found.skipped).toEqual([
      { file: join(folder, 'gone.json'), reason: 'there is no such file' },
      { file: inFolder('a'), reason: 'line 3 is cut off' },
    ]);
  });

  it('fails if a file cannot be replayed', async () => {
    const replayFile = (): Promise<ReplayedFile> => Promise.reject(new Error('a worker died'));
    await expect(replay([folder], { policies: [], prices: [], replayFile })).rejects.toThrow('a worker died');
  });

  it('keeps the thirty longest runs in detail', async () => {
    const schedule: Schedule = { sizes: [1], epochs: [], masked: [] };
    const [base] = played(inFolder('a')).runs;
    const runs = Array.from({ length: 40 }, (_, i) => ({
      result: { ...(base as NonNullable<typeof base>).result, run: i, turns: i },
      schedules: { none: schedule },
    }));
    const options = { policies: [], prices: [], replayFile: async () => ({ runs, skipped: [] }) };
    const { details } = await replay([inFolder('a')], options);
    expect(details.map(({ run }) => run)).toEqual(Array.from({ length: 30 }, (_, i) => 39 - i));
    const without = { ...options, replayFile: async () => played(inFolder('a')) };
    expect((await replay([inFolder('a')], without)).details).toEqual([]);
  });
});

describe('adviceOf', () => {
  const advice = (savings: Readonly<Record<string, number>>, misses = { any: 3, calls: 80 }): string => {
    const policies = Object.keys(savings);
    const results = Object.fromEntries(policies.map((name) => [name, result(0, { x: 0 }, misses)]));
    const total = Object.fromEntries(
      policies.map((name) => [name, { tokensSent: 0, cost: { x: 0 }, saving: { x: savings[name] as number } }]),
    );
    const [run] = played('f', { results }).runs;
    const runs = [(run as NonNullable<typeof run>).result];
    return adviceOf({ version: 1, prices: ['x'], policies, runs, total, skipped: [] }, 'x');
  };

  it('names the policy that saves most, and what it hides', () => {
    expect(advice({ none: 0, polling: -0.1, 'break-even': -0.256 })).toBe(
      'break-even saves 26 % of the input cost at x prices; in 3.8 of 100 calls the agent would have had to look something up again.',
    );
  });

  it('does not advise what knows the future', () => {
    expect(advice({ 'optimum:window=3': -0.9, polling: -0.1 })).toMatch(/^polling saves 10 %/);
  });

  it('advises against masking where nothing saves', () => {
    expect(advice({ polling: 0.3, 'sliding-window': 0.1 })).toBe(
      'At x prices no policy saves anything on these runs: leave them as they are.',
    );
  });

  it('says so where there is nothing to say', () => {
    expect(advice({ none: 0, optimum: -0.3 })).toBe('No policy was compared.');
    const empty: ReplayResult = { version: 1, prices: ['x'], policies: ['polling'], runs: [], total: {}, skipped: [] };
    expect(adviceOf(empty, 'x')).toBe('No run was read.');
  });

  it('counts no misses where no call was made', () => {
    expect(advice({ polling: -0.1 }, { any: 0, calls: 0 })).toContain('in 0.0 of 100 calls');
  });
});
