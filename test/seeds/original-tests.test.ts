import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  clipText,
  defaultContextWindow,
  describeResult,
  dropOldestTurns,
  estimateTokens,
  firstAndLast,
  fit as fitHistory,
  type HistoryReducerOptions,
  type HistoryReductionResult,
  hybrid,
  isPlaceholder,
  maskDispatchObservation,
  maskObservations,
  never,
  oldestBatch,
  polling,
  slidingWindow,
  sweAgent,
  truncateResult,
} from '../../src/index.ts';
import { type Rendered, type RenderOptions, renderWithBudget } from '../../src/manager/index.ts';
import { runLoop } from '../support/agent-loop.ts';
import {
  answer,
  call,
  changedTurns,
  chars,
  codeOf,
  contents,
  history,
  masked,
  omitted,
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

const nextAction = (messages: readonly ChatMessage[]): string | undefined =>
  /NEXT_ACTION=([a-z_]+)/.exec(contents(messages.filter((message) => message.role === 'assistant')).at(-1) ?? '')?.[1];

describe('spec-context-mcp: HistoryReducer', () => {
  it('HistoryReducer: keeps call/result pairs when reducing', () => {
    const run = [
      system('system rules'),
      user('old question'),
      reply(prose(400)),
      call('t1'),
      result('t1', 'tool output'),
      user('latest question'),
    ];
    const { messages, withinBudget } = reduce(run, { enabled: true, maxInputChars: 140, preserveRecentRawTurns: 2 });
    expect(messages.filter((message) => message.pairId === 't1')).toEqual([run[3], run[4]]);
    expect(withinBudget).toBe(true);
  });

  it('HistoryReducer: keeps call/result pairs when reducing, also where the task alone exceeds the budget', () => {
    const run = [
      system('system rules'),
      user(`old question ${prose(400)}`),
      call('t1'),
      result('t1', 'tool output'),
      user('latest question'),
    ];
    const { messages, withinBudget } = reduce(run, { maxInputChars: 140, preserveRecentRawTurns: 2 });
    expect(withinBudget).toBe(false);
    expect(unpaired(messages)).toEqual([]);
    for (const kept of [0, 1, 4]) expect(messages).toContain(run[kept]);
  });

  it('HistoryReducer: includes tagged unresolved and constraint messages in summary', () => {
    const run = [
      system('system rules'),
      user('old question'),
      reply(prose(900)),
      user('Fix the login bug', 'unresolved'),
      user('Max response time must be under 200ms', 'constraint'),
      reply('on it'),
      user('latest question'),
    ];
    const outcome = reduce(run, {
      enabled: true,
      maxInputChars: 450,
      preserveRecentRawTurns: 1,
      summaryMaxChars: 1400,
    });
    const [, summary] = outcome.messages;
    expect(outcome.reductionStage).toBe('summarization');
    expect(summary).toMatchObject({ role: 'system', content: expect.stringContaining('Conversation summary') });
    expect(summary?.content).toContain('- Unresolved tasks: Fix the login bug\n');
    expect(summary?.content).toContain('- Current constraints: Max response time must be under 200ms');
  });

  it('HistoryReducer: includes tagged messages, but where no reply came yet only first and newest question are sure to stay', () => {
    const run = [
      system('system rules'),
      user(`old question ${prose(400)}`),
      user('Fix the login bug', 'unresolved'),
      user('Max response time must be under 200ms', 'constraint'),
      user('latest question'),
    ];
    const outcome = reduce(run, { maxInputChars: 450, preserveRecentRawTurns: 1 });
    for (const kept of [0, 1, 4]) expect(outcome.messages).toContain(run[kept]);
    expect(outcome.withinBudget).toBe(true);
  });

  it('HistoryReducer: falls back safely when max budget is too small', () => {
    const run = [system('system instructions'), user(prose(400)), reply(prose(400)), user('latest turn')];
    const outcome = reduce(run, { enabled: true, maxInputChars: 20, preserveRecentRawTurns: 1 });
    expect(outcome).toMatchObject({ invariantStatus: 'fallback', reductionStage: 'fallback', withinBudget: false });
    expect(outcome.messages[0]).toBe(run[0]);
    expect(outcome.messages).toContain(run[1]);
    expect(outcome.messages.at(-1)).toBe(run[3]);
    expect(chars(outcome.messages)).toBeLessThan(chars(run));
  });

  it('HistoryReducer: exposes observation-masking config and telemetry types', () => {
    const options = {
      enabled: true,
      maxInputChars: 1000,
      maxInputTokens: 250,
      preserveRecentRawTurns: 4,
      summaryMaxChars: 1400,
      observationMasking: true,
      maxObservationChars: 80,
    } satisfies HistoryReducerOptions;
    const outcome: HistoryReductionResult = reduce([user('hello')], options);
    expect(outcome).toEqual({
      messages: [user('hello')],
      reduced: false,
      droppedCount: 0,
      invariantStatus: 'ok',
      maskedCount: 0,
      maskedChars: 0,
      withinBudget: true,
      beforeTokens: outcome.afterTokens,
      afterTokens: outcome.beforeTokens,
    });
    expect(outcome.beforeTokens).toBeGreaterThan(0);
  });

  it.each(['minObservationChars', 'observationDigestChars', 'tokenCharsPerToken'])(
    'HistoryReducer: the original option %s is refused by name',
    (name) => {
      expect(() => reduce([user('hello')], { maxInputChars: 10, [name]: 24 } as HistoryReducerOptions)).toThrow(
        expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(name) }),
      );
    },
  );
});

