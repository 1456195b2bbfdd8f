import { describe, expect, it } from 'vitest';
import { addMoney, NO_MONEY } from './money-totals.ts';
import { formatDollars, whatIsPriced } from './show-money.ts';

describe('formatDollars', () => {
  it.each([
    [0, '$0'],
    [1e-7, '$0'],
    [0.0000123, '$0.000012'],
    [0.00421, '$0.0042'],
    [0.0999, '$0.10'],
    [0.42, '$0.42'],
    [1.2, '$1.20'],
    [1234.567, '$1,234.57'],
    [1_234_567, '$1,234,567.00'],
    [-0.5, '−$0.50'],
  ])('%d is %s', (dollars, text) => {
    expect(formatDollars(dollars)).toBe(text);
  });
});

describe('whatIsPriced', () => {
  const sums = (requests: number, sent: number) => ({ requests, sent, without: sent * 2, output: 0.2 });

  it('says for how many of the requests the sum is', () => {
    const money = { ...NO_MONEY, billed: sums(40, 1), unpriced: 12 };
    expect(whatIsPriced(money)).toBe('$1.20 billed for 40 of 52 requests; 12 requests have no known price');
    expect(whatIsPriced({ ...money, unpriced: 0 })).toBe('$1.20 billed for 40 requests');
    expect(whatIsPriced({ ...money, subscription: 1 })).toBe(
      '$1.20 billed for 40 of 53 requests; 12 requests have no known price; 1 request is paid by subscription',
    );
    expect(whatIsPriced({ ...NO_MONEY, unpriced: 1 })).toBe('1 request has no known price');
    expect(whatIsPriced(NO_MONEY)).toBe('');
  });

  it('adds billed and estimated money without mixing them', () => {
    const both = addMoney({ ...NO_MONEY, billed: sums(1, 1) }, { ...NO_MONEY, estimated: sums(2, 3), unpriced: 4 });
    expect(both).toEqual({ billed: sums(1, 1), estimated: sums(2, 3), subscription: 0, unpriced: 4 });
    expect(whatIsPriced(both)).toBe(
      '$1.20 billed and $3.20 estimated for 3 of 7 requests; 4 requests have no known price',
    );
  });
});
