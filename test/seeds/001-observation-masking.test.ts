import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  clipText,
  HistoryReducer,
  type HistoryReducerOptions,
  type HistoryReductionResult,
  maskDispatchObservation,
  maskObservations,
} from '../../src/index.ts';
import {
  call,
  chars,
  contents,
  frozen,
  history,
  masked,
  pair,
  prose,
  range,
  reply,
  result,
  results,
  system,
  toolTurn,
  unpaired,
  user,
} from './support.ts';

const reduce = (messages: readonly ChatMessage[], options: HistoryReducerOptions): HistoryReductionResult =>
  new HistoryReducer().reduce(messages, options);

const SYSTEM = system('You are an orchestrator.');
const TASK = user('Fix the build.');
const ONE = prose(1000, 'one ');
const TWO = prose(1000, 'two ');
const THREE = prose(1000, 'three ');
const FIRST_THOUGHT = reply(prose(800, 'The first file shows that '));
const SECOND_THOUGHT = reply(prose(800, 'The second file shows that '));

/** Five turns: call, thought, call, thought, call. With a window of one turn the first four are old. */
const RUN: readonly ChatMessage[] = frozen([
  SYSTEM,
  TASK,
  ...pair('t1', ONE),
  FIRST_THOUGHT,
  ...pair('t2', TWO),
  SECOND_THOUGHT,
  ...pair('t3', THREE),
]);
const SIZE = chars(RUN);
const SIZE_MASKED = SIZE - 2 * (1000 - masked(ONE).length);
const OLD_MESSAGES = 6;
const window = { preserveRecentRawTurns: 1 };

const block = (id: string): string => `BEGIN_DISPATCH_RESULT\n{"task_id":"${id}"}\nEND_DISPATCH_RESULT`;

describe('Requirement 1: observation-only masking', () => {
  it('1.1 masks results outside the window before dropping any action', () => {
    const { messages, droppedCount } = reduce(RUN, { maxInputChars: SIZE - 1, ...window });
    expect(contents(messages)).toEqual([
      SYSTEM.content,
      TASK.content,
      'call t1',
      masked(ONE),
      FIRST_THOUGHT.content,
      'call t2',
      masked(TWO),
      SECOND_THOUGHT.content,
      'call t3',
      THREE,
    ]);
    expect(droppedCount).toBe(0);
  });

  it('1.1 a history of exactly maxInputChars is left alone, one character more is masked', () => {
    const atBudget = reduce(RUN, { maxInputChars: SIZE, ...window });
    expect(atBudget.messages).toEqual(RUN);
    expect(atBudget).toMatchObject({ reduced: false, maskedCount: 0, maskedChars: 0, droppedCount: 0 });
    expect(atBudget).not.toHaveProperty('reductionStage');
    expect(reduce(RUN, { maxInputChars: SIZE - 1, ...window })).toMatchObject({ reduced: true, maskedCount: 2 });
  });

  it('1.2 replaces the full content by the placeholder with the original length and keeps the envelope', () => {
    const tagged: ChatMessage = { ...result('t1', ONE), name: 'read_file', tags: ['evidence'] };
    const { messages } = reduce([SYSTEM, TASK, call('t1'), tagged, call('t2'), result('t2', TWO)], {
      maxInputChars: 1500,
      ...window,
    });
    expect(messages[3]).toEqual({ ...tagged, content: '[observation masked — 1000 chars]' });
    expect(messages[3]?.content.charCodeAt('[observation masked '.length)).toBe(0x2014);
  });

  it('1.3 keeps every call in full, wherever it stands', () => {
    const long = prose(700, 'edit_file with a long patch: ');
    const run = [SYSTEM, TASK, call('t1', long), result('t1', ONE), call('t2', long), result('t2', TWO), call('t3')];
    const { messages } = reduce(run, { maxInputChars: 1600, preserveRecentRawTurns: 0 });
    expect(messages.filter((message) => message.pairRole === 'call')).toEqual([run[2], run[4], run[6]]);
    expect(messages.map((message, i) => message === run[i])).toEqual([true, true, true, false, true, false, true]);
  });

  it('1.4 keeps every reasoning message in full, wherever it stands', () => {
    const { messages } = reduce(RUN, { maxInputChars: SIZE_MASKED, preserveRecentRawTurns: 0 });
    expect(messages[4]).toBe(FIRST_THOUGHT);
    expect(messages[7]).toBe(SECOND_THOUGHT);
  });

  it('1.5 drops and summarises nothing where masking alone fits, exactly at the boundary too', () => {
    const outcome = reduce(RUN, {
      maxInputChars: SIZE_MASKED,
      ...window,
      summarize: () => expect.fail('a summary was asked for'),
    });
    expect(outcome.messages).toHaveLength(RUN.length);
    expect(outcome).toMatchObject({ droppedCount: 0, reductionStage: 'masking', invariantStatus: 'ok' });
    expect(chars(outcome.messages)).toBe(SIZE_MASKED);
  });
});

