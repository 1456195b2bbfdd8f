// The document on a ContextManager, heading by heading: what it requires and provides, its patterns, decisions and
// accomplishments, each counted from 1 under its own heading.
import { describe, expect, it } from 'vitest';
import {
  type ChatMessage,
  chat,
  describeResult,
  isPlaceholder,
  never,
  PalimpsestError,
  polling,
  slidingWindow,
} from '../../src/index.ts';
import { compressedNotice } from '../../src/manager/context/notices.ts';
import {
  ContextManager,
  createMemorySession,
  extractCarryover,
  openSession,
  readConfig,
  readSessionEvents,
  sessionOptionsOf,
} from '../../src/manager/index.ts';
import { runLoop } from '../support/agent-loop.ts';
import {
  answer,
  changedTurns,
  contents,
  history,
  parallelCalls,
  prose,
  range,
  reply,
  results,
  toolTurn,
  unpaired,
  user,
} from '../support/chat.ts';
import { scratchFolder } from '../support/modules.ts';

const manager = (options: ConstructorParameters<typeof ContextManager<ChatMessage>>[0] = {}) =>
  new ContextManager<ChatMessage>({ contextLimit: 1000, format: chat, ...options });
const at = (pct: number, watched = manager()) => {
  watched.recordUsage({ promptTokens: (pct / 100) * watched.contextLimit, completionTokens: 10 });
  return watched.evaluate();
};
const charsBy4 = (text: string): number => Math.ceil(text.length / 4);

describe('004 requires: configuration and log entries', () => {
  it('004 requires 1: soft_threshold_pct, hard_threshold_pct and carryover_turns reach the manager of a session', () => {
    const { config, problems } = readConfig(
      'context: { limit: 32768, soft_threshold_pct: 0.5, hard_threshold_pct: 0.8, carryover_turns: 2 }',
    );
    expect(problems).toEqual([]);
    const { manager: watched } = createMemorySession<ChatMessage>(sessionOptionsOf(config));
    expect([watched.contextLimit, watched.softThreshold, watched.hardThreshold]).toEqual([32_768, 0.5, 0.8]);
    expect(sessionOptionsOf(config)).toMatchObject({ carryoverTurns: 2 });
  });

  it('004 requires 1: soft is 0.70, hard 0.90 and the carryover five turns where nothing is said', () => {
    const watched = manager({ contextLimit: 100_000 });
    watched.setMessages(history(20));
    expect([watched.softThreshold, watched.hardThreshold]).toEqual([0.7, 0.9]);
    expect(watched.carryover()).toEqual([...history(20).slice(0, 2), ...history(20).slice(-10)]);
  });

  it('004 requires 2: TokenUsage, ContextMask and SessionRestart are entries of the log', async () => {
    const directory = scratchFolder('seed-004');
    const policy = slidingWindow({ turns: 2, minTokens: 10_000 });
    const session = await openSession<ChatMessage>({ directory, id: 'log', contextLimit: 10_000, policy });
    await session.add(...history(8, 4000));
    session.manager.recordUsage({ promptTokens: 7000, completionTokens: 20 });
    await session.mask(3);
    await session.restart();
    await session.close();
    const logged = [];
    for await (const event of readSessionEvents<ChatMessage>({ directory, id: 'log' }))
      if (!['session_start', 'message'].includes(event.type)) logged.push(event);
    expect(logged).toMatchObject([
      { type: 'token_usage', prompt_tokens: 7000, completion_tokens: 20, context_used_pct: 0.7 },
      { type: 'context_mask', observations_masked: 3 },
      { type: 'session_restart', session_number: 2, reason: 'hard_threshold_exceeded' },
    ]);
  });
});