describe('spec-context-mcp: HistoryReducer observation masking pipeline', () => {
  const old = prose(516, 'old tool output ');
  const run = deepFreeze([
    system('system rules'),
    user('first request'),
    call('old', 'run old tool'),
    result('old', old),
    reply('old reasoning preserved'),
    call('recent', 'run recent tool'),
    result('recent', 'recent tool output'),
    user('latest turn'),
  ]);
  const options = { enabled: true, maxInputChars: 320, preserveRecentRawTurns: 2 };

  it('HistoryReducer: masks old observations while preserving agent actions', () => {
    const outcome = reduce(run, options);
    expect(outcome).toMatchObject({
      reduced: true,
      reductionStage: 'masking',
      maskedCount: 1,
      maskedChars: 516 - masked(old).length,
    });
    expect(outcome.messages[2]).toBe(run[2]);
    expect(outcome.messages[3]).toEqual({ ...run[3], content: masked(old) });
    expect(outcome.messages.slice(4)).toEqual(run.slice(4));
  });

  it('HistoryReducer: masks old observations, but maxObservationChars keeps their head in place of the placeholder', () => {
    expect(reduce(run, { ...options, maxObservationChars: 80 }).messages[3]?.content).toBe(clipText(old, 80));
  });

  it('HistoryReducer: does keep a no-masking branch when observationMasking is false', () => {
    const outcome = reduce(run, { ...options, observationMasking: false });
    expect(outcome).toMatchObject({ reduced: true, maskedCount: 0, maskedChars: 0 });
    expect(outcome.reductionStage).not.toBe('masking');
    expect(contents(outcome.messages).join()).not.toContain('[observation masked');
  });

  it('HistoryReducer: falls through to summarization when masking is insufficient', () => {
    const long = [
      system('rules'),
      user('old requirement'),
      ...pair('p1', prose(312, 'tool output ')),
      reply(prose(259, 'analysis '), 'constraint'),
      reply('go on'),
      user('latest turn'),
    ];
    const outcome = reduce(long, { maxInputChars: 260, preserveRecentRawTurns: 1, summaryMaxChars: 120 });
    expect(outcome).toMatchObject({
      reductionStage: 'summarization',
      maskedCount: 1,
      droppedCount: 3,
      withinBudget: true,
    });
    const summaries = outcome.messages.filter((message) =>
      message.content.startsWith('Conversation summary (contract)'),
    );
    expect(summaries).toMatchObject([{ role: 'system' }]);
    expect(summaries[0]?.content.length).toBeLessThanOrEqual(120);
  });

  it('HistoryReducer: preserves dispatch result structured blocks while masking surrounding output', () => {
    const json = '{"task_id":"2.1","status":"completed","summary":"ok","files_changed":[]}';
    const block = `BEGIN_DISPATCH_RESULT\n${json}\nEND_DISPATCH_RESULT`;
    const output = `${'verbose prelude logs '.repeat(30)}\n${block}\n${'verbose trailing logs '.repeat(30)}`;
    const outcome = reduce([system('rules'), ...pair('d1', output), reply('noted'), user('latest')], {
      maxInputChars: 380,
      preserveRecentRawTurns: 1,
      maxObservationChars: 40,
    });
    expect(outcome.reductionStage).toBe('masking');
    expect(results(outcome.messages)).toEqual([
      `[dispatch output masked — ${output.length - block.length} chars]\n${block}`,
    ]);
  });

  it('HistoryReducer: maintains pair invariants after masking', () => {
    const two = [system('rules'), ...pair('p1', prose(269)), ...pair('p2', prose(249)), user('latest')];
    for (const maxInputChars of range(1, chars(two))) {
      const { messages } = reduce(two, { maxInputChars, preserveRecentRawTurns: 1, maxObservationChars: 60 });
      expect(unpaired(messages)).toEqual([]);
      for (const id of ['p1', 'p2'])
        expect([0, 2]).toContain(messages.filter((message) => message.pairId === id).length);
    }
  });

  it('HistoryReducer: uses maxObservationChars for non-dispatch results', () => {
    const output = prose(200, 'Z');
    const outcome = reduce([system('rules'), ...pair('p1', output), reply('noted'), user('latest turn')], {
      maxInputChars: 120,
      preserveRecentRawTurns: 1,
      maxObservationChars: 16,
    });
    expect(results(outcome.messages)).toEqual([`${output.slice(0, 13)}...`]);
    expect(outcome).toMatchObject({ maskedCount: 1, maskedChars: 184 });
  });

  it('HistoryReducer: uses maxInputTokens as the reduction trigger budget', () => {
    const big = [system('rules'), ...pair('p1', prose(500)), reply('decision: dispatch_reviewer'), user('latest')];
    const outcome = reduce(big, {
      maxInputChars: 99_999,
      maxInputTokens: 60,
      preserveRecentRawTurns: 1,
      maxObservationChars: 60,
    });
    expect(outcome.reduced).toBe(true);
    expect(outcome.beforeTokens).toBeGreaterThan(60);
    expect(outcome.afterTokens).toBeLessThanOrEqual(60);
  });

  it('HistoryReducer: does not adapt masking strength under tighter deficit, the placeholder is whole at every budget', () => {
    const two = [system('rules'), ...pair('p1', prose(800)), ...pair('p2', prose(800)), reply('noted'), user('latest')];
    const at = (maxInputTokens: number) =>
      reduce(two, { maxInputChars: 99_999, maxInputTokens, preserveRecentRawTurns: 1 });
    for (const budget of [80, 220]) {
      expect(at(budget).reductionStage).toBe('masking');
      expect(results(at(budget).messages)).toEqual([masked(prose(800)), masked(prose(800))]);
    }
  });

  const traces = [
    ['very large output ', 'dispatch_reviewer because implementation completed'],
    ['stderr dump ', 'retry_implementer_with_constraints waiting on missing dependency'],
    ['review logs ', 'halt_and_escalate review policy violation'],
  ].map(([output = '', decision = '']) => ({
    action: decision.split(' ')[0],
    messages: [system('rules'), ...pair('p1', output.repeat(140)), reply(`NEXT_ACTION=${decision}`), user('continue')],
  }));

  it('HistoryReducer: keeps decision cues stable under aggressive masking (guardrail replay)', () => {
    const [trace] = traces;
    for (const [maxInputTokens, maxObservationChars] of [
      [180, 90],
      [80, 40],
    ] as const) {
      const { messages, withinBudget } = reduce(trace?.messages ?? [], {
        maxInputChars: 99_999,
        maxInputTokens,
        preserveRecentRawTurns: 1,
        maxObservationChars,
      });
      expect(messages).toContain(trace?.messages[3]);
      expect(withinBudget).toBe(true);
    }
  });

  it.each(traces)(
    'HistoryReducer: quality guardrail replay keeps next-action stable with masking on/off ($action)',
    ({ action, messages }) => {
      const budget = { maxInputChars: 99_999, maxInputTokens: 120, preserveRecentRawTurns: 1, maxObservationChars: 48 };
      const on = reduce(messages, budget);
      const off = reduce(messages, { ...budget, observationMasking: false });
      expect(nextAction(reduce(messages, { enabled: false, maxInputChars: 99_999 }).messages)).toBe(action);
      expect([nextAction(on.messages), nextAction(off.messages)]).toEqual([action, action]);
      expect(on.beforeTokens).toBeGreaterThan(120);
      expect(on.afterTokens).toBeLessThanOrEqual(120);
      expect(off.afterTokens).toBeLessThanOrEqual(120);
    },
  );

  it('tasks.md: masking alone sufficient skips summarization', () => {
    const { messages, droppedCount } = reduce(run, options);
    expect(droppedCount).toBe(0);
    expect(contents(messages).some((text) => text.startsWith('Conversation summary'))).toBe(false);
  });

  it('tasks.md: populates maskedCount and maskedChars telemetry', () => {
    const outcome = reduce(run, options);
    expect([outcome.maskedCount, outcome.maskedChars]).toEqual([1, chars(run) - chars(outcome.messages)]);
  });
});

