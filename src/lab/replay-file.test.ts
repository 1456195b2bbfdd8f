import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { chars, contextOf, textOf } from '../../test/support/logs/contexts.ts';
import { type Fields, lines } from '../../test/support/logs/sample-log.ts';
import { type FileSetting, replayFile } from './replay-file.ts';
import { readPrices, readReplayPolicy } from './replay-policy.ts';

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-replay-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
function write(text: string): string {
  const file = join(folder, `${++files}.jsonl`);
  writeFileSync(file, text);
  return file;
}

interface Given {
  readonly policies?: readonly string[];
  readonly prices?: readonly string[];
  readonly keepSchedules?: boolean;
}

function settingOf({ policies = ['none'], prices = ['anthropic-5m'], keepSchedules = false }: Given = {}): FileSetting {
  return {
    counter: chars,
    systemTokens: 0,
    policies: policies.map(readReplayPolicy),
    prices: prices.map(readPrices),
    cacheLife: 'endless',
    keepSchedules,
  };
}

/** Texts of their own: what was said before a compaction is known again by its words. */
const said = (tokens: number, start: string): string => (start + textOf(tokens)).slice(0, 4 * tokens);

const claudeLine = (type: string, message: Fields, more: Fields = {}): Fields => ({
  type,
  message: { role: type, ...message },
  uuid: `u${++files}`,
  sessionId: 's',
  isSidechain: false,
  ...more,
});
const user = (content: unknown, more: Fields = {}): Fields => claudeLine('user', { content }, more);
const reply = (id: string, ...calls: readonly Fields[]): Fields =>
  claudeLine('assistant', { id, model: 'm', content: [{ type: 'text', text: said(8, id) }, ...calls] });
const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'work', input: {} });
const answer = (id: string): Fields =>
  user([{ type: 'tool_result', tool_use_id: id, content: said(100, `result ${id} `) }]);

describe('a run that a compaction cut in two', () => {
  // Turn 0 is 100. A reply is 8, a call of `work` with {} 1.5, a result 100.
  const file = write(
    lines(
      user(said(100, 'Fix it. ')),
      reply('m1', use('t1')),
      answer('t1'),
      reply('m2'),
      user(said(50, 'Summary: '), { isCompactSummary: true }),
      reply('m3', use('t3')),
      answer('t3'),
      reply('m4'),
    ),
  );

  it('is one run, whose first request after it caches nothing', async () => {
    const { runs, skipped } = await replayFile(file, settingOf({ prices: ['anthropic-5m', 'none'] }));
    expect(skipped).toEqual([]);
    expect(runs.map(({ result }) => result)).toEqual([
      {
        file,
        run: 0,
        format: 'claude-code',
        turns: 4,
        tokens: 100 + 9.5 + 100 + 8 + 50 + 9.5 + 100 + 8,
        observationShare: 200 / 385,
        model: 'm',
        results: {
          none: {
            // 100, 209.5; 50, 159.5
            tokensSent: 519,
            peakTokens: 209.5,
            masks: 0,
            epochs: 0,
            // Cached 100 and 50; written 100, 109.5, 50, 109.5.
            cost: { 'anthropic-5m': 0.1 * 150 + 1.25 * 369, none: 519 },
            misses: { edit: 0, identifier: 0, any: 0, calls: 2 },
          },
        },
      },
    ]);
  });

  it('adds up the masks and epochs of both parts', async () => {
    // Each part masks its result as soon as it goes out, which changes nothing that was sent.
    const now = await replayFile(file, settingOf({ policies: ['sliding-window:turns=0'] }));
    expect(now.runs[0]?.result.results['sliding-window:turns=0']).toMatchObject({ masks: 2, epochs: 0 });
    // With a window of 1 no part is long enough.
    const later = await replayFile(file, settingOf({ policies: ['sliding-window:turns=1'] }));
    expect(later.runs[0]?.result.results['sliding-window:turns=1']).toMatchObject({ masks: 0, epochs: 0 });
  });
});

describe('a run of pi, which carries turns over a compaction', () => {
  const message = (fields: Fields): Fields => ({ type: 'message', message: fields });
  const call = (id: string): Fields =>
    message({
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: said(8, id) },
        { type: 'toolCall', id, name: 'read', arguments: { path: id } },
      ],
    });
  const result = (id: string): Fields =>
    message({
      role: 'toolResult',
      toolCallId: id,
      toolName: 'read',
      content: [{ type: 'text', text: said(100, `result ${id} `) }],
    });
  // A call is 8 + read 1 + {"path":"cN"} 3.25 = 12.25.
  const file = write(
    lines(
      { type: 'session', id: 's', cwd: '/' },
      message({ role: 'user', content: [{ type: 'text', text: said(100, 'Fix it. ') }] }),
      call('c1'),
      result('c1'),
      call('c2'),
      result('c2'),
      { type: 'compaction', summary: said(50, 'Summary. '), firstKeptEntryIndex: 4, tokensBefore: 9 },
      call('c3'),
      result('c3'),
      call('c4'),
    ),
  );

  it('bills and counts them once', async () => {
    const { runs } = await replayFile(file, settingOf());
    expect(runs).toHaveLength(1);
    const { turns, tokens, results } = runs[0]?.result ?? {};
    expect(turns).toBe(4);
    // 100 + 2 · 112.25, then 50 + 112.25 + 12.25. The call that was carried over is not counted again.
    expect(tokens).toBe(324.5 + 174.5);
    // 100, 212.25; with the summary and the carried turn 50 + 112.25 = 162.25, then 274.5.
    expect(results?.none).toMatchObject({
      tokensSent: 100 + 212.25 + 162.25 + 274.5,
      peakTokens: 274.5,
      // Cached 100 and 162.25, the rest written.
      cost: { 'anthropic-5m': expect.closeTo(0.1 * 262.25 + 1.25 * (749 - 262.25), 9) },
    });
  });
});

