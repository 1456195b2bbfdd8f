import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../test/support/any-character.ts';
import { handleOf } from './handle.ts';

/** The first 130 bits of a digest as a number, written in base 32: another way to the same letters. */
function expected(...parts: readonly Uint8Array[]): string {
  const digest = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
  let bits = BigInt(`0x${digest}`) >> 126n;
  let letters = '';
  for (let i = 0; i < 26; i++) {
    letters = 'abcdefghijklmnopqrstuvwxyz234567'.charAt(Number(bits & 31n)) + letters;
    bits >>= 5n;
  }
  return `p_${letters}`;
}

describe('handleOf', () => {
  it('is p_ and 26 lower-case base32 characters of the SHA-256 over UTF-8', () => {
    // sha256('') begins e3b0c442…, which is 4oymiquy… in RFC 4648.
    expect(handleOf('')).toBe('p_4oymiquy7qobjgx36tejs35zeq');
    expect(handleOf('')).toMatch(/^p_[a-z2-7]{26}$/);
    const long = [65_535, 65_536, 65_537, 100_000].flatMap((length) => ['x'.repeat(length), 'é'.repeat(length)]);
    for (const text of ['a', 'hello', 'é', '\u007f\u0080', '漢字', '😀', '\u0000', ...long]) {
      expect(handleOf(text)).toBe(expected(Buffer.from(text, 'utf8')));
    }
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(handleOf(text)).toBe(expected(Buffer.from(text, 'utf8')));
      }),
    );
  });

  it('gives texts with lone surrogates handles of their own, which UTF-8 would make one', () => {
    const texts = ['\ud800', '\udc00', '\ud801', '\ufffd', 'a\ud800', '\ud800a', '\ud800\ud800', '\udc00\ud800'];
    expect(new Set(texts.map(handleOf)).size).toBe(texts.length);
    for (const text of texts) expect(handleOf(text)).toMatch(/^p_[a-z2-7]{26}$/);
  });

  it('gives no text with a lone surrogate the handle of a whole one: the prefix byte is none of UTF-8', () => {
    // The UTF-16LE of the first, behind the byte 01, is the UTF-8 of the second.
    expect(handleOf('\ud800\u0080')).not.toBe(handleOf('\u0001\u0000\u0600\u0000'));
  });

  it('differs where texts differ', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (a, b) => {
        expect(handleOf(a) === handleOf(b)).toBe(a === b);
      }),
    );
  });
});
