// The document "ContextManager", as far as it is not about disk or a running loop: its behaviour by its own words, the
// tests of the original, and what was wrong with it.
import { describe, expect, it } from 'vitest';
import { type ChatMessage, chat, countTokens, describeResult, isPlaceholder, oldestBatch } from '../../src/index.ts';
import { ContextManager, extractCarryover } from '../../src/manager/index.ts';
import { compressedNotice, isManagerNotice } from '../../src/manager/notices.ts';
import {
  answer,
  changedTurns,
  contents,
  history,
  isWhole,
  parallelCalls,
  prose,
  range,
  reply,
  results,
  system,
  toolTurn,
  unpaired,
  user,
} from '../seeds/support.ts';

const manager = (options: ConstructorParameters<typeof ContextManager<ChatMessage>>[0] = {}) =>
  new ContextManager<ChatMessage>({ contextLimit: 1000, format: chat, ...options });
const at = (pct: number, watched = manager()) => {
  watched.recordUsage({ promptTokens: (pct / 100) * watched.contextLimit, completionTokens: 10 });
  return watched.evaluate();
};

describe('what the document asks for', () => {
  it('Non-additive prompt_tokens: IS the full context size, set (not summed) each turn', () => {
    const watched = manager();
    for (const prompt_eval_count of [300, 350, 400]) watched.recordUsage({ prompt_eval_count, eval_count: 25 });
    expect([watched.promptTokens, watched.completionTokens]).toEqual([400, 75]);
  });

  it('Fallback heuristic: the size of the messages when token data is unavailable', () => {
    const watched = manager({ counter: (text) => Math.ceil(text.length / 4) });
    watched.setMessages([user(prose(1984))]);
    expect(watched.usagePct).toBe(50);
  });

  it('Graduated threshold zones: Continue (<70%), Mask (70-90%), WindDown (first time >=90%), Restart (repeat >=90%)', () => {
    const watched = manager();
    expect([at(69.9, watched), at(70, watched), at(89.9, watched)].map(({ type }) => type)).toEqual([
      'continue',
      'mask',
      'mask',
    ]);
    expect([at(90, watched), at(90, watched)].map(({ type }) => type)).toEqual(['wind-down', 'restart']);
  });

  it('evaluate() is the single decision point: masking, recording and asking decide nothing', () => {
    const watched = manager();
    at(75, watched);
    const before = watched.state();
    watched.notice();
    watched.carryover();
    watched.preflight([user('hi')]);
    expect(watched.state()).toEqual(before);
  });

  it('Observation masking never removes messages, only replaces content: role and call id stay', () => {
    const run = history(20, 800);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const { messages } = watched.maskOldest(5);
    expect(messages.map(({ content: _content, ...rest }) => rest)).toEqual(
      run.map(({ content: _content, ...rest }) => rest),
    );
    expect(changedTurns(run, messages)).toEqual([1, 2, 3, 4, 5]);
  });

  it('Placeholders preserve enough info: line count, exit code, byte size', () => {
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

  it('DEFAULT_MASK_BATCH_SIZE = 3 per evaluation round (tunable)', () => {
    expect(at(75)).toEqual({ type: 'mask', count: 3 });
    expect(at(75, manager({ maskBatch: 7 }))).toEqual({ type: 'mask', count: 7 });
  });
});

describe('ouro: context_manager', () => {
  it('context_manager: test_continue_when_under_soft_threshold', () => {
    expect(at(50)).toEqual({ type: 'continue' });
  });

  it('context_manager: test_mask_when_at_soft_threshold', () => {
    expect(at(75)).toEqual({ type: 'mask', count: 3 });
  });

  it('context_manager: test_winddown_when_at_hard_threshold, once masking was tried', () => {
    const watched = manager();
    at(75, watched);
    const action = at(92, watched);
    expect(action.type === 'wind-down' && action.notice).toMatch(/^\[Context window 92% full\. Please wrap up/);
  });

  it('context_manager: test_restart_after_winddown', () => {
    const watched = manager();
    expect([at(75, watched), at(92, watched), at(95, watched)].map(({ type }) => type)).toEqual([
      'mask',
      'wind-down',
      'restart',
    ]);
  });

  it('context_manager: test_fallback_char_heuristic: with characters / 4, 2000 of them are half of 1000 tokens', () => {
    const watched = manager({ counter: (text) => Math.ceil(text.length / 4) });
    watched.setMessages([user(prose(2000 - 16))]);
    expect(watched.usagePct).toBe(50);
    expect(watched.evaluate()).toEqual({ type: 'continue' });
  });

  it('context_manager: test_prompt_tokens_not_additive', () => {
    const watched = manager();
    watched.recordUsage({ promptTokens: 300, completionTokens: 10 });
    watched.recordUsage({ promptTokens: 500, completionTokens: 20 });
    expect([watched.promptTokens, watched.completionTokens]).toEqual([500, 30]);
  });

  it('context_manager: test_mask_oldest_observations_walks_oldest_first', () => {
    const run = history(9, 800);
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    expect(changedTurns(run, watched.maskOldest(2).messages)).toEqual([1, 2]);
  });

  it('context_manager: test_mask_skips_already_masked', () => {
    const run = history(9, 800);
    run[3] = answer('c1', describeResult('bash', run[3]?.content ?? ''));
    const watched = manager({ contextLimit: 10_000 });
    watched.setMessages(run);
    const { messages, masked } = watched.maskOldest(2);
    expect([masked, changedTurns(run, messages)]).toEqual([2, [2, 3]]);
  });

  it('context_manager: test_generate_mask_notification', () => {
    expect(compressedNotice({ masked: 3, total: 10, reclaimedPct: 15 })).toBe(
      '[Context compressed: 3 observations masked this round, 10 total, ~15% context reclaimed]',
    );
  });
});

describe('ouro: agent_loop, carryover', () => {
  it('agent_loop: extract_carryover_returns_empty_for_zero_turns, but for the task, which is never lost', () => {
    expect(extractCarryover(history(10), { turns: 0, format: chat })).toEqual(history(0));
  });

  it('agent_loop: extract_carryover_returns_empty_for_empty_messages', () => {
    expect(extractCarryover([], { turns: 5, format: chat })).toEqual([]);
  });

  it('agent_loop: extract_carryover_preserves_complete_turns', () => {
    const run = [user('go'), ...range(1, 6).flatMap((n) => [reply(`reply ${n}`), user(`question ${n}`)])];
    expect(extractCarryover(run, { turns: 2, format: chat })).toEqual([run[0], ...run.slice(-4)]);
  });

  it('agent_loop: extract_carryover_does_not_split_tool_call_pairs', () => {
    const run = [
      user('go'),
      ...range(1, 10).flatMap((n) => [parallelCalls(`a${n}`, `b${n}`), answer(`a${n}`, 'x'), answer(`b${n}`, 'y')]),
    ];
    for (const turns of range(0, 10)) expect(unpaired(extractCarryover(run, { turns, format: chat }))).toEqual([]);
  });
});

describe('3.6 ouro, what was wrong', () => {
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