describe('Requirement 2: graduated pipeline', () => {
  it('2.1 masks, then summarises, then truncates, each one character below where the stage before fits', () => {
    const stageAt = (maxInputChars: number) => reduce(RUN, { maxInputChars, ...window }).reductionStage;
    const summarised = chars(reduce(RUN, { maxInputChars: SIZE_MASKED - 1, ...window }).messages);
    expect([stageAt(SIZE), stageAt(SIZE - 1), stageAt(SIZE_MASKED)]).toEqual([undefined, 'masking', 'masking']);
    expect([stageAt(SIZE_MASKED - 1), stageAt(summarised)]).toEqual(['summarization', 'summarization']);
    expect(stageAt(summarised - 1)).toBe('fallback');
  });

  it('2.2 skips summarization entirely where masking is sufficient', () => {
    let asked = 0;
    const summarize = (): string => `summary ${++asked}`;
    for (const maxInputChars of range(SIZE_MASKED, SIZE_MASKED + 20))
      expect(reduce(RUN, { maxInputChars, ...window, summarize }).reductionStage).toBe('masking');
    expect(asked).toBe(0);
  });

  it('2.3 summarises the messages that are neither recent nor system where masking is insufficient', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE_MASKED - 1, ...window });
    const [prompt, summary, ...rest] = outcome.messages;
    expect(prompt).toBe(SYSTEM);
    expect(summary?.role).toBe('system');
    expect(summary?.content).toMatch(/^Conversation summary \(contract\):\n/);
    expect(rest).toEqual([TASK, ...pair('t3', THREE)]);
    expect(outcome).toMatchObject({
      droppedCount: OLD_MESSAGES,
      reductionStage: 'summarization',
      invariantStatus: 'ok',
    });
  });

  it('2.4 falls back with invariantStatus fallback where nothing else is enough', () => {
    const outcome = reduce(RUN, { maxInputChars: 300, ...window });
    expect(outcome).toMatchObject({ invariantStatus: 'fallback', reductionStage: 'fallback', withinBudget: true });
    expect(chars(outcome.messages)).toBeLessThanOrEqual(300);
    expect(outcome.messages[0]).toBe(SYSTEM);
    expect(outcome.messages).toContain(TASK);
  });
});

