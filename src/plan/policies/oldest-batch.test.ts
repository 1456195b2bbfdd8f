import { describe, expect, it } from 'vitest';
import { changedTurns, history, range, results, toolTurn, user } from '../../../test/seeds/support.ts';
import { fit } from '../../index.ts';
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
