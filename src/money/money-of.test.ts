import { describe, expect, it } from 'vitest';
import { priceLists } from '../plan/prices.ts';
import { moneyOf } from './money-of.ts';
import { createPriceBook } from './price-book.ts';

const prices = priceLists['anthropic-5m'];
const M = 1_000_000;

describe('moneyOf', () => {
  it('bills a cached token, one that is written and one of the answer at their own rates', () => {
    const money = (cached: number, written: number, output: number) =>
      moneyOf('claude-opus-5', { cached, written, output }, { prices });
    expect(money(M, 0, 0)).toEqual({ dollars: 0.5, input: 0.5, output: 0 });
    expect(money(0, M, 0)).toEqual({ dollars: 6.25, input: 6.25, output: 0 });
    expect(money(0, 0, M)).toEqual({ dollars: 25, input: 0, output: 25 });
    expect(money(M, M, M)).toEqual({ dollars: 31.75, input: 6.75, output: 25 });
  });

  it('bills a token that was neither read from the cache nor written to it at the base price', () => {
    const tokens = { cached: 5000, written: 10_000, uncached: 10_000 };
    expect(moneyOf('claude-sonnet-4-5', tokens, { prices })?.dollars).toBeCloseTo(0.0315, 12);
    const book = createPriceBook({ mine: { input: 1, output: 2, cacheRead: 0.3, cacheWrite: 3 } });
    expect(moneyOf('mine', { cached: M, written: 3 * M, uncached: M }, { prices, book })?.input).toBeCloseTo(7.3, 12);
  });

  it('takes the multiples of the request, where the model has no rates of its own', () => {
    const written = { cached: 0, written: M };
    expect(moneyOf('claude-opus-5', written, { prices: priceLists['anthropic-1h'] })?.dollars).toBe(10);
    expect(moneyOf('claude-opus-5', written, { prices: priceLists.none })?.dollars).toBe(5);
  });

  it('reads the cache of Claude Opus 5.5 at a twentieth, as its provider bills it', () => {
    expect(moneyOf('claude-opus-5-5', { cached: M, written: 0 }, { prices })?.dollars).toBeCloseTo(0.2, 12);
  });

  it.each([
    ['gemini-2.5-pro', 'gemini', 200_000, 0.25, 200_001, 0.5],
    ['claude-sonnet-4-5', 'none', 200_000, 0.6, 200_001, 1.2],
    ['gpt-5.4', 'gpt-5', 272_000, 0.68, 272_001, 1.36],
    ['qwen3-coder-plus', 'none', 128_000, 0.2304, 128_001, 0.384],
  ] as const)(
    'bills a long prompt of %s at the rates for long ones, the whole of it',
    (model, list, up, low, over, high) => {
      const dollars = (written: number) =>
        moneyOf(model, { cached: 0, written }, { prices: priceLists[list] })?.dollars;
      expect(dollars(up)).toBeCloseTo(low, 4);
      expect(dollars(over)).toBeCloseTo(high, 4);
    },
  );

  it('counts cached tokens towards a long prompt', () => {
    const tokens = { cached: 199_999, written: 2, output: 1000 };
    const { dollars = 0 } = moneyOf('gemini-2.5-pro', tokens, { prices: priceLists.gemini }) ?? {};
    expect(dollars).toBeCloseTo((199_999 * 0.25 + 2 * 2.5 + 1000 * 15) / M, 12);
  });

  it('knows no money where it knows no price, or the model is paid by the month', () => {
    const book = createPriceBook({ 'claude-*': 'subscription' });
    expect(moneyOf('my-model', { cached: 1, written: 1 }, { prices })).toBeUndefined();
    expect(moneyOf(undefined, { cached: 1, written: 1 }, { prices })).toBeUndefined();
    expect(moneyOf('claude-opus-5', { cached: 1, written: 1 }, { prices, book })).toBeUndefined();
  });

  it('takes own rates for the cache before the multiples', () => {
    const book = createPriceBook({ mine: { input: 1, output: 2, cacheRead: 0.3, cacheWrite: 3 } });
    expect(moneyOf('mine', { cached: M, written: M }, { prices, book })?.input).toBeCloseTo(3.3, 12);
  });

  it('adds up to the cent over a million requests', () => {
    let sum = 0;
    for (let i = 0; i < M; i++)
      sum += moneyOf('claude-opus-5', { cached: 7, written: 3, output: 1 }, { prices })?.dollars ?? 0;
    expect(sum).toBeCloseTo(7 * 0.5 + 3 * 6.25 + 25, 6);
  });
});
