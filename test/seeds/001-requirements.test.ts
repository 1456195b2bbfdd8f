// The requirements of observation masking, line by line: R1 to R6 by their numbers, then the non-functional ones (NFR).
// Every row goes through `HistoryReducer` or through one of the two functions beside it.
import { describe, expect, it } from 'vitest';
import { type ChatMessage, clipText, maskDispatchObservation, maskObservations, openaiChat } from '../../src/index.ts';
import {
  call,
  chars,
  contents,
  history,
  masked,
  pair,
  prose,
  range,
  result,
  results,
  system,
  toolTurn,
  unpaired,
} from '../support/chat.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import {
  FIRST_THOUGHT,
  ONE,
  RUN,
  reduce,
  SECOND_THOUGHT,
  SIZE,
  SIZE_MASKED,
  SYSTEM,
  TASK,
  THREE,
  TWO,
  window,
} from '../support/reduced-run.ts';

const OLD_MESSAGES = 6;

/** A run as OpenAI's Chat Completions write it: `tool_calls` and `tool_call_id`. */
const openAi = (turns: number): ChatMessage[] =>
  [
    SYSTEM,
    TASK,
    ...range(1, turns).flatMap((n) => [
      {
        role: 'assistant',
        content: `step ${n}`,
        tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'bash', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: `c${n}`, content: prose(1000) },
    ]),
  ] as ChatMessage[];

const block = (id: string): string => `BEGIN_DISPATCH_RESULT\n{"task_id":"${id}"}\nEND_DISPATCH_RESULT`;

