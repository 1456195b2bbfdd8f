// The design of observation masking, heading by heading: architecture, components 1 to 3, data models, error scenarios 1 to
// 3, testing strategy. A row that is also a requirement is in 001-requirements.test.ts, by the number of that requirement.
import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  fit,
  graduated,
  HistoryReducer,
  type HistoryReducerOptions,
  maskDispatchObservation,
  maskObservations,
} from '../../src/index.ts';
import {
  call,
  chars,
  codeOf,
  contents,
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
} from '../support/chat.ts';
import { deepFreeze } from '../support/deep-freeze.ts';
import {
  FIRST_THOUGHT,
  ONE,
  RUN,
  reduce,
  SIZE,
  SIZE_MASKED,
  SYSTEM,
  TASK,
  THREE,
  TWO,
  window,
} from '../support/reduced-run.ts';

const BLOCK = 'BEGIN_DISPATCH_RESULT\n{"task_id":"2.1"}\nEND_DISPATCH_RESULT';

describe('000 Overview', () => {
  it('000 Overview: decisions, plans and constraints stay word for word while old tool output goes', () => {
    const { messages } = reduce(RUN, { maxInputChars: SIZE - 1, preserveRecentRawTurns: 0 });
    const spoken = (list: readonly ChatMessage[]) => list.filter((message) => message.role !== 'tool');
    expect(spoken(messages)).toEqual(spoken(RUN));
    expect(results(messages)).toEqual([masked(ONE), masked(TWO), masked(THREE)]);
  });
});

describe('000 Steering document alignment', () => {
  it('000 Technical standards: one reducer keeps no state from one history to the next', () => {
    const reducer = new HistoryReducer();
    const options = { maxInputChars: SIZE - 1, ...window };
    const first = reducer.reduce(RUN, options);
    reducer.reduce(history(20), { maxInputChars: 3000 });
    expect(reducer.reduce(RUN, options)).toEqual(first);
  });

  it('000 Integration points: any consumer of fit gets the same reduction as the policy graduated', () => {
    const { messages, report } = fit(RUN, { format: chat, policy: graduated({ maxInputChars: SIZE - 1, ...window }) });
    expect(messages).toEqual(reduce(RUN, { maxInputChars: SIZE - 1, ...window }).messages);
    expect(report).toMatchObject({ maskedCount: 2, reductionStage: 'masking' });
  });
});

describe('000 Architecture', () => {
  it('000 Graduated reduction pipeline: each arrow of the flow chart, with the stage that it returns', () => {
    const outcome = (maxInputChars: number) => {
      const { reduced, reductionStage, invariantStatus } = reduce(RUN, { maxInputChars, ...window });
      return { reduced, reductionStage, invariantStatus };
    };
    expect(outcome(SIZE)).toEqual({ reduced: false, reductionStage: undefined, invariantStatus: 'ok' });
    expect(outcome(SIZE_MASKED)).toEqual({ reduced: true, reductionStage: 'masking', invariantStatus: 'ok' });
    expect(outcome(SIZE_MASKED - 1)).toEqual({ reduced: true, reductionStage: 'summarization', invariantStatus: 'ok' });
    expect(outcome(300)).toEqual({ reduced: true, reductionStage: 'fallback', invariantStatus: 'fallback' });
  });

  it('000 Observation masking detail: the figure, message by message', () => {
    const run = [
      TASK,
      call('y', 'call tool Y'),
      result('y', prose(4200)),
      reply('the file shows...'),
      call('x', 'call tool X'),
      result('x', prose(4200)),
      reply('based on result...'),
    ];
    const { messages } = reduce(run, { maxInputChars: 8000, preserveRecentRawTurns: 2 });
    expect(messages[2]?.content).toBe('[observation masked — 4200 chars]');
    expect(messages.filter((message, i) => message !== run[i])).toEqual([messages[2]]);
  });

  it('000 Key principle: assistant and user messages are never masked, even where they say they are results', () => {
    const run: ChatMessage[] = [
      TASK,
      call('a'),
      { ...user(prose(900)), pairId: 'a', pairRole: 'result' },
      call('b'),
      { ...reply(prose(900)), pairId: 'b', pairRole: 'result' },
      reply('on'),
    ];
    expect(maskObservations(run, new Set())).toEqual({ messages: run, maskedCount: 0, maskedChars: 0 });
  });
});

