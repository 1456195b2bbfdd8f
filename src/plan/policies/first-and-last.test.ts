import { describe, expect, it } from 'vitest';
import {
  answer,
  changedTurns,
  history,
  parallelCalls,
  prose,
  range,
  results,
  user,
} from '../../../test/support/chat.ts';
import { type ChatMessage, fit } from '../../index.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import { type FirstAndLastOptions, firstAndLast } from './first-and-last.ts';

const masked = (turns: number, options?: FirstAndLastOptions): number[] => {
  const messages = history(turns);
  return changedTurns(messages, fit(messages, { policy: firstAndLast(options) }).messages);
};

describe('firstAndLast', () => {
  it('masks exactly the results between the first and the last', () => {
    for (const keepFirst of range(0, 3))
      for (const keepLast of range(0, 4))
        for (const t of range(0, 8)) {
          const expected = keepFirst + keepLast === 0 ? [] : range(keepFirst + 1, t - keepLast);
          expect(masked(t, { keepFirst, keepLast })).toEqual(expected);
        }
  });
  it('keeps the first 2 and the last 5 where nothing is said', () => {
    expect([7, 8, 10].map((turns) => masked(turns))).toEqual([[], [3], [3, 4, 5]]);
  });
  it('is off when both are 0, and says so', () => {
    const { report, plan } = fit(history(9), { policy: firstAndLast({ keepFirst: 0, keepLast: 0 }) });
    expect(plan.edits).toEqual([]);
    expect(report.decision).toEqual({ act: 'off', because: 'keepFirst and keepLast are both 0' });
  });
  it('keepLast 0 masks all behind the first, not nothing', () => {
    expect(masked(4, { keepFirst: 1, keepLast: 0 })).toEqual([2, 3, 4]);
  });
  it('says how many tokens it hid', () => {
    const messages = history(4);
    const { messages: fitted } = fit(messages, { policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) });
    const tokens = countTokens(results(messages)[1] as string);
    expect(results(fitted)[1]).toBe(`[result masked — ~${tokens} tokens removed]`);
  });
  it('counts results, not turns', () => {
    const messages = [
      user('t'),
      parallelCalls('a', 'b', 'c', 'd'),
      ...['a', 'b', 'c', 'd'].map((id) => answer(id, prose(900, id))),
    ];
    const { messages: fitted } = fit(messages, { policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) });
    expect(changedTurns(messages, fitted)).toEqual([2, 3]);
  });
  it('masks small results too, where the placeholder is smaller', () => {
    const messages = history(4, 160);
    expect(fit(messages, { policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) }).report.maskedCount).toBe(2);
    const tiny = history(4, 20);
    expect(fit(tiny, { policy: firstAndLast({ keepFirst: 1, keepLast: 1 }) }).plan.edits).toEqual([]);
  });
  it('after a drop, what now comes first is not what came first', () => {
    const [prompt, ...rest] = history(6);
    const notice: ChatMessage = { role: 'system', content: '[conversation truncated — 4 older messages omitted]' };
    const messages = [prompt as ChatMessage, notice, ...rest];
    const { messages: fitted } = fit(messages, { policy: firstAndLast({ keepFirst: 2, keepLast: 2 }) });
    expect(changedTurns(messages, fitted)).toEqual([1, 2, 3, 4]);
  });
});