describe('004 provides', () => {
  it('004 provides 1: tokens of the prompt and of completions, sessions and masks are tracked', () => {
    const watched = manager({ contextLimit: 100_000 });
    watched.setMessages(history(12, 800));
    watched.recordUsage({ promptTokens: 80_000, completionTokens: 30 });
    expect([watched.promptTokens, watched.completionTokens, watched.usagePct]).toEqual([80_000, 30, 80]);
    watched.maskOldest(2);
    expect([watched.maskedTotal, watched.sessionNumber]).toEqual([2, 1]);
    watched.restart();
    expect([watched.maskedTotal, watched.sessionNumber]).toEqual([0, 2]);
  });

  it('004 provides 2: evaluate answers continue, mask, wind-down or restart', () => {
    const watched = manager();
    expect([50, 75, 95, 95].map((pct) => at(pct, watched).type)).toEqual(['continue', 'mask', 'wind-down', 'restart']);
  });

  it('004 provides 3: a placeholder is generated, the oldest results are masked, and what is masked is known', () => {
    const run = history(9, 800);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const { messages } = watched.maskOldest(2);
    expect(results(messages).map((text) => isPlaceholder(text))).toEqual(range(1, 9).map((n) => n <= 2));
    expect(results(messages)[0]).toBe(describeResult('bash', results(run)[0] ?? ''));
  });

  it('004 provides 3: a manager that was given no messages says so, and never answers an empty conversation', () => {
    const watched = manager();
    expect(at(75, watched)).toEqual({ type: 'mask', count: 3 });
    expect(() => watched.maskOldest(3)).toThrow(PalimpsestError);
    expect(() => watched.restart()).toThrow(PalimpsestError);
    expect(watched.sessionNumber).toBe(1);
  });

  it('004 provides 3: a session whose policy is never masks nothing at the soft threshold', async () => {
    const context = createMemorySession<ChatMessage>({ contextLimit: 10_000, policy: never() });
    await context.add(...history(20, 1600));
    context.manager.recordUsage({ promptTokens: 7500, completionTokens: 0 });
    expect(context.manager.evaluate()).toEqual({ type: 'continue', because: 'nothing-to-mask' });
    expect((await context.mask(3)).masked).toBe(0);
    expect(context.view()).toEqual(context.messages());
  });

  it('004 provides 4: the outcome says how many were masked, now and so far, and what that reclaimed', () => {
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(history(20, 800));
    watched.maskOldest(2);
    const { masked, total, reclaimedPct, notice } = watched.maskOldest(3);
    expect([masked, total]).toEqual([3, 5]);
    expect(reclaimedPct).toBeGreaterThan(3);
    expect(notice).toBe(compressedNotice({ masked, total, reclaimedPct }));
  });

  it('004 provides 4: the total counts what the policy masked before', async () => {
    const context = createMemorySession<ChatMessage>({ contextLimit: 10_000, policy: polling({ turns: 2, every: 4 }) });
    await context.add(...history(11, 800));
    const before = results(context.view()).filter((text) => isPlaceholder(text)).length;
    expect(before).toBeGreaterThan(0);
    const { masked, total } = await context.mask(1);
    expect([masked, total]).toEqual([1, before + 1]);
  });

  it('004 provides 5: the notification has the wording of the document', () => {
    expect(compressedNotice({ masked: 3, total: 10, reclaimedPct: 15.4 })).toBe(
      '[Context compressed: 3 observations masked this round, 10 total, ~15% context reclaimed]',
    );
  });
});