describe('R1 observation-only masking', () => {
  it('R1.1 masks results outside the window before dropping any action', () => {
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

  it('R1.1 a history of exactly maxInputChars is left alone, one character more is masked', () => {
    const atBudget = reduce(RUN, { maxInputChars: SIZE, ...window });
    expect(atBudget.messages).toEqual(RUN);
    expect(atBudget).toMatchObject({ reduced: false, maskedCount: 0, maskedChars: 0, droppedCount: 0 });
    expect(atBudget).not.toHaveProperty('reductionStage');
    expect(reduce(RUN, { maxInputChars: SIZE - 1, ...window })).toMatchObject({ reduced: true, maskedCount: 2 });
  });

  it("R1.1 masks results in OpenAI's own messages too", () => {
    const { messages, maskedCount, reductionStage } = reduce(openAi(6), { maxInputChars: 4000, ...window });
    expect({ maskedCount, reductionStage }).toEqual({ maskedCount: 5, reductionStage: 'masking' });
    expect(results(messages).slice(0, 5)).toEqual(range(1, 5).map(() => masked(prose(1000))));
  });

  it('R1.2 replaces the full content by the placeholder with the original length and keeps the envelope', () => {
    const tagged: ChatMessage = { ...result('t1', ONE), name: 'read_file', tags: ['evidence'] };
    const { messages } = reduce([SYSTEM, TASK, call('t1'), tagged, call('t2'), result('t2', TWO)], {
      maxInputChars: 1500,
      ...window,
    });
    expect(messages[3]).toEqual({ ...tagged, content: '[observation masked — 1000 chars]' });
    expect(messages[3]?.content.charCodeAt('[observation masked '.length)).toBe(0x2014);
  });

  it('R1.3 keeps every call in full, wherever it stands', () => {
    const long = prose(700, 'edit_file with a long patch: ');
    const run = [SYSTEM, TASK, call('t1', long), result('t1', ONE), call('t2', long), result('t2', TWO), call('t3')];
    const { messages } = reduce(run, { maxInputChars: 1600, preserveRecentRawTurns: 0 });
    expect(messages.filter((message) => message.pairRole === 'call')).toEqual([run[2], run[4], run[6]]);
    expect(messages.map((message, i) => message === run[i])).toEqual([true, true, true, false, true, false, true]);
  });

  it('R1.4 keeps every reasoning message in full, wherever it stands', () => {
    const { messages } = reduce(RUN, { maxInputChars: SIZE_MASKED, preserveRecentRawTurns: 0 });
    expect(messages[4]).toBe(FIRST_THOUGHT);
    expect(messages[7]).toBe(SECOND_THOUGHT);
  });

  it('R1.5 drops and summarises nothing where masking alone fits, exactly at the boundary too', () => {
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

describe('R2 graduated pipeline', () => {
  it('R2.1 masks, then summarises, then truncates, each one character below where the stage before fits', () => {
    const stageAt = (maxInputChars: number) => reduce(RUN, { maxInputChars, ...window }).reductionStage;
    const summarised = chars(reduce(RUN, { maxInputChars: SIZE_MASKED - 1, ...window }).messages);
    expect([stageAt(SIZE), stageAt(SIZE - 1), stageAt(SIZE_MASKED)]).toEqual([undefined, 'masking', 'masking']);
    expect([stageAt(SIZE_MASKED - 1), stageAt(summarised)]).toEqual(['summarization', 'summarization']);
    expect(stageAt(summarised - 1)).toBe('fallback');
  });

  it('R2.2 skips summarization entirely where masking is sufficient', () => {
    let asked = 0;
    const summarize = (): string => `summary ${++asked}`;
    for (const maxInputChars of range(SIZE_MASKED, SIZE_MASKED + 20))
      expect(reduce(RUN, { maxInputChars, ...window, summarize }).reductionStage).toBe('masking');
    expect(asked).toBe(0);
  });

  it('R2.3 summarises the messages that are neither recent nor system where masking is insufficient', () => {
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

  it('R2.3 the words of a system message in the middle stay: in the history, or as a constraint of the summary', () => {
    const later = system('From now on, write to staging only.');
    const run = [...RUN.slice(0, 6), later, ...RUN.slice(6)];
    const masking = reduce(run, { maxInputChars: chars(run) - 1, ...window });
    expect(masking.reductionStage).toBe('masking');
    expect(masking.messages).toContain(later);
    const summarised = reduce(run, { maxInputChars: SIZE_MASKED - 1, ...window });
    expect(summarised.reductionStage).toBe('summarization');
    expect(contents(summarised.messages)[1]).toMatch(/Current constraints: .*From now on, write to staging only\.$/m);
  });

  it('R2.4 falls back with invariantStatus fallback where nothing else is enough', () => {
    const outcome = reduce(RUN, { maxInputChars: 300, ...window });
    expect(outcome).toMatchObject({ invariantStatus: 'fallback', reductionStage: 'fallback', withinBudget: true });
    expect(chars(outcome.messages)).toBeLessThanOrEqual(300);
    expect(outcome.messages[0]).toBe(SYSTEM);
    expect(outcome.messages).toContain(TASK);
  });
});

describe('R3 configuration', () => {
  it('R3.1 masks before summarising whether observationMasking is true or unset', () => {
    const options = { maxInputChars: SIZE_MASKED, ...window };
    const unset = reduce(RUN, options);
    expect(unset.reductionStage).toBe('masking');
    expect(reduce(RUN, { ...options, observationMasking: true })).toEqual(unset);
    expect(reduce(RUN, { ...options, enabled: true })).toEqual(unset);
  });

  it('R3.2 skips masking and summarises where observationMasking is false', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE - 1, ...window, observationMasking: false });
    expect(outcome).toMatchObject({ reductionStage: 'summarization', maskedCount: 0, maskedChars: 0 });
    expect(contents(outcome.messages).join('\n')).not.toContain('[observation masked');
    expect(outcome.messages.slice(2)).toEqual([TASK, ...pair('t3', THREE)]);
  });

  it('R3.3 maxObservationChars keeps the clipped head of the result in place of the placeholder', () => {
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

  it('R3.3 maxObservationChars of the whole length or more masks nothing', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE - 1, ...window, maxObservationChars: 1000 });
    expect(outcome).toMatchObject({ maskedCount: 0, maskedChars: 0 });
    expect(outcome.reductionStage).not.toBe('masking');
  });

  it('R3.4 the placeholder is at most 80 characters, however long the original', () => {
    for (const length of [100, 10_000, 3_000_000]) {
      const [old] = results(
        reduce([TASK, ...pair('t1', prose(length))], { maxInputChars: 60, preserveRecentRawTurns: 0 }).messages,
      );
      expect(old).toBe(`[observation masked — ${length} chars]`);
      expect(old?.length).toBeLessThanOrEqual(80);
    }
  });

  it('R3.5 leaves the results of the last preserveRecentRawTurns turns unmasked, for every window', () => {
    const run = history(6);
    for (const turns of range(0, 5)) {
      const outcome = reduce(run, { maxInputChars: chars(run) - 1, preserveRecentRawTurns: turns });
      expect(results(outcome.messages).map((text) => text.startsWith('[observation masked'))).toEqual(
        range(1, 6).map((turn) => turn <= 6 - turns),
      );
      expect(outcome.maskedCount).toBe(6 - turns);
    }
  });

  it('R3.5 the window is four turns where it is not given', () => {
    const run = history(6);
    expect(reduce(run, { maxInputChars: chars(run) - 1 }).maskedCount).toBe(2);
  });

  it('R3.5 the window counts turns, not messages: parallel results of the last turn are all whole', () => {
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

  it('R3.5 parallel calls that are written as one message each are one turn', () => {
    const parallel = (...ids: string[]): ChatMessage[] => [
      ...ids.map((id) => call(id)),
      ...ids.map((id) => result(id, prose(300, id))),
    ];
    const run = [TASK, ...pair('old', ONE), ...parallel('a', 'b', 'c'), ...parallel('d', 'e', 'f')];
    const outcome = reduce(run, { maxInputChars: chars(run) - 1, preserveRecentRawTurns: 2 });
    expect(outcome.maskedCount).toBe(1);
    expect(outcome.messages.slice(3)).toEqual(run.slice(3));
  });
});

describe('R4 pair invariants', () => {
  it('R4.1 the call of a masked result stays present and unmodified', () => {
    const { messages } = reduce(RUN, { maxInputChars: SIZE - 1, ...window });
    for (const id of ['t1', 't2']) {
      const made = RUN.find((message) => message.pairRole === 'call' && message.pairId === id);
      expect(messages.find((message) => message.pairRole === 'call' && message.pairId === id)).toBe(made);
    }
  });

  it('R4.2 no budget makes an orphan, neither call nor result', () => {
    for (let maxInputChars = 1; maxInputChars < SIZE; maxInputChars += 7)
      for (const preserveRecentRawTurns of [0, 1, 3])
        expect(unpaired(reduce(RUN, { maxInputChars, preserveRecentRawTurns }).messages)).toEqual([]);
  });

  it("R4.2 no budget leaves a result of OpenAI's own messages without its call", () => {
    for (let maxInputChars = 60; maxInputChars < 6000; maxInputChars += 60)
      expect(openaiChat.check(reduce(openAi(6), { maxInputChars, ...window }).messages as never[])).toEqual([]);
  });

  it('R4.3 a violation that came in is not the fault of a stage: masking is kept', () => {
    const withOrphan = [SYSTEM, TASK, result('nobody', prose(40)), ...pair('t1', ONE), ...pair('t2', TWO)];
    const outcome = reduce(withOrphan, { maxInputChars: 1600, ...window });
    expect(outcome).toMatchObject({ reductionStage: 'masking', invariantStatus: 'ok', droppedCount: 0 });
    expect(unpaired(outcome.messages)).toEqual(['nobody']);
  });

  it('R4.4 preserves pairId, pairRole, role and toolCallId of the masked message', () => {
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

describe('R5 dispatch results', () => {
  const output = `${prose(300, 'stdout: ')}\n${block('2.1')}\n${prose(200, 'bye: ')}`;
  const run = deepFreeze([SYSTEM, TASK, ...pair('t1', output), ...pair('t2', TWO)]);

  it('R5.1 recognises a result that holds a complete dispatch block', () => {
    const [first] = results(reduce(run, { maxInputChars: 1500, ...window }).messages);
    expect(first).toMatch(/^\[dispatch output masked — /);
  });

  it('R5.2 preserves the structured block between the delimiters, delimiters included', () => {
    const [first] = results(reduce(run, { maxInputChars: 1500, ...window }).messages);
    expect(first?.slice(first.indexOf('\n') + 1)).toBe(block('2.1'));
  });

  it('R5.3 replaces all outside the delimiters by one line with its length', () => {
    const [first] = results(reduce(run, { maxInputChars: 1500, ...window }).messages);
    expect(first).toBe(`[dispatch output masked — ${300 + 1 + 1 + 200} chars]\n${block('2.1')}`);
    expect(maskDispatchObservation(output)).toEqual({
      masked: first,
      maskedChars: output.length - (first?.length ?? 0),
    });
  });

  it('R5.3 keeps the block under maxObservationChars too', () => {
    const { messages } = reduce(run, { maxInputChars: 1500, ...window, maxObservationChars: 20 });
    expect(results(messages)[0]).toBe(`[dispatch output masked — 502 chars]\n${block('2.1')}`);
  });

  it('R5.4 masks a result without delimiters, or with only one of them, in the standard way', () => {
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

describe('R6 telemetry', () => {
  it('R6.1 maskedCount says how many observations were masked', () => {
    expect(reduce(RUN, { maxInputChars: SIZE - 1, ...window }).maskedCount).toBe(2);
    expect(reduce(RUN, { maxInputChars: SIZE - 1, preserveRecentRawTurns: 0 }).maskedCount).toBe(3);
  });

  it('R6.2 maskedChars says how many characters masking removed', () => {
    const outcome = reduce(RUN, { maxInputChars: SIZE - 1, ...window });
    expect(outcome.maskedChars).toBe(2 * (1000 - '[observation masked — 1000 chars]'.length));
    expect(outcome.maskedChars).toBe(SIZE - chars(outcome.messages));
  });

  it('R6.3 reductionStage names the stage that was sufficient', () => {
    const stage = (maxInputChars: number) => reduce(RUN, { maxInputChars, ...window }).reductionStage;
    expect([SIZE - 1, SIZE_MASKED - 1, 300].map(stage)).toEqual(['masking', 'summarization', 'fallback']);
  });
});

describe('NFR non-functional requirements', () => {
  const budgets = range(1, Math.floor(SIZE / 11)).map((step) => step * 11);

  it('NFR Architecture 1, single responsibility: masking is a stage of its own, without summary or drop', () => {
    const alone = maskObservations(RUN, new Set());
    expect(alone.messages).toHaveLength(RUN.length);
    expect(contents(alone.messages).filter((text) => text.startsWith('Conversation summary'))).toEqual([]);
    expect(alone).toMatchObject({ maskedCount: 3, maskedChars: SIZE - chars(alone.messages) });
  });

  it('NFR Architecture 2, backward compatibility: no option but maxInputChars is required, and masking is on unless it is turned off', () => {
    const run = history(6);
    expect(reduce(run, { maxInputChars: chars(run) - 1 }).reductionStage).toBe('masking');
  });

  it('NFR Architecture 3, pure functions: no stage changes its input, and what is not edited is the same object', () => {
    const before = JSON.stringify(RUN);
    for (const maxInputChars of budgets) {
      const { messages } = reduce(RUN, { maxInputChars, ...window });
      const copies = messages.filter((message) => !RUN.includes(message));
      expect(copies.every((message) => message.role === 'tool' || message.role === 'system')).toBe(true);
    }
    expect(JSON.stringify(RUN)).toBe(before);
  });

  it('NFR Performance 1: masking is one pass, which reads each content equally often, however long the list is', () => {
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

  it('NFR Performance 2: masking asks no model: it is done when reduce returns, and summarize is not called', () => {
    const outcome = reduce(RUN, {
      maxInputChars: SIZE_MASKED,
      ...window,
      summarize: () => expect.fail('a summary was asked for'),
    });
    expect(outcome).not.toBeInstanceOf(Promise);
    expect(outcome.maskedCount).toBe(2);
  });

  it('NFR Performance 3: with masking before it, a summary is needed at less than half of the budgets', () => {
    const summaries = (observationMasking: boolean): number =>
      budgets.filter((maxInputChars) => {
        const { reductionStage } = reduce(RUN, { maxInputChars, ...window, observationMasking });
        return reductionStage === 'summarization';
      }).length;
    expect(summaries(true)).toBeLessThan(summaries(false) / 2);
  });

  it('NFR Reliability 1: pairs are whole after every stage, not only after masking', () => {
    const stages = new Map<string, string[]>();
    for (const maxInputChars of budgets) {
      const { messages, reductionStage = 'none' } = reduce(RUN, { maxInputChars, ...window });
      stages.set(reductionStage, [...(stages.get(reductionStage) ?? []), ...unpaired(messages)]);
    }
    expect(Object.fromEntries(stages)).toEqual({ masking: [], summarization: [], fallback: [] });
  });

  it('NFR Reliability 2: where the newest call is still open, masking is no violation and nothing falls back', () => {
    const run = [...RUN, call('t4')];
    const outcome = reduce(run, { maxInputChars: SIZE, preserveRecentRawTurns: 1 });
    expect(outcome).toMatchObject({ reductionStage: 'masking', invariantStatus: 'ok', droppedCount: 0 });
    expect(outcome.messages.at(-1)).toBe(run.at(-1));
  });

  it('NFR Reliability 3: no budget and no window makes the history larger', () => {
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

  it('NFR Testability 1: each stage can be tested apart: masking by itself, a summary without masking, truncation without either', () => {
    const alone = maskObservations(RUN, new Set([RUN.length - 1]));
    expect(alone.messages).toEqual(reduce(RUN, { maxInputChars: SIZE - 1, ...window }).messages);
    const summarised = reduce(RUN, { maxInputChars: SIZE - 1, ...window, observationMasking: false });
    expect(summarised).toMatchObject({ maskedCount: 0, reductionStage: 'summarization' });
    const truncated = reduce(RUN, { maxInputChars: 300, preserveRecentRawTurns: 9, observationMasking: false });
    expect(truncated).toMatchObject({ reductionStage: 'fallback', withinBudget: true });
  });

  it('NFR Testability 2: dispatch results are found in any text, without a history', () => {
    expect(maskDispatchObservation(`${prose(90)}\n${block('a')}`).masked).toMatch(
      /^\[dispatch output masked — 91 chars\]/,
    );
    expect(maskDispatchObservation(prose(90)).masked).toBe(masked(prose(90)));
  });
});
