import { describe, expect, it } from 'vitest';
import { readExactJson } from './exact-json.ts';

const rewritten = (text: string): string => {
  const { value, write } = readExactJson(text);
  return write(value).replace(/\s+/g, '');
};

describe('readExactJson', () => {
  it.each([
    '{"id":1234567890123456789}',
    '[12345678901234567890,-9007199254740993,9007199254740993]',
    '{"a":[{"b":1e400}],"c":-1e400}',
    '{"text":"1234567890123456789","\\\\\\"":["\\"1234567890123456789",1234567890123456789]}',
  ])('writes the numbers of %s as they were read', (text) => {
    expect(rewritten(text)).toBe(text);
  });

  it('reads the values that JSON.parse reads', () => {
    const text = '{"id":1234567890123456789,"n":[1.10,0.1,9007199254740992,1e5],"__proto__":1e400}';
    expect(readExactJson(text).value).toEqual(JSON.parse(text));
    expect(() => readExactJson('{"id":1234567890123456789')).toThrow(SyntaxError);
  });

  it('writes a number that was changed since, and one in another object, as it is', () => {
    const { value, write } = readExactJson('{"a":1234567890123456789,"b":{"a":1234567890123456789}}');
    Object.assign(value as object, { a: 5 });
    expect(write({ value, a: 7 }).replace(/\s+/g, '')).toBe('{"value":{"a":5,"b":{"a":1234567890123456789}},"a":7}');
  });

  it('reads a text of many megabytes', () => {
    const text = `{"long":"${'\\"x'.repeat(8e6)}","id":1234567890123456789}`;
    expect(readExactJson(text).write({})).toBe('{}\n');
  });
});
