import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../test/support/any-character.ts';
import { estimateTokens, utf8Length } from './estimate-tokens.ts';

const encoder = new TextEncoder();

describe('estimateTokens', () => {
  it('is UTF-8 bytes / 4, rounded up', () => {
    const cases = ['', 'a', 'abcd', 'abcde', 'é', 'éé', 'ééé', '漢', '漢字', '😀', '😀a'];
    expect(cases.map(estimateTokens)).toEqual([0, 1, 1, 2, 1, 1, 2, 1, 2, 1, 2]);
  });
});

describe('utf8Length', () => {
  it('is what TextEncoder writes, for whole texts and for lone surrogates', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: 'grapheme' })), (text) => {
        expect(utf8Length(text)).toBe(encoder.encode(text).length);
      }),
    );
    for (const text of ['\ud800', '\udc00\ud800', 'a\ud83d', '\ud83d\ud83d\ude00', '\u07ff\u0800\uffff']) {
      expect(utf8Length(text)).toBe(encoder.encode(text).length);
    }
  });
});