describe('Requirement 3: configuration', () => {
  it('3.1 masks before summarising whether observationMasking is true or unset', () => {
    const options = { maxInputChars: SIZE_MASKED, ...window };
    const unset = reduce(RUN, options);
    expect(unset.reductionStage).toBe('masking');
    expect(reduce(RUN, { ...options, observationMasking: true })).toEqual(unset);
    expect(reduce(RUN, { ...options, enabled: true })).toEqual(unset);
  });

  it('3.2 skips masking and summarises where observationMasking is false', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE - 1, ...window, observationMasking: false });
    expect(outcome).toMatchObject({ reductionStage: 'summarization', maskedCount: 0, maskedChars: 0 });
    expect(contents(outcome.messages).join('\n')).not.toContain('[observation masked');
    expect(outcome.messages.slice(2)).toEqual([TASK, ...pair('t3', THREE)]);
  });

  it('3.3 maxObservationChars keeps the clipped head of the result in place of the placeholder', () => {
    for (const maxObservationChars of [1, 2, 3, 4, 16, 80, 500, 900]) {
      const { messages } = reduce(RUN, { maxInputChars: SIZE - 1, ...window, maxObservationChars });
      expect(results(messages)).toEqual([
        clipText(ONE, maxObservationChars),
        clipText(TWO, maxObservationChars),
        THREE,
      ]);
    }
    expect(clipText(ONE, 16)).toBe('one lorem ips...');
  });

  it('3.3 maxObservationChars of the whole length or more masks nothing', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE - 1, ...window, maxObservationChars: 1000 });
    expect(outcome).toMatchObject({ maskedCount: 0, maskedChars: 0 });
    expect(outcome.reductionStage).not.toBe('masking');
  });

  it('3.4 the placeholder is at most 80 characters, however long the original', () => {
    for (const length of [100, 10_000, 3_000_000]) {
      const [old] = results(
        reduce([TASK, ...pair('t1', prose(length))], { maxInputChars: 60, preserveRecentRawTurns: 0 }).messages,
      );
      expect(old).toBe(`[observation masked — ${length} chars]`);
      expect(old?.length).toBeLessThanOrEqual(80);
    }
  });

  it('3.5 leaves the results of the last preserveRecentRawTurns turns unmasked, for every window', () => {
    const run = history(6);
    for (const turns of range(0, 5)) {
      const outcome = reduce(run, { maxInputChars: chars(run) - 1, preserveRecentRawTurns: turns });
      expect(results(outcome.messages).map((text) => text.startsWith('[observation masked'))).toEqual(
        range(1, 6).map((turn) => turn <= 6 - turns),
      );
      expect(outcome.maskedCount).toBe(6 - turns);
    }
  });

  it('3.5 the window is four turns where it is not given', () => {
    const run = history(6);
    expect(reduce(run, { maxInputChars: chars(run) - 1 }).maskedCount).toBe(2);
  });

  it('3.5 the window counts turns, not messages: parallel results of the last turn are all whole', () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const run: ChatMessage[] = [
      TASK,
      ...toolTurn({ id: 'old', output: ONE }),
      { role: 'assistant', content: '', toolCalls: ids.map((id) => ({ id, name: 'bash', arguments: '{}' })) },
      ...ids.map((id): ChatMessage => ({ role: 'tool', content: prose(300, id), toolCallId: id })),
    ];
    const outcome = reduce(run, { maxInputChars: chars(run) - 1, ...window });
    expect(outcome.maskedCount).toBe(1);
    expect(outcome.messages.slice(3)).toEqual(run.slice(3));
  });
});

describe('Requirement 4: pair invariants', () => {
  it('4.1 the call of a masked result stays present and unmodified', () => {
    const { messages } = reduce(RUN, { maxInputChars: SIZE - 1, ...window });
    for (const id of ['t1', 't2']) {
      const made = RUN.find((message) => message.pairRole === 'call' && message.pairId === id);
      expect(messages.find((message) => message.pairRole === 'call' && message.pairId === id)).toBe(made);
    }
  });

  it('4.2 no budget makes an orphan, neither call nor result', () => {
    for (let maxInputChars = 1; maxInputChars < SIZE; maxInputChars += 7)
      for (const preserveRecentRawTurns of [0, 1, 3])
        expect(unpaired(reduce(RUN, { maxInputChars, preserveRecentRawTurns }).messages)).toEqual([]);
  });

  it('4.3 a violation that came in is not the fault of a stage: masking is kept', () => {
    const withOrphan = [SYSTEM, TASK, result('nobody', prose(40)), ...pair('t1', ONE), ...pair('t2', TWO)];
    const outcome = reduce(withOrphan, { maxInputChars: 1600, ...window });
    expect(outcome).toMatchObject({ reductionStage: 'masking', invariantStatus: 'ok', droppedCount: 0 });
    expect(unpaired(outcome.messages)).toEqual(['nobody']);
  });

  it('4.4 preserves pairId, pairRole, role and toolCallId of the masked message', () => {
    const { messages } = reduce(RUN, { maxInputChars: SIZE - 1, ...window });
    expect(messages[3]).toEqual({
      role: 'tool',
      content: masked(ONE),
      toolCallId: 'tool-t1',
      pairId: 't1',
      pairRole: 'result',
    });
  });
});

