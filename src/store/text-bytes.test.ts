import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { handleOf } from './handle.ts';
import { digestOf, fromBytes, toBytes, toHandle } from './text-bytes.ts';

const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });

describe('the bytes of a text', () => {
  it('give back every string, lone surrogates too', () => {
    fc.assert(fc.property(anyText, (text) => fromBytes(toBytes(text)) === text));
  });

  it('are what its handle is made of', () => {
    fc.assert(fc.property(anyText, (text) => toHandle(digestOf(toBytes(text))) === handleOf(text)));
    // A digest that begins with zeros keeps them.
    expect(toHandle('0'.repeat(64))).toBe(`p_${'a'.repeat(26)}`);
  });
});
