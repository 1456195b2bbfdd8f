import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  clearToolUses,
  clipText,
  countTokens,
  createPlanner,
  describeResult,
  dropOldestTurns,
  estimateTokens,
  type FitOptions,
  firstAndLast,
  fit as fitHistory,
  graduated,
  type HistoryReducerOptions,
  handleOf,
  hybrid,
  isPlaceholder,
  maskDispatchObservation,
  maskObservations,
  never,
  oldestBatch,
  PalimpsestError,
  type Policy,
  polling,
  protectTokens,
  slidingWindow,
  truncateResult,
} from '../../src/index.ts';
import { isManagerNotice } from '../../src/laws/idempotent.ts';
import { compressedNotice } from '../../src/manager/context/notices.ts';
import {
  ContextManager,
  createMemorySession,
  defineTool,
  extractCarryover,
  type Model,
  type Rendered,
  type RenderOptions,
  renderWithBudget,
  resumeAgent,
  runAgent,
  trimMessages,
} from '../../src/manager/index.ts';
import { runLoop } from '../support/agent-loop.ts';
import {
  answer,
  call,
  changedTurns,
  chars,
  contents,
  history,
  isWhole,
  pair,
  parallelCalls,
  prose,
  range,
  reply,
  result,
  results,
  system,
  talk,
  toolTurn,
  unpaired,
  user,
} from '../support/chat.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import { reduce } from '../support/reduced-run.ts';

const fitChat = (messages: readonly ChatMessage[], options: FitOptions = {}) =>
  fitHistory(messages, { format: chat, ...options });
const errorOf = (run: () => unknown): PalimpsestError | undefined => {
  try {
    run();
  } catch (error) {
    if (error instanceof PalimpsestError) return error;
    throw error;
  }
  return undefined;
};

/** How many messages two requests have in common from the start, by their bytes. */
function commonPrefix(a: readonly ChatMessage[], b: readonly ChatMessage[]): number {
  let length = 0;
  while (length < a.length && length < b.length && JSON.stringify(a[length]) === JSON.stringify(b[length])) length++;
  return length;
}

/** The turns at which the request does not begin with the whole of the one before. */
function breaks(run: readonly ChatMessage[], options: FitOptions): number[] {
  const turns = (run.length - 2) / 2;
  const request = (turn: number): ChatMessage[] => fitChat(run.slice(0, 2 + 2 * turn), options).messages;
  return range(1, turns).filter((turn) => {
    const before = request(turn - 1);
    return commonPrefix(before, request(turn)) < before.length;
  });
}

const POLICIES: readonly [string, Policy][] = [
  ['slidingWindow', slidingWindow({ turns: 3 })],
  ['firstAndLast', firstAndLast({ keepFirst: 2, keepLast: 3 })],
  ['oldestBatch', oldestBatch({ count: 3, window: 2 })],
  ['protectTokens', protectTokens({ protect: 600, atLeast: 400 })],
  ['clearToolUses', clearToolUses({ trigger: 1500, keep: 2 })],
  ['hybrid', hybrid({ window: 2, summarizeEvery: 5 })],
  ['graduated', graduated({ maxInputChars: 4000, preserveRecentRawTurns: 2 })],
  ['polling', polling({ turns: 3, every: 4 })],
];

