import { describe, expect, it } from 'vitest';
import { type ByteEdit, splice } from './splice.ts';

const edit = (start: number, end: number, text: string): ByteEdit => ({ start, end, bytes: Buffer.from(text) });
const spliced = (...edits: ByteEdit[]): string => Buffer.from(splice(Buffer.from('abcdef'), edits)).toString();

describe('splice', () => {
  it('makes all edits, in any order', () => {
    expect(spliced(edit(4, 6, 'Y'), edit(0, 1, 'XX'))).toBe('XXbcdY');
    expect(spliced()).toBe('abcdef');
  });

  it('puts bytes before those that another edit replaces at the same place', () => {
    const [added, replaced] = [edit(2, 2, '+'), edit(2, 4, '-')];
    expect([spliced(added, replaced), spliced(replaced, added)]).toEqual(['ab+-ef', 'ab+-ef']);
  });

  it('reads a part of a larger buffer', () => {
    const part = Buffer.from('xxabcdefxx').subarray(2, 8);
    expect(Buffer.from(splice(part, [edit(1, 5, '')])).toString()).toBe('af');
  });

  it.each([
    ['overlap', edit(0, 3, ''), edit(2, 4, ''), 2, 4, 3],
    ['end before they begin', edit(0, 1, ''), edit(4, 3, ''), 4, 3, 1],
    ['end behind the bytes', edit(0, 1, ''), edit(4, 7, ''), 4, 7, 1],
  ])('refuses edits that %s', (_, first, second, start, end, from) => {
    expect(() => spliced(first, second)).toThrow(
      `Expected edits that do not overlap but found one from ${start} to ${end} behind one that ends at ${from}`,
    );
  });
});
