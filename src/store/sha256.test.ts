import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf, portableDigest } from './handle.ts';
import { sha256 } from './sha256.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const expected = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('sha256', () => {
  it('answers the examples of FIPS 180', () => {
    const of = (text: string): string => hex(sha256(Buffer.from(text)));
    expect(of('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(of('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')).toBe(
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    );
    expect(of('a'.repeat(1_000_000))).toBe('cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0');
  });

  it('is that of node:crypto for every length around a block', () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, i) => (i * 131 + 7) & 255);
    for (let length = 0; length <= bytes.length; length++) {
      const part = bytes.subarray(bytes.length - length);
      expect(hex(sha256(part))).toBe(expected(part));
    }
  });

  it('is that of node:crypto for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => hex(sha256(bytes)) === expected(bytes)),
      {
        numRuns: 500,
      },
    );
  });

  it('gives every text the digest that Node gives it, lone surrogates too', () => {
    const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });
    fc.assert(fc.property(anyText, (text) => portableDigest(text) === digestOf(text)));
    for (const text of ['', 'a', 'é', '漢字', '😀', '\ud800', 'x'.repeat(70_000), 'é'.repeat(70_000)])
      expect(portableDigest(text)).toBe(digestOf(text));
  });
});
