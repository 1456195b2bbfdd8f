import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countTokens } from './count-tokens.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({
    unit: fc.constantFrom('a', 'B', '7', ' ', '\n', '\t', '-', '{', '漢', 'か', 'я', '한', '😀', '\ud800'),
    maxLength: 200,
  }),
);

describe('countTokens', () => {
  it('is 0 for nothing and a whole number of 1 or more for anything else', () => {
    expect(countTokens('')).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = countTokens(text);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(text === '' ? 0 : 1);
      }),
    );
  });

  it('never falls when text is appended', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, more) => {
        expect(countTokens(text + more)).toBeGreaterThanOrEqual(countTokens(text));
      }),
    );
  });

  it('depends on nothing but the text', () => {
    const text = 'The same text, 漢字 and 0x7f3a included.';
    const first = countTokens(text);
    countTokens('something else in between 😀');
    expect(countTokens(text)).toBe(first);
  });

  // Counts of o200k_base, from its published vocabulary.
  it.each([
    ['hello world', 2],
    ['The quick brown fox jumps over the lazy dog.', 10],
    ['123456789', 3],
    ['        ', 1],
    ['\n\n', 1],
  ])('counts %j as o200k does: %i', (text, tokens) => {
    expect(Math.abs(countTokens(text) - tokens)).toBeLessThanOrEqual(1);
  });

  it('groups digits by three', () => {
    expect(countTokens('1'.repeat(3000))).toBe(1000);
  });

  it('takes words of prose as about one token each, a fifth of their characters', () => {
    const prose = 'The agent reads the file, finds the failing test and changes one line of the code. '.repeat(50);
    const words = prose.trim().split(/\s+/).length;
    expect(countTokens(prose) / words).toBeGreaterThan(0.9);
    expect(countTokens(prose) / words).toBeLessThan(1.35);
  });

  it('counts base64 far above prose of the same length, and below one token for each character', () => {
    const base64 = 'aGVsbG8gV29ybGQhIFRoaXMgaXMgUmFuZG9tIEJhc2U2NCBkYXRhLCA3Mzk0OA0KJSg5'.repeat(100);
    const perCharacter = countTokens(base64) / base64.length;
    expect(perCharacter).toBeGreaterThan(0.45);
    expect(perCharacter).toBeLessThan(1);
  });

  it('counts Chinese and Japanese by the character, not by the byte', () => {
    const perCharacter = (text: string): number => countTokens(text) / text.length;
    expect(perCharacter('今天天气很好我们去公园散步吧'.repeat(30))).toBeGreaterThan(0.5);
    expect(perCharacter('今天天气很好我们去公园散步吧'.repeat(30))).toBeLessThan(1);
    expect(perCharacter('きょうはとてもいいてんきです'.repeat(30))).toBeLessThan(0.9);
  });

  it('counts a ruler of one mark as a few tokens', () => {
    expect(countTokens('='.repeat(80))).toBeLessThan(6);
    expect(countTokens('-'.repeat(80))).toBeLessThan(6);
    expect(countTokens(' '.repeat(80))).toBeLessThan(6);
  });

  it('counts lone surrogates and special tokens as text, without an error', () => {
    expect(countTokens('\ud800')).toBe(1);
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(2);
  });

  it('reads 20 MB of anything', () => {
    for (const unit of ['x', ' ', '漢', '\ud800', 'aB3-']) {
      expect(countTokens(unit.repeat(20_000_000 / unit.length))).toBeGreaterThan(1000);
    }
  });
});
