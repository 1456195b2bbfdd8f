import { describe, expect, it } from 'vitest';
import { JsonScan, type Member } from './json-scan.ts';
import { memberRange, valueRange } from './member-range.ts';
import { splice } from './splice.ts';

const NOTHING = Buffer.alloc(0);

/** The object that begins at `at`, without the member of a name. */
function without(text: string, name: string, at = 0): string {
  const scan = new JsonScan();
  const end = scan.scan(Buffer.from(text), at);
  const member = scan.members(0).find((each) => each.name === name) as Member;
  const object = Buffer.from(text).subarray(scan.start(0), end);
  return Buffer.from(splice(object, [{ ...memberRange(scan, member), bytes: NOTHING }])).toString();
}

describe('memberRange', () => {
  it.each([
    ['the first', 'a', '{"b":2,"c":3}'],
    ['one in the middle', 'b', '{"a":1,"c":3}'],
    ['the last', 'c', '{"a":1,"b":2}'],
  ])('takes %s out with one comma', (_, name, left) => {
    expect(without('{"a":1,"b":2,"c":3}', name)).toBe(left);
  });

  it('takes the only member out, and no comma behind the object', () => {
    expect(without('{"a":1}', 'a')).toBe('{}');
    expect(without('[{"a":1},2]', 'a', 1)).toBe('{}');
    expect(without('[0, {"a":1} ,2]', 'a', 3)).toBe('{}');
  });

  it.each([' ', '\n', '\r', '\t', ' \r\n\t '])('passes over %j on both sides of a comma', (space) => {
    const written = `{${space}"a":1${space},${space}"b":2${space}}`;
    expect(without(written, 'a')).toBe(`{${space}${space}"b":2${space}}`);
    expect(without(written, 'b')).toBe(`{${space}"a":1${space}${space}}`);
  });

  it('counts from the start of the value, wherever that is in the body', () => {
    expect(without('[0, {"a":1,"b":2}]', 'a', 3)).toBe('{"b":2}');
    expect(without('[0, {"a":1,"b":2}]', 'b', 3)).toBe('{"a":1}');
  });
});

describe('valueRange', () => {
  it('counts from the start of the value that was scanned', () => {
    const scan = new JsonScan();
    scan.scan(Buffer.from('[0, {"a":[1]}]'), 3);
    expect(scan.members(0).map(({ value }) => valueRange(scan, value))).toEqual([{ start: 5, end: 8 }]);
  });
});
