import { describe, expect, it } from 'vitest';
import { JsonScan, NOT_JSON, TOO_DEEP } from './json-scan.ts';

const scanned = (text: string, scan = new JsonScan()): JsonScan => {
  const bytes = Buffer.from(text);
  expect(scan.scan(bytes, 0)).toBe(bytes.length);
  return scan;
};

const named = (scan: JsonScan, object: number): [string, string][] =>
  scan.members(object).map(({ name, value }) => [name, scan.text(value)]);

describe('JsonScan', () => {
  it('knows the members of an object and what they are written as', () => {
    const scan = scanned('{ "a" : 1.0, "é": [ true ] , "a":{"b":null}}');
    expect(named(scan, 0)).toEqual([
      ['a', '1.0'],
      ['é', '[ true ]'],
      ['a', '{"b":null}'],
    ]);
  });

  it('reads names that are written with escapes', () => {
    expect(named(scanned('{"\\u0061\\"\\\\":0}'), 0)).toEqual([['a"\\', '0']]);
  });

  it('knows what a list holds, whatever stands inside', () => {
    const scan = scanned('[[1,[2]],"]",{"a":[]},[]]');
    expect(scan.elements(0).map((value) => scan.text(value))).toEqual(['[1,[2]]', '"]"', '{"a":[]}', '[]']);
  });

  it('forgets what it scanned before', () => {
    const scan = scanned('{"a":[1,2]}');
    expect([named(scan, 0), scan.elements(2).length]).toEqual([[['a', '[1,2]']], 2]);
    scanned('{"b":[3]}', scan);
    expect([named(scan, 0), scan.elements(2).length]).toEqual([[['b', '[3]']], 1]);
  });

  it.each([
    ['one by one', 'say "hi" \\ '.repeat(3)],
    ['over more than one copy', 'const a = "b\\\\";\n'.repeat(10_000)],
    ['where a copy ends in a backslash', '"\\'.repeat(50_000)],
    ['in any script', 'naïve "漢字" 😀\n'.repeat(6000)],
    ['without any quote', 'x'.repeat(200_000)],
  ])('finds the end of a text, %s', (_, text) => {
    const written = JSON.stringify([text, 'behind', { text }]);
    const scan = scanned(written);
    expect(scan.elements(0).map((value) => scan.parse(value))).toEqual(JSON.parse(written));
    const open = Buffer.from(written.slice(0, -text.length / 2));
    expect(new JsonScan().scan(open, 0)).toBe(NOT_JSON);
  });

  it.each(['', '{"a"}', '[1,]', '{"a":1,}', '[01]', '"a', '[1}', 'tru'])('takes %j for no JSON', (text) => {
    expect(new JsonScan().scan(Buffer.from(text), 0)).toBe(NOT_JSON);
  });

  it('finds a text in the values of a body that hold it, near and far', () => {
    const sizes = [10, 30_000, 5, 40_000, 70_000, 1, 1, 200_000, 65_000, 520, 10];
    const values = sizes.map((size, i) =>
      JSON.stringify([i % 3 === 1 ? 'cache_' : 'cache', 'x'.repeat(size), 'cache']),
    );
    const bytes = Buffer.from(values.join(' '));
    const scan = new JsonScan();
    const found: boolean[] = [];
    for (let at = 0; at < bytes.length; ) {
      at = scan.scan(bytes, at);
      found.push(scan.includes('cache_'));
      expect(scan.includes('cache_')).toBe(found.at(-1));
    }
    expect(found).toEqual(values.map((value) => value.includes('cache_')));
  });

  it('gives up where it is too deep', () => {
    expect(new JsonScan().scan(Buffer.from('['.repeat(257)), 0)).toBe(TOO_DEEP);
  });
});
