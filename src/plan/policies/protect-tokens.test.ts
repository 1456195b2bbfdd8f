import { describe, expect, it } from 'vitest';
import { changedTurns, history, range, results } from '../../../test/support/chat.ts';
import { createPlanner, fit } from '../../index.ts';
import { geminiCli, type ProtectTokensOptions, protectTokens } from './protect-tokens.ts';

/** Every result is 100 tokens here. */
const counter = (text: string): number => Math.ceil(text.length / 10);
const masked = (turns: number, options?: ProtectTokensOptions): number[] => {
  const messages = history(turns);
  return changedTurns(messages, fit(messages, { policy: protectTokens(options), counter }).messages);
};

describe('protectTokens', () => {
  it('keeps the newest results up to `protect` tokens', () => {
    for (const kept of range(0, 5)) {
      expect(masked(6, { protect: 100 * kept, atLeast: 0 })).toEqual(range(1, 6 - kept));
      expect(masked(6, { protect: 100 * kept + 99, atLeast: 0 })).toEqual(range(1, 6 - kept));
    }
  });
  it('acts only if `atLeast` tokens can be freed', () => {
    expect(masked(6, { protect: 300, atLeast: 301 })).toEqual([]);
    expect(masked(6, { protect: 300, atLeast: 300 })).toEqual([1, 2, 3]);
  });
  it('once it acted, waits until so much has piled up again', () => {
    const planner = createPlanner({ format: 'chat', policy: protectTokens({ protect: 200, atLeast: 300 }), counter });
    const messages = history(12);
    planner.add(...messages.slice(0, 2));
    const counts = range(1, 12).map(
      (turn) => planner.add(...messages.slice(2 * turn, 2 * turn + 2)).report.maskedCount,
    );
    expect(counts).toEqual([0, 0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9]);
  });
  it('protects 40,000 and frees 20,000 at least where nothing is said', () => {
    expect([600, 599].map((turns) => masked(turns).length)).toEqual([200, 0]);
  });
  it('says how much waits', () => {
    const { decision } = fit(history(5), { policy: protectTokens({ protect: 300, atLeast: 900 }), counter }).report;
    expect(decision).toEqual({ act: 'wait', because: 'too little can be freed', tokens: 200 });
  });
  it('writes the house placeholder', () => {
    const { messages } = fit(history(2), { policy: protectTokens({ protect: 100, atLeast: 0 }), counter });
    expect(results(messages)[0]).toBe('[bash: 1 line, 1000 chars masked]');
  });
});

describe('geminiCli', () => {
  it('protects 50,000 and frees 30,000 at least, or what it is told', () => {
    const count = (turns: number, options = {}) =>
      fit(history(turns), { policy: geminiCli(options), counter }).report.maskedCount;
    expect([count(799), count(800)]).toEqual([0, 300]);
    expect(count(6, { protect: 100, atLeast: 100 })).toBe(5);
  });
});
