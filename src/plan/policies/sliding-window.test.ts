import { describe, expect, it } from 'vitest';
import { changedTurns, history, range, results } from '../../../test/support/chat.ts';
import { createPlanner, fit, type Policy } from '../../index.ts';
import { openHands, polling, slidingWindow, sweAgent } from './sliding-window.ts';

const masked = (turns: number, policy: Policy): number[] => {
  const messages = history(turns);
  return changedTurns(messages, fit(messages, { policy }).messages);
};

describe('slidingWindow', () => {
  it('masks turn i if and only if i <= t - M', () => {
    for (const t of range(0, 6))
      for (const turns of range(0, 7)) expect(masked(t, slidingWindow({ turns }))).toEqual(range(1, t - turns));
  });
  it('keeps 10 turns where nothing is said', () => {
    expect(masked(13, slidingWindow())).toEqual([1, 2, 3]);
  });
  it('says what the paper says', () => {
    expect(results(fit(history(2), { policy: slidingWindow({ turns: 1 }) }).messages)[0]).toBe(
      '[Observation omitted for brevity]',
    );
  });
  it('moves on every turn, and tells so', () => {
    const planner = createPlanner({ format: 'chat', policy: slidingWindow({ turns: 2 }) });
    const messages = history(5);
    const epochs = range(0, 5).map((t) => {
      const part = t === 0 ? messages.slice(0, 2) : messages.slice(2 * t, 2 * t + 2);
      const { report } = planner.add(...part);
      return [report.epoch, report.decision.act];
    });
    expect(epochs).toEqual([
      [0, 'wait'],
      [0, 'wait'],
      [0, 'wait'],
      [1, 'mask'],
      [2, 'mask'],
      [3, 'mask'],
    ]);
  });
});

describe('presets', () => {
  it('sweAgent keeps 10 turns and says how many lines it omitted', () => {
    const messages = history(12).map((m) => (m.role === 'tool' ? { ...m, content: `${m.content}\nlast line\n` } : m));
    const { messages: fitted } = fit(messages, { policy: sweAgent() });
    expect(changedTurns(messages, fitted)).toEqual([1, 2]);
    expect(results(fitted)[0]).toBe('Old environment output: (2 lines omitted)');
  });
  it('sweAgent takes another window and another placeholder', () => {
    expect(masked(5, sweAgent({ turns: 2 }))).toEqual([1, 2, 3]);
    expect(results(fit(history(2), { policy: sweAgent({ turns: 1, placeholder: 'x' }) }).messages)[0]).toBe('x');
  });
  it('openHands keeps 58 turns, or as many as it is told', () => {
    expect(masked(60, openHands())).toEqual([1, 2]);
    expect(masked(5, openHands({ turns: 4 }))).toEqual([1]);
  });
  it('a window that is undefined is the window of the preset', () => {
    // biome-ignore lint/suspicious/noExplicitAny: what plain JavaScript passes on
    expect(masked(60, openHands({ turns: undefined } as any))).toEqual([1, 2]);
  });
});

describe('polling', () => {
  it('moves its window only every `every` turns', () => {
    const first = range(0, 16).map((turns) => masked(turns, polling({ turns: 3, every: 4 })).length);
    expect(first).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13]);
  });
  it('every 1 is the sliding window', () => {
    for (const t of range(0, 8)) expect(masked(t, polling({ turns: 3, every: 1 }))).toEqual(range(1, t - 3));
  });
  it('keeps 10 turns and moves every 5 where nothing is said', () => {
    expect([14, 15, 19, 20].map((turns) => masked(turns, polling()).length)).toEqual([0, 5, 5, 10]);
  });
  it('masks nothing that is inside the window of `turns`', () => {
    for (const t of range(0, 20))
      for (const turn of masked(t, polling({ turns: 3, every: 4 }))) expect(turn).toBeLessThanOrEqual(t - 3);
  });
  it('between its moves a request begins with the whole of the one before', () => {
    const messages = history(7);
    const fitted = (turns: number) =>
      fit(messages.slice(0, 2 + 2 * turns), { policy: polling({ turns: 1, every: 4 }) }).messages;
    for (const turns of [5, 6, 7]) expect(fitted(turns).slice(0, -2)).toEqual(fitted(turns - 1));
    expect(fitted(4).slice(0, -2)).not.toEqual(fitted(3));
  });
});