describe('Requirement 5: dispatch results', () => {
  const output = `${prose(300, 'stdout: ')}\n${block('2.1')}\n${prose(200, 'bye: ')}`;
  const run = frozen([SYSTEM, TASK, ...pair('t1', output), ...pair('t2', TWO)]);

  it('5.1 recognises a result that holds a complete dispatch block', () => {
    const [first] = results(reduce(run, { maxInputChars: 1500, ...window }).messages);
    expect(first).toMatch(/^\[dispatch output masked — /);
  });

  it('5.2 preserves the structured block between the delimiters, delimiters included', () => {
    const [first] = results(reduce(run, { maxInputChars: 1500, ...window }).messages);
    expect(first?.slice(first.indexOf('\n') + 1)).toBe(block('2.1'));
  });

  it('5.3 replaces all outside the delimiters by one line with its length', () => {
    const [first] = results(reduce(run, { maxInputChars: 1500, ...window }).messages);
    expect(first).toBe(`[dispatch output masked — ${300 + 1 + 1 + 200} chars]\n${block('2.1')}`);
    expect(maskDispatchObservation(output)).toEqual({
      masked: first,
      maskedChars: output.length - (first?.length ?? 0),
    });
  });

  it('5.3 keeps the block under maxObservationChars too', () => {
    const { messages } = reduce(run, { maxInputChars: 1500, ...window, maxObservationChars: 20 });
    expect(results(messages)[0]).toBe(`[dispatch output masked — 502 chars]\n${block('2.1')}`);
  });

  it('5.4 masks a result without delimiters, or with only one of them, in the standard way', () => {
    for (const text of [
      prose(300),
      `${prose(300)}\nBEGIN_DISPATCH_RESULT\n{"task_id":"2.1"}`,
      `{"task_id":"2.1"}\nEND_DISPATCH_RESULT\n${prose(300)}`,
      `END_DISPATCH_RESULT ${prose(300)} BEGIN_DISPATCH_RESULT`,
    ]) {
      expect(maskDispatchObservation(text)).toEqual({
        masked: masked(text),
        maskedChars: text.length - masked(text).length,
      });
      expect(maskDispatchObservation(text, 20).masked).toBe(clipText(text, 20));
    }
  });
});

describe('Requirement 6: telemetry', () => {
  it('6.1 maskedCount says how many observations were masked', () => {
    expect(reduce(RUN, { maxInputChars: SIZE - 1, ...window }).maskedCount).toBe(2);
    expect(reduce(RUN, { maxInputChars: SIZE - 1, preserveRecentRawTurns: 0 }).maskedCount).toBe(3);
  });

  it('6.2 maskedChars says how many characters masking removed', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE - 1, ...window });
    expect(outcome.maskedChars).toBe(2 * (1000 - '[observation masked — 1000 chars]'.length));
    expect(outcome.maskedChars).toBe(SIZE - chars(outcome.messages));
  });

  it('6.3 reductionStage names the stage that was sufficient', () => {
    const stage = (maxInputChars: number) => reduce(RUN, { maxInputChars, ...window }).reductionStage;
    expect([SIZE - 1, SIZE_MASKED - 1, 300].map(stage)).toEqual(['masking', 'summarization', 'fallback']);
  });
});

