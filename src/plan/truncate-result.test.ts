import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loneSurrogates } from '../laws/text.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import { estimateTokens } from '../tokens/estimate-tokens.ts';
import { truncateResult } from './truncate-result.ts';

const TEXT = Array.from({ length: 52_000 }, (_, i) => String(i % 10_000).padStart(4, '0')).join('');

describe('truncateResult', () => {
  it('leaves alone what fits', () => {
    expect(truncateResult('short')).toBe('short');
    expect(truncateResult('x'.repeat(32_000))).toBe('x'.repeat(32_000));
    expect(truncateResult('', { maxTokens: 1 })).toBe('');
  });

  it('keeps the first 8000 tokens and says so', () => {
    const cut = truncateResult(TEXT);
    expect(cut.endsWith('\n\n[truncated: kept first ~8000 of ~52000 tokens (head)]')).toBe(true);
    expect(TEXT.startsWith(cut.slice(0, cut.indexOf('\n\n[')))).toBe(true);
    expect(estimateTokens(cut)).toBe(8000);
  });

  it('keeps the last tokens behind the indicator', () => {
    const cut = truncateResult(TEXT, { strategy: 'tail' });
    const indicator = '[truncated: kept last ~8000 of ~52000 tokens (tail)]\n\n';
    expect(cut.startsWith(indicator)).toBe(true);
    expect(TEXT.endsWith(cut.slice(indicator.length))).toBe(true);
    expect(estimateTokens(cut)).toBe(8000);
  });

  it('keeps both ends in equal parts around the indicator', () => {
    const cut = truncateResult(TEXT, { strategy: 'both' });
    const [head = '', tail = ''] = cut.split('\n\n[truncated: kept first+last ~8000 of ~52000 tokens (both)]\n\n');
    expect(TEXT.startsWith(head) && TEXT.endsWith(tail)).toBe(true);
    expect(Math.abs(head.length - tail.length)).toBeLessThanOrEqual(1);
    expect(estimateTokens(cut)).toBe(8000);
  });

  it('shows the handle of the original inside the indicator', () => {
    const cut = truncateResult(TEXT, { maxTokens: 100, handle: ' · recall p_x' });
    expect(cut.endsWith('\n\n[truncated: kept first ~100 of ~52000 tokens (head) · recall p_x]')).toBe(true);
  });

  it('does without the indicator where that alone would be too much', () => {
    expect(truncateResult(TEXT, { maxTokens: 3 })).toBe(TEXT.slice(0, 12));
    expect(truncateResult(TEXT, { maxTokens: 3, strategy: 'tail' })).toBe(TEXT.slice(-12));
    expect(truncateResult(TEXT, { maxTokens: 3, strategy: 'both' })).toBe(TEXT.slice(0, 6) + TEXT.slice(-6));
  });

  it('never exceeds the cap, is never empty, splits no character: any counter, strategy and cap', () => {
    const counters = [
      estimateTokens,
      countTokens,
      (text: string) => text.length,
      (text: string) => Math.ceil(text.length / 3),
    ];
    const text = fc.string({
      unit: fc.constantFrom('a', ' ', '\n', '漢', '😀', 'word', '9'),
      minLength: 1,
      maxLength: 400,
    });
    fc.assert(
      fc.property(
        text,
        fc.constantFrom(...counters),
        fc.constantFrom('head' as const, 'tail' as const, 'both' as const),
        fc.integer({ min: 2, max: 120 }),
        (original, counter, strategy, maxTokens) => {
          const cut = truncateResult(original, { counter, strategy, maxTokens });
          expect(cut).not.toBe('');
          expect(loneSurrogates(cut)).toBe(0);
          // One character that is wider than the cap is kept all the same: nothing may be empty.
          if (cut.length > 2) expect(counter(cut)).toBeLessThanOrEqual(maxTokens);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it.each(['head', 'tail', 'both'] as const)(
    '%s: the gap around the indicator counts too, at every cap',
    (strategy) => {
      const counter = (text: string): number => text.length;
      for (let maxTokens = 1; maxTokens < 120; maxTokens++) {
        const cut = truncateResult(TEXT, { counter, strategy, maxTokens });
        expect([maxTokens, cut.length <= maxTokens]).toEqual([maxTokens, true]);
      }
    },
  );

  it('cuts 10 MB', () => {
    for (const unit of ['x', '漢', '😀', 'word ']) {
      expect(estimateTokens(truncateResult(unit.repeat(10_000_000 / unit.length)))).toBeLessThanOrEqual(8000);
    }
  });
});