describe('spec-context-mcp: maskObservations', () => {
  const output = prose(92, 'tool output ');
  const messages: readonly ChatMessage[] = deepFreeze([
    system('system instructions'),
    { ...call('p1', 'tool call'), toolCallId: 'call-1' },
    { ...result('p1', output), toolCallId: 'call-1', name: 'shell', tags: ['observation'] },
    { ...result('p2', prose(48, 'keep me ')), toolCallId: 'call-2', name: 'shell', tags: ['keep'] },
  ]);

  it('maskObservations: masks only result messages outside keepIndices and preserves metadata', () => {
    const outcome = maskObservations(messages, new Set([3]), {});
    expect(outcome.messages).not.toBe(messages);
    expect(outcome.messages).toEqual([
      messages[0],
      messages[1],
      { ...messages[2], content: '[observation masked — 92 chars]' },
      messages[3],
    ]);
    expect(outcome).toMatchObject({ maskedCount: 1, maskedChars: 92 - 31 });
  });

  it('maskObservations: a maxObservationChars above the length of a result masks nothing', () => {
    expect(maskObservations(messages, new Set([3]), { maxObservationChars: 120 })).toEqual({
      messages,
      maskedCount: 0,
      maskedChars: 0,
    });
  });

  it('maskObservations: never masks assistant/user/system messages', () => {
    const text = prose(300);
    const others: ChatMessage[] = (['system', 'user', 'assistant'] as const).map((role) => ({
      role,
      content: text,
      pairId: role,
      pairRole: 'result',
    }));
    expect(maskObservations(others, new Set(), {})).toEqual({ messages: others, maskedCount: 0, maskedChars: 0 });
  });

  it('maskObservations: clips the result to maxObservationChars', () => {
    const text = prose(120);
    const only: ChatMessage[] = [{ role: 'tool', content: text, pairId: 'p1', pairRole: 'result' }];
    const outcome = maskObservations(only, new Set(), { maxObservationChars: 24 });
    expect(outcome.messages).toEqual([{ ...only[0], content: `${text.slice(0, 21)}...` }]);
    expect(outcome).toMatchObject({ maskedCount: 1, maskedChars: 96 });
  });
});

describe('spec-context-mcp: maskDispatchObservation', () => {
  const block = (id: string, status: string): string =>
    `BEGIN_DISPATCH_RESULT\n{"task_id":"${id}","status":"${status}"}\nEND_DISPATCH_RESULT`;
  const logs = (name: string): string => prose(80, `${name} logs `);

  it('maskDispatchObservation: preserves dispatch block and masks surrounding content', () => {
    const content = `${logs('prefix')}\n${block('3.1', 'approved')}\n${logs('suffix')}`;
    const expected = `[dispatch output masked — 162 chars]\n${block('3.1', 'approved')}`;
    expect(maskDispatchObservation(content, 40)).toEqual({
      masked: expected,
      maskedChars: content.length - expected.length,
    });
  });

  it('maskDispatchObservation: falls back to standard observation masking when delimiters are missing', () => {
    const content = prose(138, 'plain tool output ');
    expect(maskDispatchObservation(content)).toEqual({
      masked: '[observation masked — 138 chars]',
      maskedChars: 138 - 32,
    });
    expect(maskDispatchObservation(content, 80)).toEqual({ masked: clipText(content, 80), maskedChars: 58 });
  });

  it('maskDispatchObservation: preserves multiple dispatch result blocks and masks all prose outside', () => {
    const content = `${logs('prelude')}\n${block('1.1', 'completed')}\n${logs('middle')}\n${block('1.2', 'blocked')}\n${logs('epilogue')}`;
    const { masked: kept } = maskDispatchObservation(content, 60);
    expect(kept).toBe(
      `[dispatch output masked — ${3 * 80 + 4} chars]\n${block('1.1', 'completed')}\n${block('1.2', 'blocked')}`,
    );
  });

  it('maskDispatchObservation: leaves content alone that masking would not make smaller', () => {
    const content = `prefix logs\n${block('3.1', 'approved')}\nsuffix logs`;
    expect(maskDispatchObservation(content, 40)).toEqual({ masked: content, maskedChars: 0 });
  });
});

describe('spec-context-mcp: clipText', () => {
  it('clipText: returns value unchanged when within maxChars', () => {
    expect([clipText('hello', 10), clipText('hello', 5)]).toEqual(['hello', 'hello']);
  });
  it('clipText: truncates with ellipsis when value exceeds maxChars', () => {
    expect(clipText('hello world', 8)).toBe('hello...');
  });
  it('clipText: returns empty string when maxChars is 0 or negative', () => {
    expect([clipText('hello', 0), clipText('hello', -1)]).toEqual(['', '']);
  });
  it('clipText: returns raw slice when maxChars is 3 or less', () => {
    expect([clipText('hello', 3), clipText('hello', 2), clipText('hello', 1)]).toEqual(['hel', 'he', 'h']);
  });
  it('clipText: handles empty string input', () => {
    expect([clipText('', 0), clipText('', 5)]).toEqual(['', '']);
  });
});