describe('Non-functional requirements', () => {
  const budgets = range(1, Math.floor(SIZE / 11)).map((step) => step * 11);

  it('no option but maxInputChars is required, and masking is on without being asked for', () => {
    const run = history(6);
    expect(reduce(run, { maxInputChars: chars(run) - 1 }).reductionStage).toBe('masking');
  });

  it('no input is mutated: every stage works on a frozen history, and what is not edited is the same object', () => {
    const before = JSON.stringify(RUN);
    for (const maxInputChars of budgets) {
      const { messages } = reduce(RUN, { maxInputChars, ...window });
      const copies = messages.filter((message) => !RUN.includes(message));
      expect(copies.every((message) => message.role === 'tool' || message.role === 'system')).toBe(true);
    }
    expect(JSON.stringify(RUN)).toBe(before);
  });

  it('masking is one pass: it reads each content equally often, however long the list is, and answers a new list', () => {
    const readsOf = (turns: number): number => {
      let reads = 0;
      const get = (target: ChatMessage, key: string | symbol): unknown => {
        if (key === 'content') reads += 1;
        return Reflect.get(target, key);
      };
      const list = history(turns).map((message) => new Proxy(message, { get }));
      expect(maskObservations(list, new Set()).messages).not.toBe(list);
      return reads;
    };
    const perTurn = readsOf(2) - readsOf(1);
    expect(perTurn).toBeGreaterThan(0);
    expect(readsOf(50) - readsOf(1)).toBe(49 * perTurn);
  });

  it('no budget and no window makes the history larger', () => {
    for (const maxInputChars of budgets)
      for (const preserveRecentRawTurns of [0, 1, 2, 4]) {
        const { messages, maskedChars, beforeTokens, afterTokens } = reduce(RUN, {
          maxInputChars,
          preserveRecentRawTurns,
        });
        expect(chars(messages)).toBeLessThanOrEqual(SIZE);
        expect(afterTokens).toBeLessThanOrEqual(beforeTokens);
        expect(maskedChars).toBeGreaterThanOrEqual(0);
      }
  });

  it('the stages can be tested apart: masking by itself, a summary without masking, truncation without either', () => {
    const alone = maskObservations(RUN, new Set([RUN.length - 1]));
    expect(alone.messages).toEqual(reduce(RUN, { maxInputChars: SIZE - 1, ...window }).messages);
    const summarised = reduce(RUN, { maxInputChars: SIZE - 1, ...window, observationMasking: false });
    expect(summarised).toMatchObject({ maskedCount: 0, reductionStage: 'summarization' });
    const truncated = reduce(RUN, { maxInputChars: 300, preserveRecentRawTurns: 9, observationMasking: false });
    expect(truncated).toMatchObject({ reductionStage: 'fallback', withinBudget: true });
  });
});