describe('1.5 spec-context-mcp', () => {
  const SYSTEM = system('You are an orchestrator.');
  const TASK = user('Fix the build.');

  it('1.5#1 the fallback keeps its budget: 25 tokens asked for, 25 or less returned', () => {
    const run = [
      system('rules'),
      user('task'),
      ...range(1, 20).flatMap((n) => pair(`t${n}`, prose(1000))),
      reply('ok'),
    ];
    const outcome = reduce(run, { maxInputChars: 1, maxInputTokens: 25, preserveRecentRawTurns: 4 });
    expect(outcome).toMatchObject({ reduced: true, withinBudget: true, reductionStage: 'fallback' });
    expect(outcome.afterTokens).toBeLessThanOrEqual(25);
  });

  it('1.5#1 where nothing can keep a budget, withinBudget says so and fit throws: never silently over', () => {
    const run = history(12);
    for (let maxTokens = 1; maxTokens < 4000; maxTokens += maxTokens < 200 ? 1 : 59) {
      const outcome = reduce(run, { maxInputChars: 1, maxInputTokens: maxTokens });
      expect(outcome.withinBudget).toBe(outcome.afterTokens <= maxTokens);
      const error = errorOf(() =>
        expect(fitChat(run, { maxTokens }).report.tokens.after).toBeLessThanOrEqual(maxTokens),
      );
      if (error) expect([error.code, maxTokens < 100]).toEqual(['BUDGET_IMPOSSIBLE', true]);
    }
  });

  it('1.5#2 a window of 0 masks every result instead of none', () => {
    const run = history(6);
    const outcome = reduce(run, { maxInputChars: 3000, preserveRecentRawTurns: 0 });
    expect(outcome).toMatchObject({ reductionStage: 'masking', maskedCount: 6, withinBudget: true });
    expect(changedTurns(run, fitChat(run, { policy: slidingWindow({ turns: 0 }) }).messages)).toEqual(range(1, 6));
    expect(maskObservations(run, new Set()).maskedCount).toBe(6);
  });

  it('1.5#3 an open call at the end is legal: masking is enough, and nothing is dropped', () => {
    const run = [SYSTEM, TASK, ...pair('t1', prose(1000)), ...pair('t2', prose(1000)), call('t3')];
    const outcome = reduce(run, { maxInputChars: 1500, preserveRecentRawTurns: 2 });
    expect(outcome).toMatchObject({
      reductionStage: 'masking',
      invariantStatus: 'ok',
      droppedCount: 0,
      maskedCount: 1,
    });
    expect(outcome.messages.at(-1)).toBe(run.at(-1));
    expect(outcome.messages).toContain(TASK);
  });

  it('1.5#3 an open call is never touched by a drop either, nor is one of several parallel calls', () => {
    const run = [SYSTEM, TASK, ...pair('t1', prose(1000)), parallelCalls('a', 'b'), answer('a', prose(300))];
    for (let maxInputChars = 400; maxInputChars < chars(run); maxInputChars += 50) {
      const { messages } = reduce(run, { maxInputChars, preserveRecentRawTurns: 1 });
      expect(messages).toContain(run[4]);
      expect(unpaired(messages)).toEqual(['b']);
    }
  });

  it('1.5#4 the summary comes behind the system prompt, a notice behind the task, and no note anywhere else', () => {
    const run = [SYSTEM, TASK, ...range(1, 6).flatMap((n) => [reply(prose(500)), ...pair(`t${n}`, prose(300))])];
    for (let maxInputChars = 200; maxInputChars < chars(run); maxInputChars += 100) {
      const { messages } = reduce(run, { maxInputChars, preserveRecentRawTurns: 2 });
      expect(messages[0]).toBe(SYSTEM);
      const notes = messages.filter(({ role }, i) => role === 'system' && i > 0);
      for (const note of notes) expect([SYSTEM, TASK]).toContain(messages[messages.indexOf(note) - 1]);
      expect(notes.length).toBeLessThanOrEqual(1);
    }
    expect(reduce(run, { maxInputChars: 2000, preserveRecentRawTurns: 2 }).messages[1]?.content).toMatch(
      /^Conversation summary/,
    );
  });

  it('1.5#5 the summary tells outcomes from the originals, not from placeholders', () => {
    const run = [
      SYSTEM,
      TASK,
      call('t1'),
      result('t1', `version 4.2.1 installed\n${prose(900)}`),
      reply(prose(900)),
      reply('on'),
    ];
    const outcome = reduce(run, { maxInputChars: 700, preserveRecentRawTurns: 1 });
    expect(outcome).toMatchObject({ reductionStage: 'summarization', maskedCount: 1 });
    expect(outcome.messages[1]?.content).toContain('version 4.2.1 installed');
    expect(outcome.messages[1]?.content).not.toContain('observation masked');
  });

  it('1.5#6 every placeholder keeps its closing bracket, whatever the length it hides', () => {
    for (const length of [40, 64, 99, 100, 1400, 9999, 123_456]) {
      const [text = ''] = results(maskObservations([...pair('t1', prose(length))], new Set()).messages);
      expect(text).toBe(`[observation masked — ${length} chars]`);
      expect(isPlaceholder(text)).toBe(true);
    }
  });

  it('1.5#7 tiny results are left alone, since a placeholder would be larger', () => {
    for (const text of ['', 'ok', 'done', prose(20), prose(30)]) {
      const outcome = maskObservations(pair('t1', text), new Set());
      expect(outcome).toEqual({ messages: pair('t1', text), maskedCount: 0, maskedChars: 0 });
    }
    for (const length of range(0, 80)) {
      const [text = ''] = results(maskObservations(pair('t1', prose(length)), new Set()).messages);
      expect(text.length).toBeLessThanOrEqual(length);
    }
  });

  it('1.5#8 masking what is masked changes nothing and counts nothing', () => {
    const run = history(6);
    const once = maskObservations(run, new Set());
    expect(once.maskedCount).toBe(6);
    expect(maskObservations(once.messages, new Set())).toEqual({
      messages: once.messages,
      maskedCount: 0,
      maskedChars: 0,
    });
    const later = reduce([...once.messages, ...toolTurn({ id: 'n', output: prose(1000) })], {
      maxInputChars: 1000,
      preserveRecentRawTurns: 0,
    });
    expect(later.maskedCount).toBe(1);
    expect(results(later.messages)).toEqual(range(1, 7).map(() => '[observation masked — 1000 chars]'));
  });

  it('1.5#8 reducing a reduced history again changes nothing, at every budget', () => {
    const run = [
      SYSTEM,
      TASK,
      ...range(1, 8).flatMap((n) => [reply(prose(200, `${n}`)), ...pair(`t${n}`, prose(400, `${n}`))]),
    ];
    for (let maxInputChars = 100; maxInputChars <= chars(run); maxInputChars += 50) {
      const options = { maxInputChars, preserveRecentRawTurns: 3 };
      const once = reduce(run, options);
      const twice = reduce(once.messages, options);
      expect(twice.messages).toEqual(once.messages);
      expect(twice.maskedCount).toBe(0);
    }
  });

  it.each(POLICIES)('1.5#8 fitting what was fitted changes nothing: %s', (_, policy) => {
    const run = history(14, 700);
    const { messages } = fitChat(run, { policy });
    expect(messages).not.toEqual(run);
    const again = fitChat(messages, { policy });
    expect(again.messages).toEqual(messages);
    expect(again.plan.edits).toEqual([]);
    expect(again.hidden).toEqual([]);
  });

  it.each(POLICIES)('1.5#8 a framework may carry the fitted history forward: %s', (_, policy) => {
    const run = history(14, 700);
    let carried: ChatMessage[] = run.slice(0, 2);
    for (let turn = 1; turn <= 14; turn++) {
      carried = fitChat([...carried, ...run.slice(2 * turn, 2 * turn + 2)], { policy }).messages;
      expect(carried).toEqual(fitChat(run.slice(0, 2 * turn + 2), { policy }).messages);
    }
  });

  it('1.5#9 results without pairRole are masked like the others', () => {
    const run = history(3);
    expect(run.every((message) => message.pairRole === undefined)).toBe(true);
    expect(reduce(run, { maxInputChars: 1500, preserveRecentRawTurns: 1 })).toMatchObject({
      maskedCount: 2,
      reductionStage: 'masking',
    });
  });

  it('1.5#9 a result that answers no call and has no pairRole is left alone', () => {
    const run = [TASK, answer('nobody', prose(900)), ...pair('t1', prose(900))];
    const outcome = maskObservations(run, new Set());
    expect(outcome.maskedCount).toBe(1);
    expect(outcome.messages[1]).toBe(run[1]);
  });

  it('1.5#10 an unterminated block does not cost the complete ones, wherever it stands', () => {
    const whole = 'BEGIN_DISPATCH_RESULT\n{"task_id":"1"}\nEND_DISPATCH_RESULT';
    const torn = 'BEGIN_DISPATCH_RESULT\n{"task_id":"torn"';
    const noise = prose(200);
    for (const content of [
      `${noise}${whole}${noise}${torn}`,
      `${torn}${noise}${whole}${noise}`,
      `${noise}${whole}${torn}\n${noise}`,
    ]) {
      const { masked: kept } = maskDispatchObservation(content);
      expect(kept).toBe(`[dispatch output masked — ${content.length - whole.length} chars]\n${whole}`);
    }
    const between = `${noise}${whole}${torn}${noise}${whole}`;
    expect(maskDispatchObservation(between).masked).toBe(
      `[dispatch output masked — ${between.length - 2 * whole.length} chars]\n${whole}\n${whole}`,
    );
  });

  it('1.5#10 a masked dispatch result is left alone the next time', () => {
    const content = `${prose(300)}BEGIN_DISPATCH_RESULT\n{"task_id":"1"}\nEND_DISPATCH_RESULT${prose(300)}`;
    const { masked: once } = maskDispatchObservation(content);
    expect(maskDispatchObservation(once)).toEqual({ masked: once, maskedChars: 0 });
    expect(isPlaceholder(once)).toBe(true);
    expect(isPlaceholder(`${once}\nand more`)).toBe(false);
  });

  it('1.5#10 a huge dispatch block, which masking keeps, still gives way to the budget', () => {
    const huge = `BEGIN_DISPATCH_RESULT\n${prose(9000)}\nEND_DISPATCH_RESULT`;
    const run = [SYSTEM, TASK, ...pair('t1', `noise ${huge}`), ...pair('t2', prose(100))];
    const outcome = reduce(run, { maxInputChars: 1000, preserveRecentRawTurns: 1 });
    expect(outcome.withinBudget).toBe(true);
    expect(outcome.messages.slice(-2)).toEqual(run.slice(-2));
  });

  it.each([
    ['maxInputChars', Number.NaN],
    ['maxInputChars', -1],
    ['maxInputChars', 1.5],
    ['maxInputChars', undefined],
    ['maxInputTokens', Number.NaN],
    ['maxInputTokens', -5],
    ['preserveRecentRawTurns', -1],
    ['preserveRecentRawTurns', 2.5],
    ['preserveRecentRawTurns', Number.NaN],
    ['summaryMaxChars', -1],
    ['maxObservationChars', Number.NaN],
    ['maxObservationChars', -80],
    ['enabled', 'yes'],
    ['observationMasking', 1],
    ['maxInputChar', 100],
  ])('1.5#11 %s of %s is refused with BAD_OPTION and by name', (name, value) => {
    const error = errorOf(() => reduce([TASK], { maxInputChars: 100, [name]: value } as HistoryReducerOptions));
    expect(error?.code).toBe('BAD_OPTION');
    expect(error?.message).toContain(name);
  });

  it('1.5#11 options are refused even where nothing is to be done', () => {
    expect(errorOf(() => reduce([], { enabled: false, maxInputChars: Number.NaN }))?.code).toBe('BAD_OPTION');
  });

  it('1.5#11 a history of two messages is reduced like any other', () => {
    const outcome = reduce(pair('t1', prose(5000)), { maxInputChars: 100, preserveRecentRawTurns: 0 });
    expect(outcome).toMatchObject({ maskedCount: 1, reductionStage: 'masking', withinBudget: true });
  });

  it('1.5#12 a disabled reducer reports the same size before and after', () => {
    const outcome = reduce(history(8), { enabled: false, maxInputChars: 100 });
    expect(outcome.beforeTokens).toBeGreaterThan(1000);
    expect(outcome.afterTokens).toBe(outcome.beforeTokens);
  });

  it('1.5#13 sizes know the script, the framing, the names and the tools, and the counter can be exchanged', () => {
    const han = '漢字'.repeat(200);
    expect(countTokens(han)).toBeGreaterThan(2 * Math.ceil(han.length / 4));
    const sizes = (options: FitOptions) => fitChat(history(2), options).report.tokens.before;
    expect(sizes({ counter: (text) => text.length })).toBeGreaterThan(2000);
    expect(sizes({ counter: () => 0 })).toBeGreaterThan(0);
    expect(
      sizes({ counter: estimateTokens, tools: [{ name: 'x'.repeat(398) }] }) - sizes({ counter: estimateTokens }),
    ).toBe(103);
  });

  it('1.5#14 hidden holds every original byte for byte, under the handle that the placeholder shows', () => {
    const run = history(8);
    const { hidden, messages, plan } = fitChat(run, { policy: slidingWindow({ turns: 3 }), recall: true });
    expect(hidden.map(({ text, turn, why, callId }) => ({ text, turn, why, callId }))).toEqual(
      range(1, 5).map((turn) => ({ text: results(run)[turn - 1], turn, why: 'mask', callId: `c${turn}` })),
    );
    for (const [i, { handle, text }] of hidden.entries()) {
      expect(handle).toBe(handleOf(text));
      expect(handle).toMatch(/^p_[a-z2-7]{26}$/);
      expect(results(messages)[i]).toContain(handle);
    }
    expect(plan.edits.map((edit) => edit.kind === 'replace' && edit.handle)).toEqual(
      hidden.map(({ handle }) => handle),
    );
  });

  it('1.5#14 what is summarised, dropped or clipped is in hidden too', () => {
    const run = history(40, 4000);
    const reasons = new Set<string>();
    for (const maxTokens of [3000, 2000, 1500, 900]) {
      const { hidden, messages } = fitChat(run, { maxTokens, recall: true });
      const stored = hidden.map(({ text }) => text).join('\n');
      for (const [i, message] of run.entries()) {
        if (i < 2 || messages.includes(message)) continue;
        const text = message.role === 'tool' ? message.content : JSON.stringify(message);
        expect([maxTokens, i, stored.includes(text)]).toEqual([maxTokens, i, true]);
      }
      expect(hidden.every(({ handle, text }) => handle === handleOf(text))).toBe(true);
      for (const { why } of hidden) reasons.add(why);
    }
    expect(reasons).toEqual(new Set(['mask', 'summarize', 'drop', 'clip']));
  });

  it('1.5#15 the task stays a message in every stage, also when it is not the first of its turn', () => {
    const run = [
      SYSTEM,
      system('Second prompt.'),
      TASK,
      ...range(1, 8).flatMap((n) => [reply(prose(300)), ...pair(`t${n}`, prose(500))]),
    ];
    const stages = new Set<string | undefined>();
    for (let maxInputChars = 60; maxInputChars <= chars(run); maxInputChars += 40) {
      const { messages, reductionStage } = reduce(run, { maxInputChars, preserveRecentRawTurns: 2 });
      expect(messages.filter((message) => message === TASK)).toHaveLength(1);
      expect(messages.slice(0, 2)).toEqual(run.slice(0, 2));
      stages.add(reductionStage);
    }
    expect(stages).toEqual(new Set(['fallback', 'summarization', 'masking']));
  });

  describe('1.5#15 a conversation that begins with a greeting', () => {
    const greeting = reply('Hello, how can I help?');
    const run = [SYSTEM, greeting, TASK, reply(prose(900)), reply(prose(900)), user('And?'), reply('on')];

    it('1.5#15 the task survives every stage, although a reply came before it', () => {
      for (let maxInputChars = 80; maxInputChars < chars(run); maxInputChars += 40)
        expect(reduce(run, { maxInputChars, preserveRecentRawTurns: 1 }).messages).toContain(TASK);
      expect(dropOldestTurns(run, { format: chat, maxTokens: 100 }).messages).toContain(TASK);
    });

    it('1.5#15 fit cuts around the task instead of refusing its own plan', () => {
      const { messages, report } = fitChat(run, { maxTokens: 350, policy: never() });
      expect(messages).toContain(TASK);
      expect(report.tokens.after).toBeLessThanOrEqual(350);
    });

    it('1.5#15 the summary names the task as the objective', () => {
      const long = [SYSTEM, greeting, TASK, ...range(1, 5).map(() => reply(prose(600))), reply('on')];
      const outcome = reduce(long, { maxInputChars: 900, preserveRecentRawTurns: 1 });
      expect(outcome.reductionStage).toBe('summarization');
      expect(contents(outcome.messages).join('\n')).toContain('- Objective: Fix the build.');
    });
  });

  it('1.5#16 masking fires on messages as providers write them, without pair ids', () => {
    const run = [
      { role: 'user', content: 'Fix it.' },
      ...range(1, 4).flatMap((n) => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'bash', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: `c${n}`, content: prose(600) },
      ]),
    ];
    const { messages, report } = fitHistory(run, { policy: slidingWindow({ turns: 1 }) });
    expect(report.maskedCount).toBe(3);
    expect(messages[2]).toEqual({ role: 'tool', tool_call_id: 'c1', content: '[Observation omitted for brevity]' });
  });

  it('1.5#18 no cut splits a surrogate pair, at any offset', () => {
    for (const start of ['', 'x', 'xy'])
      for (const max of range(1, 40)) {
        const text = start + '😀'.repeat(60);
        expect(isWhole(clipText(text, max))).toBe(true);
        const [kept = ''] = results(
          maskObservations(pair('t1', text), new Set(), { maxObservationChars: max }).messages,
        );
        expect([max, isWhole(kept), kept.length <= Math.max(max, 1) || kept === text]).toEqual([max, true, true]);
      }
    const outcome = reduce(
      [SYSTEM, TASK, reply('😀'.repeat(300)), call('t1'), result('t1', '😀'.repeat(500)), reply('on')],
      { maxInputChars: 400, preserveRecentRawTurns: 1, summaryMaxChars: 201 },
    );
    expect(contents(outcome.messages).every(isWhole)).toBe(true);
  });

  it('1.5#19 with polling the request begins with the whole of the last one, except every fifth turn', () => {
    expect(breaks(history(24, 600), { policy: polling({ turns: 3, every: 5 }) })).toEqual([5, 10, 15, 20]);
    expect(breaks(history(12, 600), { policy: slidingWindow({ turns: 3 }) })).toEqual(range(4, 12));
  });

  it('1.5#19 graduated inside fit masks once and then holds, instead of on every turn', () => {
    const run = history(30, 1000);
    const policy = graduated({ maxInputChars: 12_000, preserveRecentRawTurns: 4 });
    const found = breaks(run, { policy });
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(6);
    for (const turn of range(1, 30))
      expect(chars(fitChat(run.slice(0, 2 + 2 * turn), { policy }).messages)).toBeLessThanOrEqual(12_000);
  });

  it('1.5#19 the report tells how much of the cache an epoch costs, and that a waiting turn costs nothing', () => {
    const run = history(10, 600);
    const policy = polling({ turns: 3, every: 5 });
    const at = (turn: number) => fitChat(run.slice(0, 2 + 2 * turn), { policy }).report;
    expect(at(9).cache.rewritten).toBe(0);
    expect(at(10).cache.rewritten).toBeGreaterThan(0);
    expect([at(4).epoch, at(5).epoch, at(9).epoch, at(10).epoch]).toEqual([0, 1, 1, 2]);
  });
});