describe('duragent: tokens.rs', () => {
  const tokensOf = (...messages: ChatMessage[]): number =>
    fitHistory(messages, { format: chat, counter: estimateTokens, policy: never() }).report.tokens.before;

  it('tokens: estimate_tokens_basic', () => {
    expect(['abcd', 'abcdefgh', ''].map(estimateTokens)).toEqual([1, 2, 0]);
  });
  it('tokens: estimate_tokens_basic, but a part of a token counts as one', () => {
    expect(['a', 'abc', 'abcde'].map(estimateTokens)).toEqual([1, 1, 2]);
  });
  it('tokens: estimate_tokens_unicode counts UTF-8 bytes, rounded up', () => {
    expect(estimateTokens('日本語')).toBe(3);
    expect(estimateTokens('🎉')).toBe(1);
    expect(estimateTokens('é')).toBe(1);
  });
  it('tokens: estimate_message_tokens_text_message', () => {
    expect(tokensOf(user('Hello world'))).toBe(3 + 4);
  });
  it('tokens: estimate_message_tokens_with_tool_calls counts name, id and arguments', () => {
    const [made] = toolTurn({ id: 'call_1', args: '{"command":"ls"}', output: '' });
    expect(tokensOf(made as ChatMessage)).toBeGreaterThan(4 + estimateTokens('{"command":"ls"}'));
  });
  it('tokens: estimate_message_tokens_tool_result counts its id', () => {
    const turn = toolTurn({ id: 'call_1', output: 'ok' });
    expect(tokensOf(...turn) - tokensOf(...turn.slice(0, 1))).toBeGreaterThan(4 + estimateTokens('ok'));
  });
  it('tokens: estimate_tool_definitions_tokens_empty and _with_tools', () => {
    const size = (tools: unknown): number =>
      fitHistory([user('hi')], { format: chat, counter: estimateTokens, tools }).report.tokens.before -
      tokensOf(user('hi'));
    expect(size(undefined)).toBe(0);
    expect(size([{ type: 'function', function: { name: 'bash', description: 'runs' } }])).toBe(18);
  });
});

describe('duragent: truncation.rs 3a', () => {
  it('truncation: truncate_tool_result_under_limit', () => {
    expect(truncateResult('short result', { maxTokens: 1000 })).toBe('short result');
  });
  it('truncation: truncate_tool_result_head', () => {
    const cut = truncateResult('a'.repeat(1000), { maxTokens: 20, strategy: 'head' });
    expect(cut).toMatch(/^a+\n\n\[truncated: kept first ~20 of ~250 tokens \(head\)\]$/);
    expect(estimateTokens(cut)).toBe(20);
  });
  it('truncation: truncate_tool_result_tail', () => {
    const cut = truncateResult(`${'a'.repeat(999)}Z`, { maxTokens: 20, strategy: 'tail' });
    expect(cut).toMatch(/^\[truncated: kept last ~20 of ~250 tokens \(tail\)\]\n\na+Z$/);
  });
  it('truncation: truncate_tool_result_both', () => {
    const cut = truncateResult(`HEAD${'x'.repeat(1000)}TAIL`, { maxTokens: 30, strategy: 'both' });
    expect(cut).toMatch(/^HEADx+\n\n\[truncated: kept first\+last ~30 of ~252 tokens \(both\)\]\n\nx+TAIL$/);
  });
  it('truncation: truncate_tool_result to 10 tokens leaves no room for its indicator, so the cut stands without one', () => {
    for (const strategy of ['head', 'tail', 'both'] as const) {
      const cut = truncateResult(`HEAD${'x'.repeat(1000)}TAIL`, { maxTokens: 10, strategy });
      expect(estimateTokens(cut)).toBeLessThanOrEqual(10);
      expect([cut.startsWith('HEAD'), cut.endsWith('TAIL')]).toEqual([strategy !== 'tail', strategy !== 'head']);
    }
  });
  it('truncation: truncate_tool_result_unicode_boundary', () => {
    const cut = truncateResult('日'.repeat(100), { maxTokens: 30 });
    expect(cut).toMatch(/^日+\n\n\[truncated: kept first ~30 of ~75 tokens \(head\)\]$/u);
    expect(estimateTokens(cut)).toBeLessThanOrEqual(30);
  });
  it('truncation: safe_truncate_basic, safe_truncate_tail_basic and safe_truncate_unicode', () => {
    const cut = (strategy: 'head' | 'tail') =>
      truncateResult('hello', { maxTokens: 3, strategy, counter: (text) => [...text].length });
    expect([cut('head'), cut('tail')]).toEqual(['hel', 'llo']);
    expect(truncateResult('a🎉', { maxTokens: 2, counter: (text) => text.length })).toBe('a');
  });
});

describe('duragent: truncation.rs 3b', () => {
  const masks = (total: number, keepFirst: number, keepLast: number): number[] => {
    const run = [
      user('hello'),
      ...range(1, total).flatMap((n) => toolTurn({ id: `c${n}`, output: prose(200, `result ${n} `) })),
    ];
    return changedTurns(run, fitHistory(run, { format: chat, policy: firstAndLast({ keepFirst, keepLast }) }).messages);
  };
  it('truncation: mask_tool_results_keeps_first_and_last', () => {
    expect(masks(5, 1, 1)).toEqual([2, 3, 4]);
  });
  it('truncation: mask_tool_results_keeps_first_and_last, but never where the placeholder is larger than the result', () => {
    const run = [user('hello'), ...range(1, 5).flatMap((n) => toolTurn({ id: `c${n}`, output: `result ${n}` }))];
    const { messages, report } = fitHistory(run, { format: chat, policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) });
    expect(messages).toEqual(run);
    expect(report.maskedCount).toBe(0);
  });
  it('truncation: mask_tool_results_no_op_when_few_results', () => {
    expect(masks(2, 1, 1)).toEqual([]);
  });
  it('truncation: mask_tool_results_disabled_when_both_zero', () => {
    expect(masks(3, 0, 0)).toEqual([]);
  });
  it('truncation: mask_tool_results with ids that repeat in every turn', () => {
    const run = [
      user('hello'),
      ...range(1, 5).flatMap((n) => toolTurn({ id: 'call_1', output: prose(200, `result ${n} `) })),
    ];
    const { messages } = fitHistory(run, { format: chat, policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) });
    expect(changedTurns(run, messages)).toEqual([2, 3, 4]);
  });
});