// The contexts of a run and those of its subagents come as they end, and so may be mixed.
it('a run is one run though a subagent worked between its parts', async () => {
  const side = { isSidechain: true };
  const file = write(
    lines(
      user('Fix it.'),
      reply('m1'),
      user('Summary.', { isCompactSummary: true }),
      reply('m2', use('t1')),
      user('Look.', { ...side, uuid: 'side1', parentUuid: null }),
      { ...reply('s1'), ...side, uuid: 'side2', parentUuid: 'side1' },
      answer('t1'),
      reply('m3'),
    ),
  );
  const { runs } = await replayFile(file, settingOf());
  expect(runs.map(({ result }) => [result.run, result.turns])).toEqual([
    [0, 3],
    [1, 1],
  ]);
});

describe('what the page shows', () => {
  const file = write(JSON.stringify(contextOf(500, 100, 100, 100, 100, 100).messages));
  const BREAK_EVEN = 'break-even:window=2,window-by-kind=false';

  it('is kept only where it is asked for', async () => {
    const { runs } = await replayFile(file, settingOf({ policies: ['none', BREAK_EVEN] }));
    expect(runs[0]?.schedules).toEqual({});
  });

  it('is every request, every epoch and every mask, at each price list where that makes a difference', async () => {
    const policies = ['none', 'polling:turns=2,every=2', BREAK_EVEN];
    const prices = ['anthropic-5m', 'deepseek'];
    const { runs } = await replayFile(file, settingOf({ policies, prices, keepSchedules: true }));
    const { schedules = {} } = runs[0] ?? {};
    expect(Object.keys(schedules)).toEqual([
      'none',
      'polling:turns=2,every=2',
      `${BREAK_EVEN} @ anthropic-5m`,
      `${BREAK_EVEN} @ deepseek`,
    ]);
    const sizes = [200, 710, 820, 930, 1040, 1150, 1260];
    expect(schedules.none).toEqual({ sizes, epochs: [], masked: [] });
    expect(schedules[`${BREAK_EVEN} @ deepseek`]).toEqual({ sizes, epochs: [], masked: [] });
    const { masked = [], ...rest } = schedules[`${BREAK_EVEN} @ anthropic-5m`] ?? {};
    expect(rest).toEqual({ sizes: [200, 710, 820, 930, 1040, 474.25, 584.25], epochs: [5] });
    expect(masked.map(({ request, turn, tool, tokens }) => ({ request, turn, tool, tokens }))).toEqual([
      { request: 5, turn: 1, tool: 'work', tokens: 500 },
      { request: 5, turn: 2, tool: 'work', tokens: 100 },
      { request: 5, turn: 3, tool: 'work', tokens: 100 },
    ]);
    expect(masked[0]?.placeholder).toBe('[work: 1 line, 2000 chars masked]');
    expect(masked[0]?.text).toBe(textOf(300));
    // Its counts are those at the first list.
    expect(runs[0]?.result.results[BREAK_EVEN]).toMatchObject({ masks: 3, epochs: 1, tokensSent: 4758.5 });
    expect(runs[0]?.result.results[BREAK_EVEN]?.cost).toEqual({
      'anthropic-5m': expect.closeTo(2102.2375, 9),
      deepseek: expect.closeTo(1357, 9),
    });
  });

  it('counts requests on over a compaction', async () => {
    const half = [user(said(100, 'Fix it. ')), reply('p1', use('q1')), answer('q1'), reply('p2')];
    const again = [user('Summary.', { isCompactSummary: true }), reply('p3', use('q3')), answer('q3'), reply('p4')];
    const policies = ['sliding-window:turns=0'];
    const log = write(lines(...half, ...again));
    const { runs } = await replayFile(log, settingOf({ policies, keepSchedules: true }));
    const { masked = [], sizes } = runs[0]?.schedules['sliding-window:turns=0'] ?? {};
    expect(sizes).toHaveLength(4);
    expect(masked.map(({ request }) => request)).toEqual([1, 3]);
  });
});

describe('a log that cannot be read', () => {
  it.each([
    ['is not there', join(folder, 'gone.jsonl'), 'there is no such file'],
    ['is no JSON', write('not json'), 'found no JSON object'],
    ['is of no agent', write('{"some":"thing"}'), 'found objects with some'],
    ['has no reply', write(JSON.stringify([{ role: 'user', content: 'Hello?' }])), 'found none'],
  ])('that %s is told', async (_, file, reason) => {
    const { runs, skipped } = await replayFile(file, settingOf());
    expect(runs).toEqual([]);
    expect(skipped).toEqual([expect.stringContaining(reason)]);
  });

  it('in part is told, and the rest is replayed', async () => {
    const file = write(`${lines(user('Fix it.'), reply('m1'))}{"type":"user","mess\n${lines(reply('m2'))}`);
    const { runs, skipped } = await replayFile(file, settingOf());
    expect(runs.map(({ result }) => result.turns)).toEqual([2]);
    expect(skipped).toHaveLength(1);
  });

  it('as the format it is forced to be', async () => {
    const file = write(lines(user('Fix it.'), reply('m1')));
    const { runs, skipped } = await replayFile(file, { ...settingOf(), format: 'codex' });
    expect([runs.length, skipped.length]).toEqual([0, 1]);
  });
});
