import { describe, expect, it } from 'vitest';
import { changedTurns, history, range, toolTurn, user } from '../../../test/support/chat.ts';
import { createPlanner, fit } from '../../index.ts';
import { type ClearToolUsesOptions, clearToolUses } from './clear-tool-uses.ts';

/** A result is 100 tokens here, a turn 114, a masked one 18, and 13 come before the first. */
const counter = (text: string): number => Math.ceil(text.length / 10);
const messages = history(8);
const size = (turns: number): number => fit(history(turns), { counter }).report.tokens.before;
const masked = (options: ClearToolUsesOptions, turns = 8): number[] => {
  const list = history(turns);
  return changedTurns(list, fit(list, { policy: clearToolUses(options), counter }).messages);
};

describe('clearToolUses', () => {
  it('waits up to the trigger, and masks all but the last `keep` above it', () => {
    expect(masked({ trigger: size(8) })).toEqual([]);
    expect(masked({ trigger: size(8) - 1 })).toEqual(range(1, 5));
    expect(masked({ trigger: size(8) - 1, keep: 0 })).toEqual(range(1, 8));
    expect(masked({ trigger: size(8) - 1, keep: 7 })).toEqual([1]);
    expect(masked({ trigger: size(8) - 1, keep: 99 })).toEqual([]);
  });
  it('after a mask it waits until the trigger is passed again', () => {
    const planner = createPlanner({ format: 'chat', policy: clearToolUses({ trigger: 500, keep: 1 }), counter });
    const list = history(10);
    planner.add(...list.slice(0, 2));
    const acts = range(1, 10).map((turn) => {
      const { report } = planner.add(...list.slice(2 * turn, 2 * turn + 2));
      return report.decision.act === 'mask' ? report.maskedCount : report.decision.because;
    });
    const wait = 'below the trigger';
    expect(acts).toEqual([wait, wait, wait, wait, 4, wait, wait, 7, wait, wait]);
  });
  it('frees `clearAtLeast` or nothing', () => {
    expect(masked({ trigger: 100, keep: 3, clearAtLeast: 10_000 })).toEqual([]);
    const all = masked({ trigger: 100, keep: 0, clearAtLeast: 300 });
    expect(all).toEqual(range(1, 6));
  });
  it('leaves out excludeTools and keepTools', () => {
    const list = [
      user('t'),
      ...range(1, 6).flatMap((i) =>
        toolTurn({ id: `c${i}`, tool: ['read', 'grep', 'bash'][i % 3] as string, output: `${i}`.repeat(1000) }),
      ),
    ];
    const policy = clearToolUses({ trigger: 0, keep: 0, excludeTools: ['read'], keepTools: ['grep'] });
    expect(changedTurns(list, fit(list, { policy, counter }).messages)).toEqual([2, 5]);
  });
  it('has a trigger of 100,000 and keeps 3 where nothing is said', () => {
    const fitted = (turns: number) => fit(history(turns), { policy: clearToolUses(), counter }).report;
    const turns = range(500, 910).find((t) => size(t) > 100_000) as number;
    expect(fitted(turns - 1).maskedCount).toBe(0);
    expect(fitted(turns).maskedCount).toBe(turns - 3);
  });
  it('says why it waits', () => {
    expect(fit(messages, { policy: clearToolUses(), counter }).report.decision).toEqual({
      act: 'wait',
      because: 'below the trigger',
      tokens: size(8),
      trigger: 100_000,
    });
  });
});