describe('duragent: truncation.rs 3c', () => {
  const drop = (run: readonly ChatMessage[], maxTokens: number) =>
    dropOldestTurns(run, { format: chat, counter: estimateTokens, maxTokens });

  it('truncation: drop_oldest_iterations_under_budget', () => {
    const run = [user('hello'), ...toolTurn({ id: 'a', output: 'result' })];
    expect(drop(run, 100_000)).toMatchObject({ messages: run, droppedCount: 0, hidden: [], withinBudget: true });
  });
  it('truncation: drop_oldest_iterations_preserves_last_group, with a notice', () => {
    const run = [
      user('hello'),
      ...toolTurn({ id: 'a', output: prose(10_000) }),
      ...toolTurn({ id: 'b', output: 'small result' }),
    ];
    const { messages, droppedCount } = drop(run, 100);
    expect(droppedCount).toBe(2);
    expect(messages.filter((message) => message.role !== 'system')).toEqual([run[0], run[3], run[4]]);
    expect(contents(messages)).toContain('[conversation truncated — 2 older messages omitted]');
  });
  it('truncation: drop_oldest_iterations_preserves_conversation_history', () => {
    const conversation = [system('You are helpful'), user('hello'), reply('hi there'), user('do something')];
    const run = [
      ...conversation,
      ...toolTurn({ id: 'a', output: prose(10_000) }),
      ...toolTurn({ id: 'b', output: 'final' }),
    ];
    const { messages } = drop(run, 100);
    for (const message of conversation) expect(messages).toContain(message);
    expect(messages.at(-1)).toBe(run.at(-1));
    expect(messages).not.toContain(run[5]);
  });
  it('truncation: iteration_groups_include_trailing_steering and drop_oldest_iterations_drops_steering_with_group', () => {
    const steered = [...toolTurn({ id: 'a', output: prose(10_000) }), user('[steering] left, please')];
    const run = [user('hello'), ...steered, ...toolTurn({ id: 'b', output: 'x' }), user('and now right'), reply('ok')];
    const { messages, droppedCount } = drop(run, 100);
    expect(droppedCount).toBe(3);
    for (const gone of steered) expect(messages).not.toContain(gone);
    expect(messages).toContain(run[6]);
  });
  it('truncation: drop_oldest_iterations drops steering with its group, but never the newest message of the user', () => {
    const run = [
      user('hello'),
      ...toolTurn({ id: 'a', output: prose(4000) }),
      user('[steering] left, please'),
      ...toolTurn({ id: 'b', output: 'x' }),
    ];
    expect(drop(run, 60).messages).toContain(run[3]);
  });
  it('truncation: drop_oldest_iterations_single_group_never_dropped', () => {
    const run = [user('hello'), ...toolTurn({ id: 'a', output: prose(100_000) })];
    expect(drop(run, 1)).toMatchObject({ messages: run, droppedCount: 0, hidden: [], withinBudget: false });
  });
});

describe('duragent: context/mod.rs, budget', () => {
  const render = (run: readonly ChatMessage[], maxTokens: number) =>
    fitHistory(run, { format: chat, counter: estimateTokens, policy: never(), maxTokens });
  const exchange = (n: number): ChatMessage[] =>
    range(1, n).flatMap((i) => [user(`Message ${i}`), reply(`Reply ${i}`)]);

  it('context: render_with_budget_no_truncation', () => {
    const run = [user('Hello'), reply('Hi')];
    expect(render(run, 200_000).messages).toEqual(run);
  });
  it('context: render_with_budget_truncates_old_messages', () => {
    const run = exchange(20);
    const { messages, report } = render(run, 100);
    expect(report.tokens.after).toBeLessThanOrEqual(100);
    const notice = messages.find((message) => message.role === 'system');
    expect(notice?.content).toBe(
      `[conversation truncated — ${run.length - (messages.length - 1)} older messages omitted]`,
    );
    expect(messages).toContain(run[0]);
    expect(messages.slice(-2)).toEqual(run.slice(-2));
  });
  it('context: render_with_budget_truncates_old_messages, but questions that nobody answered yet cannot be cut', () => {
    const run = range(1, 20).map((i) => user(`Message ${i}`));
    expect(codeOf(() => render(run, 100))).toBe('BUDGET_IMPOSSIBLE');
  });
  it('context: render_with_budget_max_history_tokens_caps', () => {
    const { messages, report } = render(exchange(50), 90);
    expect(report.tokens.after).toBeLessThanOrEqual(90);
    expect(messages.length).toBeLessThan(20);
  });
  it('context: render_with_budget_skips_orphaned_tool_messages', () => {
    const run = [
      user('first question'),
      ...toolTurn({ id: 'call_1', output: 'tool output' }),
      user('second question'),
      reply('final answer'),
    ];
    for (let maxTokens = 200; maxTokens >= 20; maxTokens--) {
      if (codeOf(() => render(run, maxTokens)) !== undefined) continue;
      const { messages } = render(run, maxTokens);
      expect(unpaired(messages)).toEqual([]);
      expect(messages.at(-1)).toBe(run[4]);
    }
  });
  it('context: render_with_budget_includes_system_message', () => {
    const run = [system('You are helpful.'), ...exchange(40)];
    const { messages } = render(run, 120);
    expect(messages[0]).toBe(run[0]);
    expect(messages[1]).toBe(run[1]);
    expect(messages[2]?.content).toMatch(/^\[conversation truncated — \d+ older messages omitted\]$/);
  });
});