describe('004 patterns', () => {
  it('004 pattern 1, non-additive prompt_tokens: the count IS the full context size, set (not summed) each turn', () => {
    const watched = manager();
    for (const prompt_eval_count of [300, 350, 400]) watched.recordUsage({ prompt_eval_count, eval_count: 25 });
    expect([watched.promptTokens, watched.completionTokens]).toEqual([400, 75]);
  });

  it('004 pattern 2, character fallback: total_chars / 4 when token data is unavailable, with that counter', () => {
    const watched = manager({ counter: charsBy4 });
    watched.setMessages([user(prose(2000 - 16))]);
    expect(watched.usagePct).toBe(50);
    watched.setMessages([user(prose(3600 - 16))]);
    expect(watched.usagePct).toBe(90);
  });

  it('004 pattern 3, graduated threshold zones: soft masks, hard winds down, again hard restarts', () => {
    const watched = manager();
    expect([69.9, 70, 89.9, 90, 90].map((pct) => at(pct, watched).type)).toEqual([
      'continue',
      'mask',
      'mask',
      'wind-down',
      'restart',
    ]);
  });

  it('004 pattern 4, content replacement: role and call id of a masked result stay, and its call is the same object', () => {
    const run = history(20, 800);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const { messages } = watched.maskOldest(5);
    expect(messages[3]).toEqual({ ...run[3], content: messages[3]?.content });
    expect(messages.filter(({ role }) => role !== 'tool')).toEqual(run.filter(({ role }) => role !== 'tool'));
    expect(changedTurns(run, messages)).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('004 key decisions', () => {
  it('004 decision 1: every form of placeholder is recognised as masked, and plain output is not', () => {
    const outputs = ['a line\n'.repeat(40), JSON.stringify({ exit_code: 1, stdout: prose(400) }), prose(400)];
    for (const tool of ['file_read', 'shell_exec', 'file_write', 'search'])
      for (const output of outputs) expect(isPlaceholder(describeResult(tool, output))).toBe(true);
    for (const output of ['masked', '[1, 2, "masked"]', '[masked] and more']) expect(isPlaceholder(output)).toBe(false);
  });

  it('004 decision 2: masking and its count change together', () => {
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(history(20, 800));
    expect([watched.maskOldest(4).masked, watched.maskedTotal]).toEqual([4, 4]);
    expect([watched.maskOldest(2).masked, watched.maskedTotal]).toEqual([2, 6]);
  });

  it('004 decision 3: no message is changed in place', () => {
    const run = history(9, 800);
    const before = structuredClone(run);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    watched.maskOldest(2);
    expect(run).toEqual(before);
  });

  it('004 decision 4: DEFAULT_MASK_BATCH_SIZE = 3 per evaluation round (tunable)', () => {
    expect(at(75)).toEqual({ type: 'mask', count: 3 });
    expect(at(75, manager({ maskBatch: 7 }))).toEqual({ type: 'mask', count: 7 });
  });
});

describe('004 patterns established', () => {
  it('004 established 1: evaluate() is the single decision point: masking, recording and asking decide nothing', () => {
    const watched = manager();
    watched.setMessages(history(8, 100));
    at(75, watched);
    const before = watched.state();
    watched.notice();
    watched.carryover();
    watched.preflight([user('hi')]);
    expect(watched.state()).toEqual(before);
  });

  it('004 established 2: masking never removes messages, only replaces content', () => {
    const run = history(20, 800);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    expect(watched.maskOldest(100).messages).toHaveLength(run.length);
  });

  it('004 established 3: placeholders preserve enough info: line count, exit code, byte size', () => {
    const outputs = {
      file_read: `# Title\n${'a line of the file\n'.repeat(40)}`,
      shell_exec: JSON.stringify({ exit_code: 2, stdout: prose(900), stderr: '' }),
      file_write: `wrote it: ${prose(300)}`,
      search: prose(500),
    };
    const run = [
      user('go'),
      ...Object.entries(outputs).flatMap(([tool, output]) => toolTurn({ id: tool, tool, output })),
      ...history(8).slice(2),
    ];
    const watched = manager({ contextLimit: 100_000 });
    watched.setMessages(run);
    expect(results(watched.maskOldest(4).messages).slice(0, 4)).toEqual([
      '[file_read result masked -- 41 lines, starts with: # Title]',
      '[shell_exec result masked -- exit_code=2, stdout=900 bytes]',
      '[file_write result masked -- 310 bytes]',
      '[search result masked -- 500 bytes of output]',
    ]);
  });

  it.each([
    ['bash', JSON.stringify({ exit_code: 1, stdout: prose(900) }), 'exit_code=1, stdout=900 bytes'],
    ['run_shell_command', JSON.stringify({ exit_code: 0, stdout: prose(900) }), 'exit_code=0, stdout=900 bytes'],
    ['shell', JSON.stringify({ output: prose(900), metadata: { exit_code: 0 } }), 'exit_code=0, stdout=900 bytes'],
    ['read_file', `# Title\n${'a line of the file\n'.repeat(40)}`, '41 lines, starts with: # Title'],
    ['Read', `# Title\n${'a line of the file\n'.repeat(40)}`, '41 lines, starts with: # Title'],
  ])('004 established 3: the placeholder of %s is as informative', (tool, output, about) => {
    expect(describeResult(tool, output)).toBe(`[${tool} result masked -- ${about}]`);
  });
});

describe('004 accomplishments', () => {
  it('004 accomplishment 1: the session and its turns are counted', async () => {
    const session = await openSession<ChatMessage>({ directory: scratchFolder('seed-004'), id: 'count' });
    await session.add(...history(4));
    expect([session.number, session.turns]).toEqual([1, 4]);
    await session.restart();
    expect(session.number).toBe(2);
    await session.close();
  });

  it('004 accomplishment 2: each zone begins exactly at its threshold', () => {
    expect([at(69.99).type, at(70).type]).toEqual(['continue', 'mask']);
    const masked = manager();
    at(75, masked);
    expect(at(89.99, masked).type).toBe('mask');
    expect(at(90, masked).type).toBe('wind-down');
  });

  it('004 accomplishment 3: the placeholder has tool name, line count, exit code and byte size', () => {
    expect(describeResult('file_read', 'first\nsecond\nthird')).toBe(
      '[file_read result masked -- 3 lines, starts with: first]',
    );
    expect(describeResult('shell_exec', '{"exit_code":0,"stdout":"hello world"}')).toBe(
      '[shell_exec result masked -- exit_code=0, stdout=11 bytes]',
    );
    expect(describeResult('shell_exec', prose(77))).toBe('[shell_exec result masked -- 77 bytes of output]');
  });

  it('004 accomplishment 4: it walks oldest first, skips what is masked, and names the tool of the call', () => {
    const run = [
      user('go'),
      ...toolTurn({ id: 'a', tool: 'search', output: describeResult('search', prose(900)) }),
      ...toolTurn({ id: 'b', tool: 'weather', output: prose(900) }),
      ...history(8, 800).slice(2),
    ];
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const { messages, masked } = watched.maskOldest(2);
    expect(masked).toBe(2);
    expect(changedTurns(run, messages)).toEqual([2, 3]);
    expect(results(messages)[1]).toBe('[weather result masked -- 900 bytes of output]');
  });
});

describe('004 next phase: the loop', () => {
  it('004 next phase: in a run results are masked from the soft threshold on, the model is told, and nothing restarts', async () => {
    const context = createMemorySession<ChatMessage>({ contextLimit: 20_000 });
    const masked: number[] = [];
    const { requests, result } = await runLoop({
      iterations: 20,
      output: () => prose(6000),
      context,
      onEvent: (event) => {
        if (event.type === 'masked') masked.push(event.masked);
      },
    });
    expect(result).toMatchObject({ status: 'complete', restarts: 0 });
    expect(masked.length).toBeGreaterThan(0);
    for (const count of masked) expect(count).toBeGreaterThanOrEqual(3);
    expect(contents(requests.at(-1) ?? []).join('\n')).toMatch(
      /\[Context compressed: \d+ observations masked this round/,
    );
  });
});

describe('004 Accomplishment 5: the unit tests, by their names', () => {
  it('004 test_continue_when_under_soft_threshold', () => {
    expect(at(50)).toEqual({ type: 'continue' });
  });

  it('004 test_mask_when_at_soft_threshold', () => {
    expect(at(75)).toEqual({ type: 'mask', count: 3 });
  });

  it('004 test_winddown_when_at_hard_threshold, once masking was tried', () => {
    const watched = manager();
    at(75, watched);
    const action = at(92, watched);
    expect(action.type === 'wind-down' && action.notice).toMatch(/^\[Context window 92% full\. Please wrap up/);
  });

  it('004 test_restart_after_winddown', () => {
    const watched = manager();
    expect([at(75, watched), at(92, watched), at(95, watched)].map(({ type }) => type)).toEqual([
      'mask',
      'wind-down',
      'restart',
    ]);
  });

  it('004 test_fallback_char_heuristic: with characters / 4, 2000 of them are half of 1000 tokens', () => {
    const watched = manager({ counter: (text) => Math.ceil(text.length / 4) });
    watched.setMessages([user(prose(2000 - 16))]);
    expect(watched.usagePct).toBe(50);
    expect(watched.evaluate()).toEqual({ type: 'continue' });
  });

  it('004 test_prompt_tokens_not_additive', () => {
    const watched = manager();
    watched.recordUsage({ promptTokens: 300, completionTokens: 10 });
    watched.recordUsage({ promptTokens: 500, completionTokens: 20 });
    expect([watched.promptTokens, watched.completionTokens]).toEqual([500, 30]);
  });

  it('004 test_mask_oldest_observations_walks_oldest_first', () => {
    const run = history(9, 800);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    expect(changedTurns(run, watched.maskOldest(2).messages)).toEqual([1, 2]);
  });

  it('004 test_mask_skips_already_masked', () => {
    const run = history(9, 800);
    run[3] = answer('c1', describeResult('bash', run[3]?.content ?? ''));
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const { messages, masked } = watched.maskOldest(2);
    expect([masked, changedTurns(run, messages)]).toEqual([2, [2, 3]]);
  });

  it('004 test_generate_mask_notification', () => {
    expect(compressedNotice({ masked: 3, total: 10, reclaimedPct: 15 })).toBe(
      '[Context compressed: 3 observations masked this round, 10 total, ~15% context reclaimed]',
    );
  });
});

describe('004 affects session continuity: carryover, by the names of its tests', () => {
  it('004 extract_carryover_returns_empty_for_zero_turns, but for the task, which is never lost', () => {
    expect(extractCarryover(history(10), { turns: 0, format: chat })).toEqual(history(0));
  });

  it('004 extract_carryover_returns_empty_for_empty_messages', () => {
    expect(extractCarryover([], { turns: 5, format: chat })).toEqual([]);
  });

  it('004 extract_carryover_preserves_complete_turns', () => {
    const run = [user('go'), ...range(1, 6).flatMap((n) => [reply(`reply ${n}`), user(`question ${n}`)])];
    expect(extractCarryover(run, { turns: 2, format: chat })).toEqual([run[0], ...run.slice(-4)]);
  });

  it('004 extract_carryover_does_not_split_tool_call_pairs', () => {
    const run = [
      user('go'),
      ...range(1, 10).flatMap((n) => [parallelCalls(`a${n}`, `b${n}`), answer(`a${n}`, 'x'), answer(`b${n}`, 'y')]),
    ];
    for (const turns of range(0, 10)) expect(unpaired(extractCarryover(run, { turns, format: chat }))).toEqual([]);
  });
});
