import { describe, expect, it } from 'vitest';
import { asciiList, bytesList, int4List, int8List } from './binary-list.ts';

/** What the server reads: the type of the elements, and the bytes of each. */
function read(list: Buffer): { type: number; elements: Buffer[] } {
  const [dimensions, hasNull, type, count, first] = [0, 4, 8, 12, 16].map((at) => list.readInt32BE(at));
  expect([dimensions, hasNull, first]).toEqual([1, 0, 1]);
  const elements: Buffer[] = [];
  for (let at = 20; at < list.length; at += 4 + list.readInt32BE(at))
    elements.push(list.subarray(at + 4, at + 4 + list.readInt32BE(at)));
  expect(elements.length).toBe(count);
  return { type: type as number, elements };
}

describe('a list in binary', () => {
  it('has integers of four bytes', () => {
    const { type, elements } = read(int4List([0, -1, 2 ** 31 - 1, -(2 ** 31)]));
    expect(type).toBe(23);
    expect(elements.map((element) => element.readInt32BE())).toEqual([0, -1, 2 ** 31 - 1, -(2 ** 31)]);
  });

  it('has integers of eight bytes, up to the largest safe one', () => {
    const values = [
      0,
      -1,
      1,
      2 ** 31,
      2 ** 32 - 1,
      2 ** 32,
      -(2 ** 32),
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ];
    const { type, elements } = read(int8List(values));
    expect(type).toBe(20);
    expect(elements.map((element) => Number(element.readBigInt64BE()))).toEqual(values);
  });

  it('has texts of any length, without escapes', () => {
    const values = ['', 'a', '"\\{},NULL', 'x'.repeat(70_000)];
    const { type, elements } = read(asciiList(values));
    expect(type).toBe(25);
    expect(elements.map(String)).toEqual(values);
  });

  it('has bytes', () => {
    const every = String.fromCharCode(...Array(256).keys());
    const { type, elements } = read(bytesList([every, '']));
    expect(type).toBe(17);
    expect(elements).toEqual([Buffer.from(every, 'latin1'), Buffer.alloc(0)]);
  });
});