describe('HistoryReducer: what the contract adds', () => {
  it('enabled: false leaves any history alone and says so', () => {
    const outcome = reduce(RUN, { enabled: false, maxInputChars: 10 });
    expect(outcome.messages).toEqual(RUN);
    expect(outcome).toMatchObject({
      reduced: false,
      droppedCount: 0,
      maskedCount: 0,
      maskedChars: 0,
      invariantStatus: 'ok',
    });
    expect(outcome).not.toHaveProperty('reductionStage');
    expect(outcome.withinBudget).toBe(false);
    expect(outcome.afterTokens).toBe(outcome.beforeTokens);
  });

  it('maxInputTokens replaces maxInputChars and is met exactly at the boundary', () => {
    const { beforeTokens } = reduce(RUN, { maxInputChars: SIZE });
    const options = { maxInputChars: 1, ...window };
    expect(reduce(RUN, { ...options, maxInputTokens: beforeTokens }).reduced).toBe(false);
    const outcome = reduce(RUN, { ...options, maxInputTokens: beforeTokens - 1 });
    expect(outcome).toMatchObject({ reductionStage: 'masking', withinBudget: true });
    expect(outcome.afterTokens).toBeLessThan(beforeTokens);
  });

  it('withinBudget, droppedCount, beforeTokens and afterTokens agree with the messages at every budget', () => {
    const count = (messages: readonly ChatMessage[]) =>
      reduce(messages, { maxInputChars: 1, enabled: false }).beforeTokens;
    for (let maxInputChars = 1; maxInputChars <= SIZE; maxInputChars += 13) {
      const outcome = reduce(RUN, { maxInputChars, ...window });
      const notes = outcome.messages.filter((message) => message.role === 'system' && message !== SYSTEM);
      expect(outcome.withinBudget).toBe(chars(outcome.messages) <= maxInputChars);
      expect(outcome.droppedCount).toBe(RUN.length - (outcome.messages.length - notes.length));
      expect(outcome.beforeTokens).toBe(count(RUN));
      expect(outcome.afterTokens).toBe(count(outcome.messages));
    }
  });

  it('system prompt, first and newest user message stay messages in every stage', () => {
    const run = [SYSTEM, TASK, ...RUN.slice(2, 8), user('And keep the tests green.'), ...RUN.slice(8)];
    for (let maxInputChars = 1; maxInputChars <= chars(run); maxInputChars += 13) {
      const { messages } = reduce(run, { maxInputChars, ...window });
      expect(messages[0]).toBe(SYSTEM);
      expect(messages).toContain(TASK);
      expect(messages).toContain(run[8]);
    }
  });

  it('the fallback keeps the newest turns whole where they fit', () => {
    const run = [SYSTEM, TASK, ...range(1, 30).flatMap((turn) => pair(`t${turn}`, prose(100, `result ${turn} `)))];
    const budget = 1000;
    const outcome = reduce(run, { maxInputChars: budget, preserveRecentRawTurns: 30 });
    const kept = outcome.messages.filter((message) => message.pairId !== undefined);
    expect(outcome).toMatchObject({ reductionStage: 'fallback', withinBudget: true });
    expect(kept).toEqual(run.slice(-kept.length));
    const nextOlder = run.slice(-kept.length - 2, -kept.length);
    expect(chars(outcome.messages) + chars(nextOlder)).toBeGreaterThan(budget);
    expect(contents(outcome.messages)).toContain(
      `[conversation truncated — ${run.length - 2 - kept.length} older messages omitted]`,
    );
  });

  it('the fallback clips the largest observations where the newest turn alone is too large', () => {
    const small = prose(60, 'small ');
    const run: ChatMessage[] = [
      SYSTEM,
      TASK,
      {
        role: 'assistant',
        content: 'both',
        toolCalls: ['a', 'b'].map((id) => ({ id, name: 'bash', arguments: '{}' })),
      },
      { role: 'tool', content: prose(5000, 'large '), toolCallId: 'a' },
      { role: 'tool', content: small, toolCallId: 'b' },
    ];
    const outcome = reduce(run, { maxInputChars: 500 });
    expect(outcome).toMatchObject({ reductionStage: 'fallback', withinBudget: true, droppedCount: 0 });
    expect(results(outcome.messages)[1]).toBe(small);
    expect(results(outcome.messages)[0]).toMatch(/^large lorem ipsum/);
    expect(chars(outcome.messages)).toBeGreaterThan(400);
  });

  it.each<[string, ChatMessage[], number]>([
    ['a short reply at the end', [...RUN, reply('Done.')], 24 + 14 + 5],
    ['a question at the end', [...RUN, user('What now?')], 24 + 14 + 9],
    ['a call that is still open at the end', [...RUN, call('t4')], 24 + 14 + 7],
    ['a call with a long result at the end', [...RUN], 24 + 14 + 7 + 1],
    ['a question behind a long reply', [...RUN, reply(prose(3000)), user('Why?')], 24 + 14 + 4],
    [
      'calls behind a question behind a long reply',
      [SYSTEM, TASK, reply(prose(3000)), user('Why?'), ...pair('t', 'ok')],
      24 + 14 + 4 + 6 + 2,
    ],
  ])('the fallback is within budget whenever system, task and one message fit: %s', (_, run, least) => {
    for (let maxInputChars = least; maxInputChars < chars(run); maxInputChars += maxInputChars < least + 200 ? 1 : 97) {
      const outcome = reduce(run, { maxInputChars, ...window });
      expect([maxInputChars, chars(outcome.messages) <= maxInputChars]).toEqual([maxInputChars, true]);
      expect(outcome.withinBudget).toBe(true);
      expect(outcome.messages.slice(0, 1)).toEqual([SYSTEM]);
      expect(outcome.messages).toContain(TASK);
    }
  });
});

describe('HistoryReducer: budgets in tokens', () => {
  const tokens = (messages: readonly ChatMessage[]): number =>
    reduce(messages, { enabled: false, maxInputChars: 1 }).beforeTokens;

  it.each<[string, ChatMessage]>([
    ['reply', reply('Done.')],
    ['question', user('What now?')],
    ['open call', call('t4')],
  ])('the fallback is within maxInputTokens whenever system, task and the newest message fit: a %s', (_, last) => {
    const run = [...RUN, last];
    const least = tokens([SYSTEM, TASK, last]);
    for (
      let maxInputTokens = least;
      maxInputTokens < tokens(run);
      maxInputTokens += maxInputTokens < least + 120 ? 1 : 31
    ) {
      const outcome = reduce(run, { maxInputChars: 1, maxInputTokens, ...window });
      expect([maxInputTokens, outcome.withinBudget, outcome.afterTokens <= maxInputTokens]).toEqual([
        maxInputTokens,
        true,
        true,
      ]);
      expect(outcome.messages.at(-1)).toBe(last);
      expect(unpaired(outcome.messages)).toEqual(last.pairRole === 'call' ? ['t4'] : []);
    }
  });
});

