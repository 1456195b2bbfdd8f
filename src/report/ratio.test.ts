import { describe, expect, it } from 'vitest';
import { logRatio, logTypical, type Part, share, sharesOf } from './ratio.ts';

const parts = (...pairs: readonly (readonly [number, number])[]): Part[] =>
  pairs.map(([part, whole]) => ({ part, whole }));

describe('logRatio', () => {
  it('is the ratio of the sums, not the mean of ratios', () => {
    expect(Math.exp(logRatio(parts([1, 1], [30, 10], [2, 1]))?.value ?? 0)).toBeCloseTo(33 / 12);
  });

  it('has no variance where every session has the same ratio, however different their sizes', () => {
    expect(logRatio(parts([1, 2], [50, 100], [7, 14]))?.variance).toBeCloseTo(0);
  });

  it('has the variance of a mean of logarithms where sessions are alike in size', () => {
    const values = Array.from({ length: 1000 }, (_, i) => 1 + (i % 2 ? 0.1 : -0.1));
    expect(logRatio(values.map((part) => ({ part, whole: 1 })))?.variance).toBeCloseTo(0.01 / 1000, 7);
  });

  it('counts few degrees of freedom where one session carries the variance', () => {
    const even = parts(...Array.from({ length: 50 }, (_, i) => [10 + (i % 7), 10] as const));
    expect(logRatio(even)?.freedom).toBeGreaterThan(40);
    expect(logRatio([...even, { part: 4000, whole: 100 }])?.freedom).toBeLessThan(4);
  });

  it.each([
    ['one session', parts([1, 1])],
    ['no cost', parts([0, 1], [0, 1])],
    ['one session that has all of it', parts([5, 1], [0, 1], [0, 1])],
  ])('says nothing of %s', (_, given) => {
    expect(logRatio(given)).toBeUndefined();
  });
});

describe('logTypical', () => {
  it('is hardly moved by one huge session', () => {
    const usual = Array.from({ length: 99 }, () => 10);
    expect(Math.exp(logTypical([...usual, 100_000])?.value ?? 0)).toBeLessThan(11);
  });
});

describe('sharesOf', () => {
  it('says nothing of an event that never happened', () => {
    expect(sharesOf(parts([0, 5], [0, 5]), parts([0, 5], [0, 5]))).toBeUndefined();
  });

  it('takes no arm for certain because the event has not happened in it yet', () => {
    const failing = parts(...Array.from({ length: 300 }, (_, i) => [i % 10 === 0 ? 1 : 0, 10] as const));
    const spared = parts(...Array.from({ length: 20 }, () => [0, 10] as const));
    expect(share(spared)?.variance).toBe(0);
    const [, second] = sharesOf(failing, spared) ?? [];
    expect(second?.variance).toBeGreaterThan(2e-6);
  });
});
