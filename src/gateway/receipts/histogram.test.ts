import { describe, expect, it } from 'vitest';
import { Histogram } from './histogram.ts';

describe('Histogram', () => {
  it('counts what took so long or less, the bound included', () => {
    const histogram = new Histogram([0.1, 1, 10, 100]);
    for (const value of [0, 0.05, 0.5, 1, 5, 50, 1e9]) histogram.add(value);
    expect(histogram.buckets()).toEqual([
      [0.1, 2],
      [1, 4],
      [10, 5],
      [100, 6],
    ]);
    expect([histogram.count, histogram.sum]).toEqual([7, 1_000_000_056.55]);
  });
});
