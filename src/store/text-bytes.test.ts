import fc from 'fast-check';
import { describe, it } from 'vitest';
import { handleOf, handleOfDigest } from './handle.ts';
import { fromBytes, hexDigestOf, toBytes } from './text-bytes.ts';

const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });

describe('the bytes of a text', () => {
  it('give back every string, lone surrogates too', () => {
    fc.assert(fc.property(anyText, (text) => fromBytes(toBytes(text)) === text));
  });

  it('are what its handle is made of', () => {
    const handle = (text: string): string =>
      handleOfDigest(Buffer.from(hexDigestOf(toBytes(text)), 'hex').toString('latin1'));
    fc.assert(fc.property(anyText, (text) => handle(text) === handleOf(text)));
  });
});