describe('000 Component 1: observation masker', () => {
  const run = deepFreeze([
    SYSTEM,
    TASK,
    ...pair('t1', ONE),
    ...pair('t2', `${prose(300)}\n${BLOCK}`),
    FIRST_THOUGHT,
    ...pair('t3', TWO),
  ]);
  const kept = new Set([run.length - 1]);

  it('000 Component 1: a result that is not in keepIndices becomes a placeholder and keeps its metadata', () => {
    const { messages } = maskObservations(run, kept);
    expect(messages[3]).toEqual({ ...run[3], content: masked(ONE) });
    expect(messages.at(-1)).toBe(run.at(-1));
  });

  it('000 Component 1: a dispatch result keeps its block', () => {
    expect(maskObservations(run, kept).messages[5]?.content).toBe(`[dispatch output masked — 301 chars]\n${BLOCK}`);
  });

  it('000 Component 1: all other messages are left unchanged', () => {
    const { messages } = maskObservations(run, kept);
    expect(messages.flatMap((message, i) => (message === run[i] ? [] : [i]))).toEqual([3, 5]);
  });

  it('000 Component 1: it answers a new list and counts what it masked', () => {
    const { messages, maskedCount, maskedChars } = maskObservations(run, kept);
    expect(messages).not.toBe(run);
    expect({ maskedCount, maskedChars }).toEqual({ maskedCount: 2, maskedChars: chars(run) - chars(messages) });
  });

  it('000 Component 1: maxObservationChars keeps the head of the result in that length', () => {
    const { messages } = maskObservations(run, kept, { maxObservationChars: 16 });
    expect(messages[3]?.content).toBe('one lorem ips...');
  });
});

describe('000 Component 2: dispatch result detector', () => {
  it('000 Component 2: it keeps the block between the delimiters and replaces everything outside', () => {
    const content = `${prose(100)}\n${BLOCK}\n${prose(50)}`;
    const expected = `[dispatch output masked — 152 chars]\n${BLOCK}`;
    expect(maskDispatchObservation(content)).toEqual({
      masked: expected,
      maskedChars: content.length - expected.length,
    });
  });

  it('000 Component 2: without delimiters it masks in the standard way, or keeps the head where maxChars is given', () => {
    expect(maskDispatchObservation(ONE).masked).toBe(masked(ONE));
    expect(maskDispatchObservation(ONE, 16).masked).toBe('one lorem ips...');
  });
});

describe('000 Component 3: HistoryReducer.reduce', () => {
  it('000 Component 3, step 1: returns the same messages where it is disabled or within budget', () => {
    expect(reduce(RUN, { maxInputChars: 10, enabled: false }).messages).toEqual(RUN);
    expect(reduce(RUN, { maxInputChars: SIZE }).messages).toEqual(RUN);
  });

  it('000 Component 3, step 2: the window and every system message are kept', () => {
    const run = [SYSTEM, system('Second prompt.'), ...RUN.slice(1)];
    const { messages } = reduce(run, { maxInputChars: SIZE_MASKED - 1, ...window });
    expect(messages.slice(0, 2)).toEqual(run.slice(0, 2));
    expect(messages.slice(-2)).toEqual(run.slice(-2));
  });

  it('000 Component 3, step 3: masking returns where its result fits', () => {
    const { messages, droppedCount } = reduce(RUN, { maxInputChars: SIZE_MASKED, ...window });
    expect({ length: messages.length, droppedCount }).toEqual({ length: RUN.length, droppedCount: 0 });
  });

  it('000 Component 3, step 4: one summary takes the place of what is neither kept nor system', () => {
    const { messages, droppedCount } = reduce(RUN, { maxInputChars: SIZE_MASKED - 1, ...window });
    expect(messages.map((message) => RUN.indexOf(message))).toEqual([0, -1, 1, 8, 9]);
    expect(droppedCount).toBe(6);
  });

  it('000 Component 3, step 5: truncation comes last and keeps the budget', () => {
    const { messages, reductionStage } = reduce(RUN, { maxInputChars: 300, ...window });
    expect(reductionStage).toBe('fallback');
    expect(chars(messages)).toBeLessThanOrEqual(300);
  });

  it('000 Component 3, step 6: no call and no result is alone after any stage', () => {
    for (const maxInputChars of [SIZE - 1, SIZE_MASKED, SIZE_MASKED - 1, 900, 300, 60])
      expect(unpaired(reduce(RUN, { maxInputChars, ...window }).messages)).toEqual([]);
  });
});