describe('duragent: context/mod.rs, render', () => {
  const counter = estimateTokens;
  const render = (messages: readonly ChatMessage[], options: RenderOptions<ChatMessage> = {}): Rendered<ChatMessage> =>
    renderWithBudget(messages, { format: chat, counter, ...options });

  it('context: empty_context_renders_none', () => {
    expect(render([])).toMatchObject({ messages: [], omitted: 0, cut: undefined });
  });

  it('context: single_block_renders, directives_appended, blocks_sorted_by_priority: blocks are the caller’s, and sized', () => {
    const blocks = [{ type: 'text', text: prose(400) }];
    const sized = (options: RenderOptions<ChatMessage>): number => render([user('hi')], options).report.systemTokens;
    expect(sized({ system: blocks })).toBe(counter(JSON.stringify(blocks)));
    expect(sized({ system: blocks, directives: prose(400) })).toBe(counter(JSON.stringify(blocks)) + 100);
  });

  it('context: summary_counts_correctly', () => {
    const { report } = render([system(prose(396)), ...talk(60).slice(1)], {
      tools: [{ name: 'bash' }],
      maxHistoryTokens: 1500,
    });
    expect(report.systemTokens).toBe(99 + 4);
    expect(report.requestTokens).toBe(report.systemTokens + report.toolTokens + report.historyTokens.after);
    expect(report.omitted).toBeGreaterThan(0);
  });

  it('context: render_with_tools_includes_them and render_with_empty_tools_sets_none', () => {
    expect(render([user('hi')], { tools: [{ name: 'bash' }] }).report.toolTokens).toBeGreaterThan(0);
    expect(render([user('hi')]).report.toolTokens).toBe(0);
  });

  it('context: render_with_budget_no_truncation', () => {
    const run = talk(3);
    expect(render(run).messages).toEqual(run);
  });

  it('context: render_with_budget_truncates_old_messages: 20 messages that nobody answered, 100 tokens, the notice first', () => {
    const run = range(1, 20).map((n) => user(`message number ${n} with some padding`));
    const { messages, omitted: left } = render(run, { maxHistoryTokens: 100 });
    expect(messages.slice(0, 2)).toContainEqual(system(omitted(left)));
    expect(messages.at(-1)).toBe(run[19]);
    expect(messages).toContain(run[0]);
  });

  it('context: render_with_budget_max_history_tokens_caps', () => {
    const run = talk(30);
    expect(render(run, { window: 100_000, maxHistoryTokens: 500 }).omitted).toBeGreaterThan(0);
    expect(render(run, { window: 100_000, maxHistoryTokens: 0 }).omitted).toBe(0);
  });

  it('context: render_with_budget_skips_orphaned_tool_messages: there are none', () => {
    const run = [
      user('go'),
      ...range(1, 30).flatMap((n) => toolTurn({ id: `c${n}`, output: prose(300) })),
      user('and?'),
    ];
    for (const maxHistoryTokens of range(2, 30).map((n) => 100 * n))
      expect(unpaired(render(run, { maxHistoryTokens }).messages)).toEqual([]);
  });

  it('context: render_with_budget_includes_system_message', () => {
    const run = talk(60);
    expect(render(run, { maxHistoryTokens: 1000 }).messages[0]).toBe(run[0]);
  });
});

describe('duragent: agentic_loop.rs', () => {
  it('agentic_loop: accumulate_usage_both_some: the usage of a run is the sum over its requests', async () => {
    const count = (messages: readonly ChatMessage[]): number => 100 * messages.length;
    const { requests, result } = await runLoop({ iterations: 2, output: () => 'ok', count });
    expect(requests.map((request) => request.length)).toEqual([1, 3, 5]);
    expect(result.usage).toMatchObject({ promptTokens: 900, completionTokens: 0 });
  });

  it('agentic_loop: accumulate_usage_one_none: a provider that tells nothing adds nothing', async () => {
    const { result } = await runLoop({ iterations: 2, output: () => 'ok' });
    expect(result).not.toHaveProperty('usage');
  });
});

describe('duragent: spec_eval.rs', () => {
  it('spec_eval: effective_max_input_tokens_with_explicit_value and _defaults_from_model_name', () => {
    const run = [user('hi'), ...history(30, 20_000).slice(2)];
    const windowOf = (options: object) =>
      fitHistory(run, { format: chat, counter: estimateTokens, policy: never(), ...options }).report;
    expect(windowOf({ model: 'gpt-4o' }).tokens.after).toBeLessThanOrEqual(128_000);
    expect(windowOf({ model: 'gpt-4o' }).maskedCount).toBeGreaterThan(0);
    expect(windowOf({ model: 'claude-sonnet' }).maskedCount).toBe(0);
    expect(windowOf({ model: 'claude-sonnet', maxTokens: 60_000 }).tokens.after).toBeLessThanOrEqual(60_000);
  });
  it.each([
    ['claude', 'claude-sonnet-4-20250514', 200_000],
    ['gpt5', 'gpt-5', 400_000],
    ['gpt4_1', 'gpt-4.1-mini', 1_000_000],
    ['gpt4o', 'gpt-4o-mini', 128_000],
    ['gemini', 'gemini-2.0-flash', 1_000_000],
    ['grok4', 'grok-4', 2_000_000],
    ['grok3', 'grok-3-mini', 131_072],
    ['deepseek_v3', 'deepseek-chat-v3', 163_840],
    ['deepseek_other', 'deepseek-r1', 128_000],
    ['qwen3', 'qwen3-235b', 131_072],
    ['qwen_older', 'qwen-2.5', 128_000],
    ['llama4', 'llama-4-maverick', 327_680],
    ['llama3', 'llama-3.1-405b', 128_000],
    ['mistral_large', 'mistral-large-latest', 262_144],
    ['mistral_other', 'mistral-nemo', 128_000],
    ['unknown', 'my-own-model', 128_000],
  ])('spec_eval: default_context_window_%s', (_, model, window) => {
    expect(defaultContextWindow(model)).toBe(window);
  });
});

