import { describe, expect, it } from 'vitest';
import { difference, growthToTell, halfWidth, intervalOf, type Sampled } from './interval.ts';

const sampled = (more: Partial<Sampled> = {}): Sampled => ({
  value: 0.3,
  variance: 0.01,
  freedom: 1e9,
  sessions: 60,
  ...more,
});

describe('intervalOf', () => {
  it('is the confidence sequence of Waudby-Smith and others where there are many degrees of freedom', () => {
    // Their formula with rho² = (−2 log α + log(1 − 2 log α)) / 60, computed apart.
    expect(halfWidth(sampled(), 0.05) / 0.1).toBeCloseTo(3.035, 2);
    expect(intervalOf(sampled({ value: 1 }), 0.05)).toEqual({
      value: 1,
      low: expect.closeTo(0.697, 2),
      high: expect.closeTo(1.303, 2),
    });
  });

  it('is wider than an interval for a single look, and never narrower than it', () => {
    for (const sessions of [10, 60, 300, 10_000]) expect(halfWidth(sampled({ sessions }), 0.05)).toBeGreaterThan(0.29);
  });

  it('grows where few sessions carry the variance, as the distribution of Student does', () => {
    // Two-sided tail of 3.035 is 0.0024; Student's point for it with 9 degrees of freedom is 4.17.
    expect(halfWidth(sampled({ freedom: 9 }), 0.05) / 0.1).toBeCloseTo(4.17, 1);
    expect(halfWidth(sampled({ freedom: 0 }), 0.05)).toBeLessThan(Number.POSITIVE_INFINITY);
  });
});

describe('difference', () => {
  it('adds variances, and has the degrees of freedom of the arm that carries them', () => {
    const found = difference(
      sampled({ sessions: 900, variance: 0.0001, freedom: 899 }),
      sampled({ sessions: 100, freedom: 99 }),
    );
    expect(found.variance).toBeCloseTo(0.0101);
    expect(found.freedom).toBeCloseTo(101, 0);
    expect(found.sessions).toBeCloseTo(90);
  });
});

describe('growthToTell', () => {
  it('is 1 where the interval excludes zero', () => {
    expect(growthToTell(sampled({ value: 0.31 }), 0.05, 0)).toBe(1);
  });

  it('leads to an interval that just excludes zero', () => {
    const before = sampled({ value: 0.15 });
    const growth = growthToTell(before, 0.05, 0);
    const after = { ...before, variance: before.variance / growth, sessions: before.sessions * growth };
    expect(halfWidth(after, 0.05)).toBeCloseTo(0.15, 3);
  });

  it('does not wait for less than the least difference', () => {
    expect(growthToTell(sampled({ value: 0 }), 0.05, 0.31)).toBe(1);
    expect(growthToTell(sampled({ value: 0 }), 0.05, 0.1)).toBeGreaterThan(5);
  });
});
