import { describe, expect, it } from 'vitest';
import { codeOf } from '../../../test/support/chat.ts';
import { loopBudget } from './loop-budget.ts';

describe('loopBudget', () => {
  it('is what the reply and a margin of a tenth leave of the input', () => {
    expect(loopBudget({ maxInputTokens: 150_000, maxOutputTokens: 8192 })).toBe(150_000 - 8192 - 15_000);
    expect(loopBudget({ maxInputTokens: 100_000 })).toBe(100_000 - 4096 - 10_000);
    expect(loopBudget({ model: 'claude-sonnet-5', maxOutputTokens: 0 })).toBe(180_000);
    expect(loopBudget({ model: 'mine', contextWindows: { mine: 32_768 } })).toBe(32_768 - 4096 - 3276);
    expect(loopBudget()).toBe(128_000 - 4096 - 12_800);
  });

  it.each([
    { maxInputTokens: 0 },
    { maxInputTokens: Number.NaN },
    { maxOutputTokens: -1 },
    { maxInputTokens: 4000, maxOutputTokens: 4000 },
  ])('refuses %j', (options) => {
    expect(codeOf(() => loopBudget(options))).toBe('BAD_OPTION');
  });
});