describe('HistoryReducer: stages that do not apply', () => {
  it('without observations the first stage is a no-op, and the second summarises', () => {
    const talk = [SYSTEM, TASK, ...range(1, 6).map((n) => reply(prose(400, `thought ${n} `)))];
    const outcome = reduce(talk, { maxInputChars: 1200, ...window });
    expect(outcome).toMatchObject({
      reductionStage: 'summarization',
      maskedCount: 0,
      maskedChars: 0,
      droppedCount: 5,
      withinBudget: true,
    });
  });

  it('a summary that would be larger than what it replaces is skipped', () => {
    const small = [SYSTEM, TASK, ...range(1, 4).flatMap((n) => pair(`t${n}`, prose(120))), ...pair('last', prose(300))];
    const outcome = reduce(small, { maxInputChars: 400, ...window, summarize: () => prose(1300, 'larger ') });
    expect(outcome).toMatchObject({ reductionStage: 'fallback', withinBudget: true });
    expect(contents(outcome.messages).join('\n')).not.toContain('larger ');
  });

  it('all turns inside the window: nothing is masked or summarised, the fallback keeps the budget', () => {
    const outcome = reduce(RUN, { maxInputChars: 1500, preserveRecentRawTurns: 50 });
    expect(outcome).toMatchObject({ reductionStage: 'fallback', maskedCount: 0, withinBudget: true });
  });
});

