import { describe, expect, it } from 'vitest';
import { encodeUtf8, utf8Bytes } from './utf8.ts';

const encoded = (text: string): Uint8Array => utf8Bytes.slice(0, encodeUtf8(text));

describe('encodeUtf8', () => {
  it.each(['', 'plain', 'é → 日本 😀', 'a lone \ud800 surrogate'])('writes the bytes of %j', (text) => {
    expect(encoded(text)).toEqual(new TextEncoder().encode(text));
  });

  it('writes a text again after another', () => {
    expect(encoded('first')).toEqual(encoded('first'));
    encoded('other');
    expect(encoded('first')).toEqual(new TextEncoder().encode('first'));
  });

  it('refuses a text that is too long, also where only its bytes are', () => {
    const { length } = utf8Bytes;
    expect(encodeUtf8('x'.repeat(length))).toBe(length);
    expect(encodeUtf8('x'.repeat(length + 1))).toBeUndefined();
    expect(encodeUtf8('é'.repeat(length))).toBeUndefined();
    expect(encodeUtf8('é'.repeat(length))).toBeUndefined();
  });
});
