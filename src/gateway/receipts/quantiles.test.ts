import { describe, expect, it } from 'vitest';
import { Quantiles } from './quantiles.ts';

describe('Quantiles', () => {
  it('are within a tenth of the true ones', () => {
    const quantiles = new Quantiles();
    for (let i = 1; i <= 1000; i++) quantiles.add(i / 10);
    expect(quantiles.at(0.5) / 50).toBeGreaterThanOrEqual(1);
    expect(quantiles.at(0.5) / 50).toBeLessThan(1.1);
    expect(quantiles.at(0.99) / 99).toBeLessThan(1.1);
  });

  it('of nothing are 0', () => {
    expect([new Quantiles().at(0.5), new Quantiles().at(0.99)]).toEqual([0, 0]);
  });
});
