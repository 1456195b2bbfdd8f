import { describe, expect, it } from 'vitest';
import { changedTurns, history, range, results, toolTurn, user } from '../../../test/support/chat.ts';
import { type ChatMessage, fit } from '../../index.ts';
import { ContextManager } from '../../manager/context/context-manager.ts';
import { type OldestBatchOptions, oldestBatch } from './oldest-batch.ts';

const masked = (turns: number, options?: OldestBatchOptions): number[] => {
  const messages = history(turns);
  return changedTurns(messages, fit(messages, { policy: oldestBatch(options) }).messages);
};

describe('oldestBatch', () => {
  it('waits for a complete batch outside the window, and masks the oldest', () => {
    const lengths = range(0, 12).map((turns) => masked(turns, { count: 3, window: 2 }).length);
    expect(lengths).toEqual([0, 0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9]);
    expect(masked(8, { count: 3, window: 2 })).toEqual(range(1, 6));
  });
  it('never masks a result inside the window', () => {
    for (const count of range(1, 5))
      for (const window of range(0, 4))
        for (const t of range(0, 10)) {
          const old = Math.max(0, t - window);
          expect(masked(t, { count, window })).toEqual(range(1, old - (old % count)));
        }
  });
  it('takes 3 at a time and keeps 10 turns where nothing is said', () => {
    expect([12, 13, 15, 16].map((turns) => masked(turns).length)).toEqual([0, 3, 3, 6]);
  });
  it('describes each result in the words of its tool', () => {
    const messages = [
      user('t'),
      ...toolTurn({ id: 'a', tool: 'file_read', output: 'import x\n'.repeat(50) }),
      ...toolTurn({ id: 'b', tool: 'shell_exec', output: `{"exit_code":2,"stdout":"${'o'.repeat(300)}"}` }),
      ...toolTurn({ id: 'c', tool: 'grep', output: 'match\n'.repeat(60) }),
    ];
    expect(results(fit(messages, { policy: oldestBatch({ count: 3, window: 0 }) }).messages)).toEqual([
      '[file_read result masked -- 50 lines, starts with: import x]',
      '[shell_exec result masked -- exit_code=2, stdout=300 bytes]',
      '[grep result masked -- 360 bytes of output]',
    ]);
  });
  it.each([
    ['bash', '{"command":"make"}', `{"exit_code":1,"stderr":"${'e'.repeat(300)}"}`, 'exit_code=1, stdout=0 bytes'],
    ['execute_command', '{}', `{"exit_code":0,"stdout":"${'o'.repeat(300)}"}`, 'exit_code=0, stdout=300 bytes'],
    ['Read', '{"file_path":"a.ts"}', 'import x\n'.repeat(50), '50 lines, starts with: import x'],
    ['str_replace_based_edit_tool', '{"command":"view","path":"a"}', 'a b\n'.repeat(50), '50 lines, starts with: a b'],
    ['str_replace_based_edit_tool', '{"command":"insert","path":"a"}', 'done\n'.repeat(50), '250 bytes'],
  ])('knows %s %s by its kind, through fit and through a ContextManager', (name, args, output, said) => {
    const messages: ChatMessage[] = [
      user('t'),
      { role: 'assistant', content: '', toolCalls: [{ id: 'a', name, arguments: args }] },
      { role: 'tool', content: output, name, toolCallId: 'a' },
      { role: 'assistant', content: 'Next.' },
    ];
    const expected = [`[${name} result masked -- ${said}]`];
    expect(results(fit(messages, { policy: oldestBatch({ count: 1, window: 0 }) }).messages)).toEqual(expected);
    const manager = new ContextManager<ChatMessage>({ contextLimit: 1000, format: 'chat', carryoverTurns: 0 });
    manager.setMessages(messages);
    expect(results(manager.maskOldest(1).messages)).toEqual(expected);
  });
  it('does not count what it may not mask towards a batch', () => {
    const messages = history(6);
    const options = { count: 2, window: 1, pinned: ({ turn }: { turn: number }) => turn % 2 === 1 };
    expect(changedTurns(messages, fit(messages, { policy: oldestBatch(options) }).messages)).toEqual([2, 4]);
  });
  it('says why it waits', () => {
    expect(fit(history(2), { policy: oldestBatch() }).report.decision).toEqual({
      act: 'wait',
      because: 'fewer than 3 results outside the window',
    });
  });
});