describe('ouro: context_manager', () => {
  it('context_manager: test_generate_placeholder_file_read', () => {
    expect(describeResult('file_read', 'line one of the file\nline two\nline three\n')).toBe(
      '[file_read result masked -- 3 lines, starts with: line one of the file]',
    );
  });
  it('context_manager: test_generate_placeholder_shell_exec_json', () => {
    expect(describeResult('shell_exec', '{"exit_code":0,"stdout":"hello world","stderr":""}')).toBe(
      '[shell_exec result masked -- exit_code=0, stdout=11 bytes]',
    );
    expect(describeResult('shell_exec', '{"stdout":"é"}')).toBe(
      '[shell_exec result masked -- exit_code=-1, stdout=2 bytes]',
    );
  });
  it('context_manager: test_generate_placeholder_shell_exec_plain', () => {
    const text = 'some plain text output that is not json';
    expect(describeResult('shell_exec', text)).toBe('[shell_exec result masked -- 39 bytes of output]');
  });
  it('context_manager: generate_placeholder of file_write and of any other tool', () => {
    expect(describeResult('file_write', 'wrote')).toBe('[file_write result masked -- 5 bytes]');
    expect(describeResult('web_search', 'ünï')).toBe('[web_search result masked -- 5 bytes of output]');
  });
  it('context_manager: test_is_already_masked', () => {
    expect(isPlaceholder('[file_read result masked -- 10 lines, starts with: foo]')).toBe(true);
    expect(isPlaceholder('[shell_exec result masked -- exit_code=0, stdout=5 bytes]')).toBe(true);
    expect(isPlaceholder('some normal tool output')).toBe(false);
    expect(isPlaceholder('this contains masked but no bracket')).toBe(false);
  });

  const shell = JSON.stringify({ exit_code: 0, stdout: prose(300), stderr: '' });
  const file = `${prose(200, 'line1')}\n${prose(200)}\n${prose(200)}\n`;
  const both: ChatMessage[] = [
    user('go'),
    {
      role: 'assistant',
      content: '',
      toolCalls: [
        { id: 'call_1', name: 'file_read', arguments: '{}' },
        { id: 'call_2', name: 'shell_exec', arguments: '{}' },
      ],
    },
    answer('call_1', file),
    answer('call_2', shell),
  ];

  it('context_manager: test_mask_oldest_observations_walks_oldest_first', () => {
    const run = [...both, ...toolTurn({ id: 'call_3', output: prose(400) })];
    const masks = (count: number, messages = run) =>
      results(fitHistory(messages, { format: chat, policy: oldestBatch({ count, window: 0 }) }).messages);
    expect(masks(1, both)).toEqual([
      `[file_read result masked -- 3 lines, starts with: ${clipText(file.split('\n')[0] ?? '', 60)}]`,
      '[shell_exec result masked -- exit_code=0, stdout=300 bytes]',
    ]);
    expect(masks(2)).toEqual([
      expect.stringMatching(/^\[file_read /),
      expect.stringMatching(/^\[shell_exec /),
      prose(400),
    ]);
    expect(masks(4)).toEqual([file, shell, prose(400)]);
  });
  it('context_manager: test_mask_skips_already_masked', () => {
    const already = '[file_read result masked -- 5 lines, starts with: foo]';
    const run = [
      user('go'),
      ...toolTurn({ id: 'a', tool: 'file_read', output: already }),
      ...toolTurn({ id: 'b', output: prose(400) }),
    ];
    const { messages, report } = fitHistory(run, { format: chat, policy: oldestBatch({ count: 1, window: 0 }) });
    expect(results(messages)).toEqual([already, '[bash result masked -- 400 bytes of output]']);
    expect(report.maskedCount).toBe(1);
  });
});

describe('SWE-agent: LastNObservations', () => {
  const run = history(12, 400);

  it('LastNObservations: test_last_n_observations elides all but the last 3 and the task', () => {
    const { messages } = fitHistory(run, { format: chat, policy: sweAgent({ turns: 3 }) });
    expect(contents(messages).filter((text) => text.startsWith('Old environment output: ('))).toHaveLength(12 - 3);
    expect(changedTurns(run, messages)).toEqual(range(1, 9));
    expect(messages[1]).toBe(run[1]);
  });
  it('LastNObservations: test_last_n_observations says how many lines were omitted', () => {
    const listing = [
      user('go'),
      ...toolTurn({ id: 'a', output: `${prose(300)}\n`.repeat(7) }),
      ...toolTurn({ id: 'b', output: 'x' }),
    ];
    expect(results(fitHistory(listing, { format: chat, policy: sweAgent({ turns: 1 }) }).messages)[0]).toBe(
      'Old environment output: (7 lines omitted)',
    );
  });
  it('LastNObservations: polling masks the first floor(t / every) * every - n results, for all small numbers', () => {
    for (const turns of range(1, 12))
      for (const n of range(0, 4))
        for (const every of range(1, 5)) {
          const h = history(turns, 400);
          const found = changedTurns(h, fitHistory(h, { format: chat, policy: polling({ turns: n, every }) }).messages);
          expect({ turns, n, every, found }).toEqual({
            turns,
            n,
            every,
            found: range(1, Math.max(0, Math.floor(turns / every) * every - n)),
          });
        }
  });
  it('LastNObservations: always_keep_output_for_tags beats age, always_remove_output_for_tags beats everything', () => {
    const tagged = history(8, 400).map((message, i) => {
      const tags = { 3: ['keep_output'], 5: ['keep_output', 'remove_output'], 17: ['remove_output'] }[i];
      return tags ? { ...message, tags } : message;
    });
    const policy = slidingWindow({ turns: 3, keepTags: ['keep_output'], removeTags: ['remove_output'] });
    expect(changedTurns(tagged, fitHistory(tagged, { format: chat, policy }).messages)).toEqual([2, 3, 4, 5, 8]);
  });
  it('TagToolCallObservations: test_add_tag_to_edits, here a tool is kept by its name', () => {
    const edits = [
      user('go'),
      ...range(1, 6).flatMap((n) => toolTurn({ id: `c${n}`, tool: n % 2 ? 'edit' : 'bash', output: prose(400) })),
    ];
    expect(
      changedTurns(
        edits,
        fitHistory(edits, { format: chat, policy: slidingWindow({ turns: 1, keepTools: ['edit'] }) }).messages,
      ),
    ).toEqual([2, 4]);
    expect(
      changedTurns(
        edits,
        fitHistory(edits, { format: chat, policy: slidingWindow({ turns: 1, onlyTools: ['edit'] }) }).messages,
      ),
    ).toEqual([1, 3, 5]);
  });
});

describe('SWE-agent: SummarizeEveryNTurns', () => {
  const full = history(9, 1000);
  const upTo = (turns: number): ChatMessage[] => full.slice(0, 2 + 2 * turns);
  /** The summary alone: no result is small enough to be masked. */
  const summarized = (n: number, m: number, messages: readonly ChatMessage[]) =>
    fitHistory(messages, { format: chat, policy: hybrid({ summarizeEvery: n, window: m, minTokens: 1_000_000 }) })
      .messages;
  const isSummary = (message: ChatMessage | undefined): boolean =>
    message?.content.startsWith('Conversation summary') ?? false;
  const turnsOf = (messages: readonly ChatMessage[]): (readonly [string, number])[] =>
    chat.view(messages).map((segment) => [segment.kind, segment.turn]);
  const shapeOf = (messages: readonly ChatMessage[]): number[] => [
    messages.filter(isSummary).length,
    messages.filter((message) => !isSummary(message)).length,
  ];

  it('SummarizeEveryNTurns: test_extract_turns_from_simple_history, with n is 3 too', () => {
    expect(turnsOf(upTo(2))).toEqual([
      ['system', 0],
      ['user', 0],
      ['reasoning', 1],
      ['action', 1],
      ['observation', 1],
      ['reasoning', 2],
      ['action', 2],
      ['observation', 2],
    ]);
  });
  it('SummarizeEveryNTurns: test_extract_turns_with_summary and _with_existing_summaries: a summary of ours is not a turn', () => {
    const earlier = summarized(3, 1, upTo(4));
    expect(turnsOf(earlier).filter(([, turn]) => turn === 0)).toHaveLength(3);
    expect(Math.max(...turnsOf(earlier).map(([, turn]) => turn))).toBe(1);
  });
  it('SummarizeEveryNTurns: test_extract_turns_invalid_format: a result that answers nothing is left alone, without an error', () => {
    const invalid: ChatMessage[] = [
      answer('nobody', prose(2000)),
      user('hi'),
      answer('nobody', prose(2000)),
      ...toolTurn({ id: 'a', output: prose(2000) }),
    ];
    const { messages } = fitHistory(invalid, { format: chat, policy: slidingWindow({ turns: 0 }) });
    expect(messages.map((message, i) => message === invalid[i])).toEqual([true, true, true, true, false]);
  });
  it('SummarizeEveryNTurns: test_summarize_fewer_than_n_turns', () => {
    expect(summarized(3, 0, upTo(2))).toEqual(upTo(2));
  });
  it('SummarizeEveryNTurns: test_summarize_exactly_n_turns, but the newest turn, which no model has read yet, stays', () => {
    const messages = summarized(2, 0, upTo(2));
    expect(shapeOf(messages)).toEqual([1, 4]);
    expect([messages[0], ...messages.slice(2)]).toEqual([full[0], full[1], full[4], full[5]]);
  });
  it('SummarizeEveryNTurns: test_summarize_with_partial_unprocessed_turns and test_with_incrementally_added_turns', () => {
    const shapes = range(0, 4).map((turns) => shapeOf(summarized(2, 1, upTo(turns))));
    expect(shapes).toEqual([
      [0, 2],
      [0, 4],
      [0, 6],
      [1, 4],
      [1, 6],
    ]);
  });
  it('SummarizeEveryNTurns: test_successive_processing: fed back its own output it goes on where it stood', () => {
    const third = summarized(2, 1, upTo(3));
    expect(summarized(2, 1, third)).toEqual(third);
    const fourth = summarized(2, 1, [...third, ...upTo(4).slice(-2)]);
    expect(fourth).toEqual(summarized(2, 1, upTo(4)));
    expect(summarized(2, 1, [...fourth, ...upTo(5).slice(-2)])).toEqual(summarized(2, 1, upTo(5)));
  });
  it('SummarizeEveryNTurns: test_keep_last_m_turns_validation', () => {
    expect(codeOf(() => hybrid({ window: -1 }))).toBe('BAD_OPTION');
    expect(codeOf(() => hybrid({ summarizeEvery: 0 }))).toBe('BAD_OPTION');
    expect([codeOf(() => hybrid({ window: 0 })), codeOf(() => hybrid({ window: 3 }))]).toEqual([undefined, undefined]);
  });
  it('SummarizeEveryNTurns: test_keep_last_m_turns_zero protects no turn but the newest', () => {
    const shapes = range(1, 6).map((turns) => shapeOf(summarized(3, 0, upTo(turns))));
    expect(shapes).toEqual([
      [0, 4],
      [0, 6],
      [1, 4],
      [1, 6],
      [1, 4],
      [1, 6],
    ]);
  });
  it('SummarizeEveryNTurns: test_keep_last_m_turns_smaller_than_n', () => {
    expect(summarized(3, 1, upTo(3))).toEqual(upTo(3));
    const messages = summarized(3, 1, upTo(4));
    expect(messages).toHaveLength(5);
    expect([messages[0], messages[2], messages[3], messages[4]]).toEqual([full[0], full[1], full[8], full[9]]);
    expect([messages[1]?.role, isSummary(messages[1])]).toEqual(['system', true]);
  });
  it('SummarizeEveryNTurns: test_keep_last_m_turns_larger_than_n', () => {
    expect(summarized(2, 5, upTo(6))).toEqual(upTo(6));
    const messages = summarized(2, 5, upTo(7));
    expect(shapeOf(messages)).toEqual([1, 12]);
    expect(messages.slice(-10)).toEqual(upTo(7).slice(-10));
  });
  it('SummarizeEveryNTurns: test_keep_last_m_turns_equal_to_n', () => {
    const messages = summarized(2, 2, upTo(4));
    expect(shapeOf(messages)).toEqual([1, 6]);
    expect(messages.slice(-4)).toEqual(upTo(4).slice(-4));
  });
  it('SummarizeEveryNTurns: test_keep_last_m_turns_incremental_processing, with one summary that continues the earlier one', () => {
    expect(range(2, 7).map((turns) => shapeOf(summarized(2, 1, upTo(turns))))).toEqual([
      [0, 6],
      [1, 4],
      [1, 6],
      [1, 4],
      [1, 6],
      [1, 4],
    ]);
    const [, summary] = summarized(2, 1, upTo(7));
    expect(summary?.content).toContain('Covers: 12 earlier messages');
  });
  it('SummarizeEveryNTurns: a hybrid masks outside its window until the summary takes those turns away', () => {
    const talkative = [
      user('go'),
      ...range(1, 7).flatMap((n) =>
        toolTurn({ id: `c${n}`, text: prose(600, `thought ${n} `), output: prose(900, `output ${n} `) }),
      ),
    ];
    const policy = hybrid({ summarizeEvery: 5, window: 2 });
    const six = talkative.slice(0, 13);
    expect(changedTurns(six, fitHistory(six, { format: chat, policy }).messages)).toEqual([1, 2, 3, 4]);
    const { messages, report } = fitHistory(talkative, { format: chat, policy });
    expect(shapeOf(messages)).toEqual([1, 5]);
    expect(messages.slice(-4)).toEqual(talkative.slice(-4));
    expect(report.edits.drop).toBe(10);
  });
  it('SummarizeEveryNTurns: parallel calls, which made the original fail, are one turn', () => {
    const run = [
      user('go'),
      ...range(1, 4).flatMap((n) => [
        parallelCalls(`a${n}`, `b${n}`),
        answer(`a${n}`, prose(900)),
        answer(`b${n}`, prose(900)),
      ]),
    ];
    const messages = summarized(2, 2, run);
    expect(shapeOf(messages)).toEqual([1, 7]);
    expect(messages.slice(-6)).toEqual(run.slice(-6));
  });
});
