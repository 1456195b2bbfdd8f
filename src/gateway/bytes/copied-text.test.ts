import { describe, expect, it } from 'vitest';
import { CopiedText, isEscaped } from './copied-text.ts';

/** More than one copy holds. */
const LARGE = 70_000;

describe('CopiedText', () => {
  it('finds the next quote that is not escaped', () => {
    const bytes = Buffer.from('a\\"b\\\\"c"');
    const text = new CopiedText();
    expect([0, 7].map((from) => text.closingQuote(bytes, from))).toEqual([6, 8]);
    expect(text.closingQuote(bytes, 9)).toBe(-1);
    expect(text.closingQuote(Buffer.alloc(0), 0)).toBe(-1);
  });

  it('does not count a backslash before the start', () => {
    expect(new CopiedText().closingQuote(Buffer.from('\\"a"'), 1)).toBe(1);
  });

  it('finds a quote behind the end of a copy, and one that a backslash in the copy before escapes', () => {
    const at = (text: string, from = 0): number => new CopiedText().closingQuote(Buffer.from(text), from);
    expect(at(`${'x'.repeat(LARGE)}"`)).toBe(LARGE);
    expect(at(`${'x'.repeat((1 << 16) - 1)}\\"y"`)).toBe((1 << 16) + 2);
    expect(at('x'.repeat(LARGE))).toBe(-1);
  });

  it('goes back before the part that it copied last', () => {
    const bytes = Buffer.from(`"${'x'.repeat(LARGE)}"`);
    const text = new CopiedText();
    expect([LARGE, 0, LARGE].map((from) => text.closingQuote(bytes, from))).toEqual([LARGE + 1, 0, LARGE + 1]);
  });

  it('does not take other bytes for those that it copied last', () => {
    const text = new CopiedText();
    expect(text.closingQuote(Buffer.from('ab"'), 0)).toBe(2);
    expect(text.closingQuote(Buffer.from('a"b'), 0)).toBe(1);
    expect(text.slice(Buffer.from('cd"'), 0, 2)).toBe('cd');
  });

  it('answers a part as text, whatever of it was copied', () => {
    const bytes = Buffer.from(`${'x'.repeat(LARGE)}"${'y'.repeat(LARGE)}"`);
    const text = new CopiedText();
    expect(text.closingQuote(bytes, LARGE - 2)).toBe(LARGE);
    const inside = (start: number, end: number): string => text.slice(bytes, start, end);
    expect(inside(LARGE - 2, LARGE + 1)).toBe('xx"');
    expect(inside(LARGE - 1, LARGE + 2)).toBe('x"y');
    expect(inside(LARGE - 3, LARGE)).toBe('xxx');
    const last = 2 * LARGE + 2;
    expect(inside(LARGE, last)).toBe(`"${'y'.repeat(LARGE)}"`);
  });

  it('decodes UTF-8', () => {
    const bytes = Buffer.from('é"漢"');
    const text = new CopiedText();
    expect(text.closingQuote(bytes, 0)).toBe(2);
    expect([text.slice(bytes, 0, 2), text.slice(bytes, 3, 6)]).toEqual(['é', '漢']);
  });
});

describe('isEscaped', () => {
  it('is true behind an odd number of backslashes', () => {
    const bytes = Buffer.from('\\\\\\"');
    expect([0, 1, 2].map((from) => isEscaped(bytes, 3, from))).toEqual([true, false, true]);
    expect(isEscaped(Buffer.from('\\\\"'), 2, 0)).toBe(false);
    expect(isEscaped(Buffer.from('"'), 0, 0)).toBe(false);
  });
});