describe('000 Data models', () => {
  it('000 HistoryReducerOptions: the defaults are 4 turns, 1400 characters of summary, and masking', () => {
    const run = history(9, 600);
    for (const maxInputChars of [chars(run) - 1, 2500, 900])
      expect(reduce(run, { maxInputChars })).toEqual(
        reduce(run, {
          maxInputChars,
          enabled: true,
          preserveRecentRawTurns: 4,
          summaryMaxChars: 1400,
          observationMasking: true,
        }),
      );
  });

  it('000 HistoryReductionResult: every field of the document is there', () => {
    expect(reduce(RUN, { maxInputChars: SIZE - 1, ...window })).toMatchObject({
      messages: expect.any(Array),
      reduced: true,
      droppedCount: 0,
      invariantStatus: 'ok',
      maskedCount: 2,
      maskedChars: SIZE - SIZE_MASKED,
      reductionStage: 'masking',
    });
  });

  it('000 Masking placeholder format: both forms, to the letter', () => {
    const run = [TASK, ...pair('t1', ONE), ...pair('t2', `${prose(300)}\n${BLOCK}`), reply('on')];
    expect(results(reduce(run, { maxInputChars: 500, ...window }).messages)).toEqual([
      '[observation masked — 1000 chars]',
      '[dispatch output masked — 301 chars]\nBEGIN_DISPATCH_RESULT\n{"task_id":"2.1"}\nEND_DISPATCH_RESULT',
    ]);
  });
});

describe('000 Error handling', () => {
  it('000 Error 1: a pair that was broken before costs no other stage and is not made worse', () => {
    const run = [SYSTEM, TASK, result('lost', prose(40)), ...RUN.slice(2)];
    for (const maxInputChars of [SIZE, SIZE_MASKED - 1, 300]) {
      const { messages } = reduce(run, { maxInputChars, ...window });
      expect(unpaired(messages).filter((id) => id !== 'lost')).toEqual([]);
    }
    expect(reduce(run, { maxInputChars: SIZE, ...window }).reductionStage).toBe('masking');
  });

  it('000 Error 2: masking never makes a result larger: what is shorter than its placeholder stays', () => {
    for (const length of range(0, 120)) {
      const text = prose(length);
      const run = [TASK, ...pair('t1', text), reply('on')];
      const { messages, maskedChars } = maskObservations(run, new Set());
      expect(maskedChars).toBe(chars(run) - chars(messages));
      expect(maskedChars).toBeGreaterThanOrEqual(0);
      if (length <= masked(text).length) expect(messages[2]?.content).toBe(text);
      if (length >= 80) expect(messages[2]?.content).toBe(masked(text));
    }
  });

  it('000 Error 3: where all results are inside the window, masking does nothing and the next stage goes on', () => {
    const run = [SYSTEM, TASK, ...range(1, 6).map((n) => reply(prose(400, `thought ${n} `))), ...pair('t', prose(300))];
    const outcome = reduce(run, { maxInputChars: 1400, ...window });
    expect(outcome).toMatchObject({ maskedCount: 0, maskedChars: 0, reductionStage: 'summarization' });
    expect(outcome.messages.at(-1)).toBe(run.at(-1));
  });
});