describe('the summary', () => {
  const failing = (attempt: number): string =>
    `exit code 1\nTypeError: x is not a function (attempt ${attempt})\n${prose(200)}`;
  const run: readonly ChatMessage[] = frozen([
    SYSTEM,
    TASK,
    ...toolTurn({
      id: 'r',
      tool: 'read_file',
      args: '{"path":"src/a.ts"}',
      output: `export const a = 1;\n${prose(900)}`,
    }),
    ...range(1, 3).flatMap((n) => toolTurn({ id: `b${n}`, text: prose(300, `try ${n} `), output: failing(n) })),
    reply(prose(300, 'Do not touch the lock file. '), 'constraint'),
    reply(prose(300, 'The flaky test is still red. '), 'unresolved'),
    ...toolTurn({ id: 'last', output: prose(300, 'latest ') }),
  ]);
  const options = { maxInputChars: 1600, preserveRecentRawTurns: 1 };
  const summaryOf = (more: Partial<HistoryReducerOptions> = {}): string =>
    reduce(run, { ...options, ...more }).messages[1]?.content ?? '';
  const lineOf = (name: string): string =>
    summaryOf()
      .split('\n')
      .find((line) => line.startsWith(`- ${name}: `)) ?? '';

  it('is one system message behind the system prompt, before the task', () => {
    const { messages, reductionStage } = reduce(run, options);
    expect(reductionStage).toBe('summarization');
    expect(messages.map((message) => message.role)).toEqual(['system', 'system', 'user', 'assistant', 'tool']);
    expect(messages[0]).toBe(SYSTEM);
  });

  it('stands first where there is no system prompt, and behind the last of several', () => {
    const without = reduce(run.slice(1), options).messages;
    expect(without.map((message) => message.role)).toContain('system');
    expect(without.filter((message) => message.role === 'system')).toHaveLength(1);
    const two = reduce([SYSTEM, system('Second prompt.'), ...run.slice(1)], {
      ...options,
      maxInputChars: 1620,
    }).messages;
    expect(contents(two).slice(0, 2)).toEqual([SYSTEM.content, 'Second prompt.']);
    expect(two[2]?.content).toMatch(/^Conversation summary/);
  });

  it('names the objective, what is unresolved and the constraints', () => {
    expect(lineOf('Objective')).toBe('- Objective: Fix the build.');
    expect(lineOf('Unresolved tasks')).toMatch(/^- Unresolved tasks: The flaky test is still red\. /);
    expect(lineOf('Current constraints')).toMatch(/^- Current constraints: Do not touch the lock file\. /);
  });

  it('tells tool outcomes from the originals, although the results were masked just before', () => {
    expect(lineOf('Key tool outcomes')).toContain('export const a = 1');
    expect(summaryOf()).not.toContain('masked');
  });

  it('tells a repeated failure once, with its count and the last error', () => {
    expect(lineOf('Key tool outcomes')).toMatch(/TypeError: x is not a function \(attempt 3\) × 3/);
    expect(summaryOf()).not.toContain('attempt 1');
    expect(summaryOf()).not.toContain('attempt 2');
  });

  it('says so where there is nothing to tell', () => {
    const talk = [SYSTEM, reply(prose(900)), reply(prose(900)), reply('ok')];
    const [, summary] = reduce(talk, { maxInputChars: 900, preserveRecentRawTurns: 1 }).messages;
    expect(summary?.content.split('\n').filter((line) => !line.includes('Covers'))).toEqual([
      'Conversation summary (contract):',
      '- Objective: Not specified.',
      '- Unresolved tasks: None captured.',
      '- Key tool outcomes: No tool outcomes captured.',
      '- Current constraints: No constraints captured.',
    ]);
  });

  it('is at most summaryMaxChars long, and 1400 where that is not given', () => {
    for (const summaryMaxChars of [40, 120, 200, 300, 500]) {
      const text = summaryOf({ summaryMaxChars });
      expect(text).toMatch(/^Conversation summary/);
      expect(text.length).toBeLessThanOrEqual(summaryMaxChars);
    }
    const many = range(1, 40).flatMap((n) => [
      ...toolTurn({ id: `m${n}`, tool: `tool_${n}`, output: prose(400, `outcome ${n} `) }),
      reply(prose(200, `constraint ${n} `), 'constraint'),
      reply(prose(200, `open ${n} `), 'unresolved'),
    ]);
    const [, summary] = reduce([SYSTEM, TASK, ...many], { maxInputChars: 3000, preserveRecentRawTurns: 1 }).messages;
    expect(summary?.content).toMatch(/^Conversation summary/);
    expect(summary?.content.length).toBeLessThanOrEqual(1400);
    expect(summary?.content.length).toBeGreaterThan(1000);
  });

  it('is written by the caller where summarize is given, from the unmasked originals', () => {
    const seen: (readonly ChatMessage[])[] = [];
    const summarize = (messages: readonly ChatMessage[]): string => {
      seen.push(messages);
      return 'The agent read a.ts and failed three times.';
    };
    const outcome = reduce(run, { ...options, summarize });
    expect(outcome.messages[1]?.content).toContain('The agent read a.ts and failed three times.');
    expect(seen).toHaveLength(1);
    expect(seen[0]).toEqual(run.slice(2, -2));
    expect(outcome.messages.slice(2)).toEqual([TASK, ...run.slice(-2)]);
  });

  it('is continued by the next reduction: one summary, which still says what the first one said', () => {
    const first = reduce(run, options).messages;
    const grown = [
      ...first,
      ...range(1, 4).flatMap((n) => toolTurn({ id: `n${n}`, text: prose(500, `more ${n} `), output: prose(300) })),
    ];
    const second = reduce(grown, { ...options, maxInputChars: 2400 });
    const summaries = contents(second.messages).filter((text) => text.startsWith('Conversation summary'));
    expect(second.reductionStage).toBe('summarization');
    expect(summaries).toHaveLength(1);
    expect(summaries[0]).toContain('- Objective: Fix the build.');
    expect(summaries[0]).toContain('The flaky test is still red.');
    expect(summaries[0]).toContain('Do not touch the lock file.');
    expect(summaries[0]).toContain('(attempt 3) × 3');
  });

  it('tells a tagged result in the words of the original', () => {
    const tagged: ChatMessage = { ...result('t1', `The migration is half done.\n${prose(900)}`), tags: ['unresolved'] };
    const { messages } = reduce([SYSTEM, TASK, call('t1'), tagged, reply(prose(900)), reply('on')], {
      maxInputChars: 800,
      ...window,
    });
    expect(messages[1]?.content).toMatch(/- Unresolved tasks: The migration is half done\./);
  });

  it('of a caller is held to summaryMaxChars too', () => {
    expect(summaryOf({ summarize: () => prose(5000), summaryMaxChars: 250 }).length).toBeLessThanOrEqual(250);
  });
});
