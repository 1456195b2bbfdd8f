import { describe, expect, it } from 'vitest';
import { decodeValue, encodeValue } from './encode-value.ts';

const again = (value: unknown): unknown => decodeValue(encodeValue(value));

describe('encodeValue', () => {
  it.each([
    ['plain values', { a: [1, 'two', null, true, { b: -0.5 }], c: '' }],
    ['lone surrogates', '\ud800 and \udc00'],
    ['control characters and separators of lines', '\0\n\r\u2028\u2029'],
    ['bytes', { image: new Uint8Array([0, 1, 255]) }],
    ['a buffer', new Uint8Array([1, 2]).buffer],
    ['a date', new Date(5)],
    ['an address', new URL('https://example.com/a?b=c')],
    ['a key called __proto__', JSON.parse('{"__proto__": {"x": 1}}')],
  ])('writes %s so that they come back', (_what, value) => {
    expect(again(value)).toEqual(value);
    expect(encodeValue(value)).not.toContain('\n');
  });

  it('keeps the kind of what it marks', () => {
    expect(again(Buffer.from('é'))).toEqual(new Uint8Array([0xc3, 0xa9]));
    expect(again(new URL('https://example.com'))).toBeInstanceOf(URL);
  });

  it('leaves out what is undefined, as JSON does', () => {
    expect(again({ a: undefined, b: 1 })).toEqual({ b: 1 });
  });

  it.each([
    ['a function', { a: { f: () => 1 } }, 'a.f'],
    ['a bigint', [1n], '0'],
    ['not a number', { a: Number.NaN }, 'a'],
    ['a hole', { a: [1, undefined] }, 'a.1'],
    ['an instance of a class', { a: new Map() }, 'Map at a'],
    ['a date that is none', new Date(Number.NaN), 'Date'],
    ['its own mark', { a: { $palimpsest: 'bytes' } }, 'a.$palimpsest'],
  ])('refuses %s, which would come back as something else, and says where', (_what, value, where) => {
    expect(() => encodeValue(value)).toThrow(where);
    expect(() => encodeValue(value)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }));
  });

  it('refuses a circle', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => encodeValue(circle)).toThrow('circle');
  });
});