describe('000 Testing strategy', () => {
  /** Forty turns of an agent that reads, thinks and edits; tool output is most of it, as in real runs. */
  const realistic = [
    SYSTEM,
    TASK,
    ...range(1, 40).flatMap((n) =>
      toolTurn({
        id: `c${n}`,
        tool: n % 3 === 0 ? 'edit_file' : 'read_file',
        args: `{"path":"src/part-${n}.ts"}`,
        text: prose(180, `Step ${n}: `),
        output: prose(n % 3 === 0 ? 60 : 1600, `output ${n}: `),
      }),
    ),
  ];

  it('000 Unit, backward compatibility: observationMasking: false never masks, at any budget', () => {
    for (let maxInputChars = 200; maxInputChars < SIZE; maxInputChars += 97) {
      const outcome = reduce(RUN, { maxInputChars, ...window, observationMasking: false });
      expect(outcome.reductionStage).not.toBe('masking');
      if (outcome.reductionStage === 'summarization') expect(outcome.maskedCount).toBe(0);
    }
  });

  it('000 Integration, end to end: masking alone takes more than half of a realistic conversation', () => {
    const size = chars(realistic);
    const outcome = reduce(realistic, { maxInputChars: Math.floor(size / 2) });
    expect(outcome).toMatchObject({ reductionStage: 'masking', droppedCount: 0, withinBudget: true });
    expect(chars(outcome.messages)).toBeLessThan(size / 2);
  });

  it('000 Integration, budget edge: masking is just enough, one character less is not', () => {
    const enough = chars(reduce(realistic, { maxInputChars: chars(realistic) - 1 }).messages);
    expect(reduce(realistic, { maxInputChars: enough }).reductionStage).toBe('masking');
    expect(reduce(realistic, { maxInputChars: enough - 1 }).reductionStage).toBe('summarization');
  });
});

describe('000 Component 3: what a caller may rely on', () => {
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

describe('000 Component 3: budgets in tokens', () => {
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

describe('000 Component 3: stages that do not apply', () => {
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

describe('000 buildSummary: the summary', () => {
  const failing = (attempt: number): string =>
    `exit code 1\nTypeError: x is not a function (attempt ${attempt})\n${prose(200)}`;
  const run: readonly ChatMessage[] = deepFreeze([
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

  it('tells the outcome of a call in the seed format, however much the agent said beside the call', () => {
    const said = prose(400, 'I will read the file now, because ');
    const old = range(1, 3).flatMap((n) => [
      call(`t${n}`, said),
      result(`t${n}`, `outcome ${n} is green\n${prose(900)}`),
    ]);
    const { messages, reductionStage } = reduce([SYSTEM, TASK, ...old, ...pair('last', prose(100))], {
      maxInputChars: 1100,
      ...window,
    });
    expect(reductionStage).toBe('summarization');
    const outcomes = messages[1]?.content.split('\n').find((line) => line.startsWith('- Key tool outcomes: '));
    for (const n of range(1, 3)) expect(outcomes).toContain(`outcome ${n} is green`);
    expect(outcomes).not.toContain('I will read the file');
  });

  it('refuses a summarize that answers a promise, since reduce cannot wait', () => {
    const summarize = (async () => 'later') as unknown as () => string;
    expect(codeOf(() => reduce(run, { ...options, summarize }))).toBe('BAD_OPTION');
  });

  it.each<[string, () => string]>([
    ['undefined', () => undefined as unknown as string],
    ['an empty text', () => ''],
    [
      'an exception',
      () => {
        throw new Error('the model is down');
      },
    ],
  ])('is the deterministic one where summarize answers %s', (_, summarize) => {
    expect(summaryOf({ summarize })).toBe(summaryOf());
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