describe('2.5 duragent', () => {
  it('2.5#1 no re-masking: the size in a placeholder is the size of the original for ever', () => {
    const policy = firstAndLast({ keepFirst: 0, keepLast: 1 });
    let carried: ChatMessage[] = [user('go')];
    for (const turn of range(1, 6)) {
      carried.push(...toolTurn({ id: `c${turn}`, output: prose(4000 * turn) }));
      carried = fitChat(carried, { policy, counter: estimateTokens }).messages;
    }
    expect(results(carried).slice(0, 5)).toEqual(
      range(1, 5).map((turn) => `[result masked — ~${1000 * turn} tokens removed]`),
    );
  });

  it.each(POLICIES)('2.5#2 masking never grows a result, whatever its size: %s', (_, policy) => {
    const run = [user('go'), ...range(1, 60).flatMap((n) => toolTurn({ id: `c${n}`, output: prose(n * 2, 'ok') }))];
    const { messages, report, plan } = fitChat(run, { policy });
    for (const edit of plan.edits)
      if (edit.kind === 'replace') {
        const original = chat.view(run)[edit.segment]?.text ?? '';
        expect(edit.text.length).toBeLessThan(original.length);
        expect(countTokens(edit.text)).toBeLessThan(countTokens(original));
      }
    expect(chars(messages)).toBeLessThanOrEqual(chars(run));
    expect(report.tokens.after).toBeLessThanOrEqual(report.tokens.before);
  });

  it('2.5#3 policies with a trigger leave a small history alone, however many results it holds', () => {
    const run = history(40, 100);
    for (const policy of [clearToolUses(), protectTokens(), graduated({ maxInputTokens: 100_000 })]) {
      const { messages, report } = fitChat(run, { policy });
      expect(messages).toEqual(run);
      expect(report.decision.act).toBe('wait');
      expect(report.decision.because).not.toBe('');
    }
  });

  it('2.5#4 the original of a clipped result can be had back, and the cut shows its handle', () => {
    const original = prose(40_000, 'the only result: ');
    const run = [user('go'), ...toolTurn({ id: 'a', output: original })];
    const { messages, hidden } = fitChat(run, { maxTokens: 1000, recall: true });
    expect(hidden).toMatchObject([{ text: original, why: 'clip', handle: handleOf(original), callId: 'a' }]);
    expect(results(messages)[0]).toMatch(/^the only result: /);
    expect(results(messages)[0]).toContain(handleOf(original));
  });

  it('2.5#6 a newest result larger than the budget is clipped, never dropped with the question before it', () => {
    const run = [
      system('You are helpful.'),
      user('What does the log say?'),
      ...toolTurn({ id: 'a', output: prose(100_000) }),
    ];
    const { messages, report } = fitChat(run, { maxTokens: 500 });
    expect(messages.slice(0, 3)).toEqual(run.slice(0, 3));
    expect(messages).toHaveLength(4);
    expect(report.tokens.after).toBeLessThanOrEqual(500);
  });

  it('2.5#6 a newest question larger than the budget is an error that names it, never an empty history', () => {
    const error = errorOf(() => fitChat([system('You are helpful.'), user(prose(10_000))], { maxTokens: 100 }));
    expect(error?.code).toBe('BUDGET_IMPOSSIBLE');
    expect(error?.message).toMatch(/user messages \d{4}/);
    expect(error?.message).toContain('100');
  });

  it('2.5#7 steering between the results of parallel calls does not split them', () => {
    const steered = (n: number): ChatMessage[] => [
      parallelCalls(`a${n}`, `b${n}`, `c${n}`),
      answer(`a${n}`, prose(500)),
      user(`[steering ${n}] hurry`),
      answer(`b${n}`, prose(500)),
      answer(`c${n}`, prose(500)),
    ];
    const run = [user('go'), ...range(1, 10).flatMap(steered)];
    for (let maxTokens = 500; maxTokens < 4500; maxTokens += 250) {
      const fitted = fitChat(run, { maxTokens, policy: slidingWindow({ turns: 2 }) }).messages;
      const dropped = dropOldestTurns(run, { format: chat, maxTokens }).messages;
      expect(unpaired(fitted)).toEqual([]);
      expect(unpaired(dropped)).toEqual([]);
      for (const n of range(1, 10)) {
        const left = ['a', 'b', 'c'].filter((id) => dropped.some((message) => message.toolCallId === `${id}${n}`));
        expect([0, 3]).toContain(left.length);
      }
    }
  });

  it('2.5#7 results that come turns later keep their call, and an open call in the middle is never dropped', () => {
    const run = [
      user('go'),
      parallelCalls('slow', 'fast'),
      answer('fast', prose(800)),
      ...range(1, 8).flatMap((n) => toolTurn({ id: `c${n}`, output: prose(800) })),
      answer('slow', prose(800)),
      reply('done'),
    ];
    for (let maxTokens = 100; maxTokens < 2500; maxTokens += 100)
      expect(unpaired(dropOldestTurns(run, { format: chat, maxTokens }).messages)).toEqual([]);
    const open = run.filter((message) => message.toolCallId !== 'slow');
    for (let maxTokens = 100; maxTokens < 2500; maxTokens += 100)
      expect(dropOldestTurns(open, { format: chat, maxTokens }).messages).toContain(open[1]);
  });

  it('2.5#8 a drop says how many messages it left out, and the next one adds to the count', () => {
    const run = history(20, 1000);
    const once = dropOldestTurns(run, { format: chat, maxTokens: 3000 });
    const twice = dropOldestTurns(once.messages, { format: chat, maxTokens: 1500 });
    const total = once.droppedCount + twice.droppedCount;
    expect(contents(once.messages)).toContain(`[conversation truncated — ${once.droppedCount} older messages omitted]`);
    expect(contents(twice.messages).filter((text) => text.startsWith('[conversation truncated'))).toEqual([
      `[conversation truncated — ${total} older messages omitted]`,
    ]);
    expect(twice.messages).toHaveLength(run.length - total + 1);
  });

  it('2.5#8 a drop is in the report', () => {
    const { report, messages } = fitChat(history(40, 1000), { maxTokens: 1500, policy: never() });
    expect(report.edits.drop).toBeGreaterThan(0);
    expect(report.edits.insert).toBe(messages.length - (82 - report.edits.drop));
  });

  it('2.5#10 the plain heuristic counts UTF-8 bytes, and the default counter comes near a real tokenizer', () => {
    expect([estimateTokens('漢'.repeat(300)), estimateTokens('😀'.repeat(100))]).toEqual([225, 100]);
    expect(countTokens('漢'.repeat(300))).toBeGreaterThan(225);
  });

  it('2.5#11 what was cut is told by kind, by reason and by size', () => {
    const run = history(8, 1000);
    const { report } = fitChat(run, { policy: slidingWindow({ turns: 3 }) });
    const saved = 5 * (1000 - '[Observation omitted for brevity]'.length);
    expect(report).toMatchObject({
      maskedCount: 5,
      maskedChars: saved,
      edits: { mask: 5, clip: 0, drop: 0, insert: 0 },
    });
    expect(report.byKind.observation.before.chars - report.byKind.observation.after.chars).toBe(saved);
    expect(report.byKind.reasoning.before).toEqual(report.byKind.reasoning.after);
    expect(report.byKind.action.before).toEqual(report.byKind.action.after);
    expect(report.decision).toMatchObject({ act: 'mask' });
  });
});

