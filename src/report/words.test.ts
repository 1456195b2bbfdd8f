import { describe, expect, it } from 'vitest';
import type { HarmMeasure } from './report.ts';
import { costRange, wouldShow } from './words.ts';

describe('costRange', () => {
  it('has both ends', () => {
    expect(costRange({ value: 0.48, low: 0.42, high: 0.55 }, 'dollars')).toBe('$0.42 to $0.55');
    expect(costRange({ value: 4500, low: 4100, high: 5200 }, 'tokens')).toBe('4.1k to 5.2k tokens');
    expect(costRange({ value: 0, low: 0, high: 0 }, 'dollars')).toBe('$0 to $0');
  });

  it('ends at ten times the value, wherever one giant session puts the end', () => {
    expect(costRange({ value: 27, low: 0, high: 7.9e258 }, 'dollars')).toBe('$0 to above $270.00');
    expect(costRange({ value: 4500, low: 0, high: Number.POSITIVE_INFINITY }, 'tokens')).toBe('0 to above 45k tokens');
  });
});

describe('wouldShow', () => {
  const measure = (least: number): HarmMeasure => ({
    ...{ name: 'requests', title: 'requests', kind: 'typical', isHarm: false },
    wouldShow: least,
  });

  it('is signed, also above the largest number that is shown', () => {
    expect([0.12, 40].map((least) => wouldShow(measure(least)))).toEqual(['+12 %', 'above +999 %']);
  });
});