describe('2.5 duragent, budgets and loop', () => {
  const counter = estimateTokens;
  const render = (messages: readonly ChatMessage[], options: RenderOptions<ChatMessage> = {}): Rendered<ChatMessage> =>
    renderWithBudget(messages, { format: chat, counter, ...options });

  it('2.5#1 masked once, a result says its own size on every later iteration', async () => {
    const context = createMemorySession<ChatMessage>({ counter, policy: firstAndLast({ keepFirst: 0, keepLast: 1 }) });
    const { requests } = await runLoop({ iterations: 6, output: () => prose(4000), context });
    for (const request of requests) {
      const masks = results(request).slice(0, -1);
      expect(masks).toEqual(masks.map(() => '[result masked — ~1000 tokens removed]'));
    }
    expect(results(requests.at(-1) ?? [])).toHaveLength(6);
  });

  it('2.5#3 a cut waits for its budget, and then holds: the prefix changes only where history overflows', () => {
    const run = talk(300);
    let [last, cuts]: [Rendered<ChatMessage> | undefined, number] = [undefined, 0];
    const renders = range(2, 300);
    for (const turns of renders) {
      const rendered: Rendered<ChatMessage> = render(run.slice(0, 2 * turns + 1), {
        maxHistoryTokens: 5000,
        cut: last?.cut,
      });
      if (rendered.report.decision === 'cut') cuts += 1;
      else expect(rendered.messages.slice(0, last?.messages.length ?? 0)).toEqual(last?.messages ?? []);
      last = rendered;
    }
    expect(cuts).toBeLessThan(renders.length / 8);
  });

  it('2.5#4 all that a render omits is answered whole, to be stored', () => {
    const run = [...talk(5), ...toolTurn({ id: 'a', output: prose(60_000, 'the build log: ') }), ...talk(20).slice(1)];
    const { hidden, messages } = render(run, { maxHistoryTokens: 1500 });
    const kept = new Set(messages);
    const texts = hidden.map(({ text }) => text).join('\n');
    for (const message of run) if (!kept.has(message)) expect(texts).toContain(JSON.stringify(message));
  });

  it('2.5#5 a result that came after an approval is cut like any other, and earlier results can still be masked', async () => {
    const policy = firstAndLast({ keepFirst: 0, keepLast: 1 });
    const context = createMemorySession<ChatMessage>({ counter, policy, maxToolResultTokens: 1000 });
    const asked: (readonly ChatMessage[])[] = [];
    const model: Model<ChatMessage> = async ({ messages }) => {
      asked.push(messages);
      const id = `c${asked.length}`;
      if (asked.length === 4) return { messages: [reply('Done.')], calls: [], text: 'Done.' };
      const toolCalls = [{ id, name: asked.length === 3 ? 'guarded' : 'free', arguments: '{}' }];
      const calls = toolCalls.map((made) => ({ ...made, arguments: {} }));
      return { messages: [{ role: 'assistant', content: '', toolCalls }], calls, text: '' };
    };
    const tools = [
      defineTool({ name: 'free', run: () => prose(2000) }),
      defineTool({ name: 'guarded', needsApproval: true, run: () => prose(100_000) }),
    ];
    const waiting = await runAgent({ model, tools, context, task: 'Go.' });
    expect(waiting.status).toBe('awaiting-approval');
    await resumeAgent({ model, tools, context, decisions: { c3: true } });
    const [first, second, third = ''] = results(asked[3] ?? []);
    expect([first, second]).toEqual(range(1, 2).map(() => '[result masked — ~500 tokens removed]'));
    expect(third).toContain('[truncated: kept first ~1000 of ~25000 tokens (head)]');
  });

  it('2.5#6 a newest message larger than the budget is cut, never dropped, and the question before it stays', () => {
    const run = [...talk(4), user('Read this.'), reply('Send it.'), user(prose(100_000, 'Here: '))];
    const { messages } = render(run, { maxHistoryTokens: 1000 });
    expect(messages.at(-1)?.content).toMatch(/^Here: .*\[truncated: kept/s);
    expect(contents(messages)).toContain(run[1]?.content);
  });

  it('2.5#7 steering between parallel results never leaves one without its call, on render and in memory', () => {
    const run = [
      user('go'),
      ...range(1, 20).flatMap((n) => [
        parallelCalls(`a${n}`, `b${n}`),
        answer(`a${n}`, prose(500)),
        user(`[steering] ${n}`),
        answer(`b${n}`, prose(500)),
      ]),
    ];
    for (const n of range(3, 30)) {
      expect(unpaired(render(run, { maxHistoryTokens: 100 * n }).messages)).toEqual([]);
      expect(unpaired(fitChat(run, { policy: never(), maxTokens: 100 * n }).messages)).toEqual([]);
      expect(unpaired(trimMessages(run, { maxMessages: 2 * n, format: chat }).messages)).toEqual([]);
    }
  });

  it('2.5#8 what is left out is announced, and nothing above the budget is ever sent', () => {
    const run = [user('go'), ...range(1, 60).flatMap((n) => toolTurn({ id: `c${n}`, text: prose(200), output: 'ok' }))];
    const { messages, report } = fitChat(run, { policy: never(), maxTokens: 1000 });
    expect(report.edits.drop + (report.reductionStage === 'summarization' ? 1 : 0)).toBeGreaterThan(0);
    expect(
      contents(messages).some((text) => text.startsWith('[conversation truncated') || text.includes('summary')),
    ).toBe(true);
    expect(errorOf(() => fitChat([user(prose(4000)), reply('ok')], { maxTokens: 100 }))?.code).toBe(
      'BUDGET_IMPOSSIBLE',
    );
  });

  it('2.5#10 estimates are corrected by what the provider counted', () => {
    const manager = new ContextManager<ChatMessage>({ contextLimit: 100_000, format: chat, model: 'm' });
    const run = [user('漢字かな混じり文。'.repeat(500))];
    const { tokens } = manager.preflight(run);
    manager.recordUsage({ usage: { prompt_tokens: Math.round(1.7 * tokens), completion_tokens: 4 } });
    expect(manager.preflight(run).tokens).toBeCloseTo(1.7 * tokens, -1);
  });

  it('2.5#11 the report says what was omitted and shortened, and where the tokens went', () => {
    const run = [...talk(40), user(prose(20_000))];
    const { report, omitted: left } = render(run, { maxHistoryTokens: 1000, system: prose(400) });
    expect(report).toMatchObject({ omitted: left, clipped: 1, systemTokens: 108, decision: 'cut' });
    expect(report.historyTokens.before).toBeGreaterThan(report.historyTokens.after);
  });
});

describe('3.6 ouro', () => {
  it('3.6#3 the newest results are never masked, and where nothing is left nothing is said', () => {
    const policy = oldestBatch({ count: 3, window: 4 });
    for (const turns of range(1, 16)) {
      const run = history(turns, 400);
      const { messages } = fitChat(run, { policy });
      expect(changedTurns(run, messages)).toEqual(range(1, Math.max(0, 3 * Math.floor((turns - 4) / 3))));
      expect(messages).toHaveLength(run.length);
    }
  });

  it('3.6#3 an idle history grows by no notice, however often it is fitted', () => {
    const policy = oldestBatch({ count: 3, window: 2 });
    let carried = history(8, 400);
    for (const _ of range(1, 5)) carried = fitChat(carried, { policy }).messages;
    expect(carried).toHaveLength(18);
    expect(carried.filter((message) => message.role === 'system')).toHaveLength(1);
  });

  it.each([
    `["masked", "unmasked"] ${prose(200)}`,
    `[2026-01-01 12:00] packet masked ${prose(200)}`,
    `[observation masked — 1000 chars]\n${prose(200)}`,
    `before [observation masked — 1000 chars] ${prose(200)}`,
    `[${'x'.repeat(400)} 12 chars masked]`,
    `[bash result masked -- 12 bytes of output] and ${prose(200)}`,
  ])('3.6#4 output that only looks masked is output, and is masked: %s', (output) => {
    expect(isPlaceholder(output)).toBe(false);
    const run = [user('go'), ...toolTurn({ id: 'a', output })];
    expect(results(fitChat(run, { policy: slidingWindow({ turns: 0, minTokens: 0 }) }).messages)).toEqual([
      '[Observation omitted for brevity]',
    ]);
  });

  it('3.6#4 every placeholder the product writes is known as one', () => {
    const run = [
      user('go'),
      ...range(1, 3).flatMap((n) =>
        toolTurn({
          id: `c${n}`,
          tool: 'file_read',
          args: '{"path":"a[1].ts"}',
          output: `exit code ${n}\n[error] masked ${prose(900)}`,
        }),
      ),
    ];
    for (const [, policy] of [...POLICIES, ['all', slidingWindow({ turns: 0 })] as const])
      for (const recall of [true, false])
        for (const edit of fitChat(run, { policy, recall, maxTokens: 500 }).plan.edits)
          if (edit.kind === 'replace' && edit.why === 'mask')
            expect([edit.text, isPlaceholder(edit.text)]).toEqual([edit.text, true]);
  });

  it('3.6#5 no placeholder breaks a character, at any width of the first line', () => {
    for (const start of range(0, 4))
      for (const wide of ['é', '漢', '😀', '👩‍👩‍👧']) {
        const line = 'x'.repeat(start) + wide.repeat(80);
        expect(isWhole(describeResult('file_read', `${line}\nsecond`))).toBe(true);
        expect(describeResult('file_read', `${line}\nsecond`)).toMatch(
          /^\[file_read result masked -- 2 lines, starts with: /,
        );
        expect(isWhole(describeResult(line, line))).toBe(true);
        const run = [
          user('go'),
          ...toolTurn({ id: 'a', tool: 'bash', args: `{"command":"${line}"}`, output: `Error: ${line}\n`.repeat(20) }),
        ];
        expect(
          results(fitChat(run, { policy: slidingWindow({ turns: 0 }), recall: true }).messages).every(isWhole),
        ).toBe(true);
        expect(isWhole(truncateResult(line.repeat(20), { maxTokens: 30 + start, strategy: 'both' }))).toBe(true);
      }
  });

  it('3.6#6 the text beside a call is kept with the call', () => {
    const run = deepFreeze(history(8, 600));
    const { messages } = fitChat(run, { policy: slidingWindow({ turns: 1 }) });
    for (const [i, message] of run.entries()) if (message.role === 'assistant') expect(messages[i]).toBe(message);
  });
});

describe('3.6 ouro, thresholds', () => {
  const manager = (options: ConstructorParameters<typeof ContextManager<ChatMessage>>[0] = {}) =>
    new ContextManager<ChatMessage>({ contextLimit: 1000, format: chat, ...options });
  const at = (pct: number, watched = manager()) => {
    watched.recordUsage({ promptTokens: (pct / 100) * watched.contextLimit, completionTokens: 10 });
    return watched.evaluate();
  };

  it('3.6#1 what a mask reclaims is measured, and the notice says it', () => {
    const run = history(20, 4000);
    const watched = manager({ contextLimit: 20_000 });
    watched.setMessages(run);
    watched.recordUsage({ promptTokens: 15_000, completionTokens: 0 });
    const { messages, reclaimedPct, notice } = watched.maskOldest(4);
    const saved = results(run).join('').length - results(messages).join('').length;
    expect(reclaimedPct).toBeGreaterThan((80 * saved) / 6 / 20_000);
    expect(notice).toContain(`~${Math.round(reclaimedPct)}% context reclaimed`);
    expect(watched.usagePct).toBeCloseTo(75 - reclaimedPct, 5);
  });

  it('3.6#2 without usage from the provider masking lowers the estimate, and nothing winds down', () => {
    const watched = manager({ contextLimit: 20_000 });
    let run = history(1, 4000);
    const seen = new Set<string>();
    for (const n of range(2, 80)) {
      run = [...run, ...toolTurn({ id: `c${n}`, output: prose(4000, `${n} `) })];
      watched.setMessages(run);
      const action = watched.evaluate();
      if (action.type === 'mask') run = watched.maskOldest(action.count).messages;
      expect(watched.usagePct).toBeLessThan(90);
      seen.add(action.type);
    }
    expect([...seen].sort()).toEqual(['continue', 'mask']);
  });

  it('3.6#3 the newest turns are never masked, and where nothing is left nothing is said', () => {
    const run = history(8, 4000);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    expect(changedTurns(run, watched.maskOldest(100).messages)).toEqual([1, 2, 3]);
    expect(watched.maskOldest(100).notice).toBeUndefined();
    for (const _ of range(1, 5)) expect(at(80, watched)).toEqual({ type: 'continue', because: 'nothing-to-mask' });
  });

  it('3.6#4 output that only looks masked is output, and is masked', () => {
    const run = [
      user('go'),
      ...toolTurn({ id: 'a', output: `["masked", "and more"] ${prose(400)}` }),
      ...history(6).slice(2),
    ];
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const [first = ''] = results(watched.maskOldest(1).messages);
    expect(isPlaceholder(first)).toBe(true);
  });

  it('3.6#5 no notice, placeholder or carryover halves a character', () => {
    const run = [user('🎉'.repeat(4000)), ...toolTurn({ id: 'a', tool: '👩‍👩‍👧', output: '漢字🎉'.repeat(2000) })];
    for (const maxTokens of range(150, 190))
      expect(contents(extractCarryover(run, { maxTokens, format: chat })).every(isWhole)).toBe(true);
  });

  it('3.6#7 carryover has a budget, holds the task, and carries no notices and no masks', () => {
    const run = [
      ...history(12, 4000),
      system(compressedNotice({ masked: 3, total: 3, reclaimedPct: 4 })),
      ...toolTurn({ id: 'm', output: describeResult('bash', prose(4000)) }),
      ...toolTurn({ id: 'z', output: prose(4000) }),
    ];
    const carried = extractCarryover(run, { turns: 5, maxTokens: 1000, format: chat });
    expect(carried[1]).toEqual(user('Fix the build.'));
    expect(contents(carried).some((text) => isManagerNotice(text) || isPlaceholder(text))).toBe(false);
    expect(unpaired(carried)).toEqual([]);
    expect(countTokens(contents(carried).join('\n'))).toBeLessThanOrEqual(1050);
  });

  it('3.6#7 restarts end: a carryover is always below the soft threshold, and there is a last restart', () => {
    const watched = manager({ contextLimit: 5000, maxRestarts: 3 });
    const types: string[] = [];
    let run = history(1, 8000);
    for (const n of range(2, 200)) {
      run = [...run, ...toolTurn({ id: `c${n}`, text: prose(3000), output: prose(8000) })];
      watched.setMessages(run);
      const action = watched.evaluate();
      types.push(action.type);
      if (action.type === 'mask') run = watched.maskOldest(action.count).messages;
      if (action.type === 'context-full') break;
      if (action.type !== 'restart') continue;
      const { carryover } = watched.restart();
      run = [...carryover];
      expect(watched.usagePct).toBeLessThan(70);
    }
    expect(types.filter((type) => type === 'restart')).toHaveLength(3);
    expect(types.at(-1)).toBe('context-full');
  });

  it('3.6#8 hysteresis: a spike that went away winds down anew, it does not restart at once', () => {
    const watched = manager();
    at(75, watched);
    expect(at(92, watched).type).toBe('wind-down');
    expect(at(60, watched).type).toBe('continue');
    at(75, watched);
    expect(at(92, watched).type).toBe('wind-down');
  });

  it('3.6#8 a jump over the hard threshold masks first', () => {
    const watched = manager({ contextLimit: 20_000, policy: oldestBatch({ window: 4 }) });
    watched.setMessages(history(20, 4000));
    at(50, watched);
    const action = at(97, watched);
    expect(action.type).toBe('mask');
    if (action.type === 'mask') watched.maskOldest(action.count);
    expect(watched.evaluate()).toEqual({ type: 'continue' });
  });

  it('3.6#8 a prompt that is too long is known before it is sent', () => {
    const watched = manager();
    at(20, watched);
    expect(watched.preflight([user(prose(20_000))]).fits).toBe(false);
  });
});

describe('5.1 The Complexity Trap', () => {
  it('5.1 parallel calls are one turn: masked together, and never an error', () => {
    const run = [
      user('go'),
      ...range(1, 5).flatMap((n) => [
        parallelCalls(`a${n}`, `b${n}`),
        answer(`b${n}`, prose(400)),
        answer(`a${n}`, prose(400)),
      ]),
    ];
    for (const policy of [
      slidingWindow({ turns: 2 }),
      polling({ turns: 2, every: 1 }),
      hybrid({ window: 2, summarizeEvery: 9 }),
    ])
      expect(changedTurns(run, fitChat(run, { policy }).messages)).toEqual(range(1, 6));
  });

  it('5.1 masked text is restorable: messages and hidden together give the history back, byte for byte', () => {
    const run = history(12, 900).map((message) =>
      message.role === 'tool' ? { ...message, content: `${message.content} 😀\r\n\u0000\ud800` } : message,
    );
    const { messages, hidden, plan } = fitChat(run, { policy: slidingWindow({ turns: 2 }), recall: true });
    const byHandle = new Map(hidden.map(({ handle, text }) => [handle, text]));
    const restored = messages.map((message) => {
      const handle = /p_[a-z2-7]{26}/.exec(message.content)?.[0];
      return handle && byHandle.has(handle) ? { ...message, content: byHandle.get(handle) } : message;
    });
    expect(plan.edits).toHaveLength(10);
    expect(restored).toEqual(run);
  });

  it('5.1 there is one summary at a time, on the turn that made it and on all that follow', () => {
    const policy = hybrid({ window: 1, summarizeEvery: 2, minTokens: 1_000_000 });
    const run = history(14, 1000);
    const planner = createPlanner<ChatMessage>({ format: chat, policy });
    planner.add(...run.slice(0, 2));
    for (const turn of range(1, 14)) {
      planner.add(...run.slice(2 * turn, 2 * turn + 2));
      const summaries = planner.messages().filter((message) => message.content.startsWith('Conversation summary'));
      expect(summaries).toHaveLength(turn < 3 ? 0 : 1);
      expect(planner.messages()).toEqual(fitChat(run.slice(0, 2 * turn + 2), { policy }).messages);
    }
  });

  it('5.1 a rolling cut never begins with an orphan and never loses the task', () => {
    const run = history(30, 800);
    for (let maxTokens = 300; maxTokens < 6000; maxTokens += 200) {
      const { messages } = fitChat(run, { maxTokens, policy: never() });
      expect(messages.slice(0, 1)).toEqual(run.slice(0, 1));
      expect(messages).toContain(run[1]);
      expect(unpaired(messages)).toEqual([]);
    }
  });

  it('5.1 a window of 0 is allowed here, and a negative or fractional one is refused', () => {
    for (const turns of [-1, 1.5, Number.NaN]) {
      expect(errorOf(() => slidingWindow({ turns }))?.code).toBe('BAD_OPTION');
      expect(errorOf(() => polling({ turns }))?.code).toBe('BAD_OPTION');
    }
    expect(errorOf(() => polling({ every: 0 }))?.code).toBe('BAD_OPTION');
    expect(errorOf(() => slidingWindow({ turns: 0 }))).toBeUndefined();
  });

  it('5.1 the mask of a result that failed still says how it failed', () => {
    const output = `exit code 2\nTypeError: x is not a function\n${prose(600)}`;
    const run = [user('go'), ...toolTurn({ id: 'a', args: '{"command":"npm test"}', output }), reply('hm')];
    const [text] = results(fitChat(run, { policy: polling({ turns: 1, every: 1 }) }).messages);
    expect(text).toBe(`[bash failed, exit 2: "TypeError: x is not a function" — ${output.length} chars masked]`);
  });

  it('5.1 masked keeps the house form: tool, subject, lines and characters', () => {
    const output = `${prose(99)}\n`.repeat(12);
    const run = [
      user('go'),
      ...toolTurn({ id: 'a', tool: 'read_file', args: '{"path":"src/a.ts"}', output }),
      reply('hm'),
    ];
    expect(results(fitChat(run, { policy: polling({ turns: 1, every: 1 }) }).messages)).toEqual([
      '[read_file src/a.ts: 12 lines, 1200 chars masked]',
    ]);
    const tools = [{ name: 'recall' }];
    const options = { policy: slidingWindow({ turns: 1 }), recall: true };
    expect(results(fitChat(run, options).messages)).toEqual([
      `[read_file src/a.ts: 12 lines, 1200 chars masked · ${handleOf(output)}]`,
    ]);
    expect(results(fitChat(run, { ...options, tools }).messages)).toEqual([
      `[read_file src/a.ts: 12 lines, 1200 chars masked · recall ${handleOf(output)}]`,
    ]);
  });
});
