import { describe, expect, it } from 'vitest';
import { LineIndex } from './line-index.ts';
import { NumberedLines } from './numbered-lines.ts';

const lines = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `const ${name}${i} = compute(${i * 7919});`);
const read = (...all: string[]): NumberedLines => new NumberedLines(all.join('\n'));
const shared = read(...lines('shared', 5));

describe('LineIndex', () => {
  it('finds three lines in a row in every text that has them, with their line', () => {
    const index = new LineIndex();
    index.add(1, read(...lines('a', 10), ...lines('shared', 5)));
    index.add(2, read(...lines('shared', 5), ...lines('b', 10)));
    expect(index.find(shared, 0)).toEqual([
      { id: 2, line: 0 },
      { id: 1, line: 10 },
    ]);
    expect(index.find(shared, 2)).toEqual([
      { id: 2, line: 2 },
      { id: 1, line: 12 },
    ]);
    expect(index.find(read(...lines('other', 5)), 0)).toEqual([]);
  });

  it.each([[[1, 2, 3]], [[3, 2, 1]], [[2, 3, 1]], [[3, 1, 2]], [[1, 3, 2]]])(
    'finds the newest text first when texts were added in the order %j',
    (order) => {
      const index = new LineIndex();
      for (const id of order) index.add(id, shared);
      for (const line of [0, 1, 2]) expect(index.find(shared, line).map(({ id }) => id)).toEqual([3, 2, 1]);
    },
  );

  it.each([1, 2, 3])('finds the other texts when text %i was removed', (removed) => {
    const index = new LineIndex();
    for (const id of [1, 2, 3]) index.add(id, shared);
    index.remove(removed);
    index.remove(removed);
    for (let again = 0; again < 2; again++)
      expect(index.find(shared, 0).map(({ id }) => id)).toEqual([3, 2, 1].filter((id) => id !== removed));
    index.add(removed, shared);
    expect(index.find(shared, 0).map(({ id }) => id)).toEqual([3, 2, 1]);
  });

  it('finds the first of equal lines, which begins the longest run', () => {
    const index = new LineIndex();
    const repeated = read(...Array.from({ length: 9 }, () => 'the same line again'), 'end');
    index.add(1, repeated);
    expect(index.find(repeated, 0)).toEqual([{ id: 1, line: 0 }]);
  });

  it('finds nothing in a text of two lines', () => {
    const index = new LineIndex();
    const short = read(...lines('shared', 2));
    index.add(1, short);
    expect(index.nextLikely(shared, 0)).toBe(shared.count);
    index.remove(1);
    index.add(2, shared);
    expect(index.find(shared, 0)).toEqual([{ id: 2, line: 0 }]);
  });

  it('knows the next line that may be in a text', () => {
    const index = new LineIndex();
    index.add(1, shared);
    const text = read(...lines('a', 4), ...lines('shared', 5), ...lines('b', 4));
    expect(index.nextLikely(text, 0)).toBe(4);
    expect(index.nextLikely(text, 6)).toBe(6);
    expect(index.nextLikely(text, 7)).toBe(text.count);
  });

  it('answers like a new index when most texts were removed', () => {
    const [old, fresh] = [new LineIndex(), new LineIndex()];
    const textOf = (id: number): NumberedLines => read(...lines(`text${id}_`, 60), ...lines('shared', 5));
    for (let id = 1; id <= 30; id++) old.add(id, textOf(id));
    for (let id = 1; id <= 30; id++) if (id % 10 !== 0) old.remove(id);
    for (const id of [10, 20, 30]) fresh.add(id, textOf(id));
    for (const index of [old, fresh]) index.add(5, textOf(5));
    for (const id of [1, 5, 10, 20, 29, 30]) {
      const text = textOf(id);
      for (let line = 0; line < text.count; line++) expect(old.find(text, line)).toEqual(fresh.find(text, line));
    }
    expect(old.find(shared, 0).map(({ id }) => id)).toEqual([30, 20, 10, 5]);
  });

  it('finds an older text behind many newer ones that may not be used', () => {
    const index = new LineIndex();
    for (let id = 1; id <= 40; id++) index.add(id, shared);
    expect(index.find(shared, 0, (id) => id < 3).map(({ id }) => id)).toEqual([2, 1]);
    index.remove(2);
    expect(index.find(shared, 0, (id) => id < 3).map(({ id }) => id)).toEqual([1]);
  });

  it('stops after a thousand places that may not be used', () => {
    const index = new LineIndex();
    index.add(1, shared);
    for (let id = 2; id <= 1001; id++) index.add(id, shared);
    expect(index.find(shared, 0, (id) => id === 1)).toEqual([]);
    expect(index.find(shared, 0, (id) => id === 3)).toEqual([{ id: 3, line: 0 }]);
  });

  it('names the end of the lines that may be in the index', () => {
    const index = new LineIndex();
    index.add(1, read(...lines('a', 6), '}', '', '}', ...lines('b', 6)));
    const other = read(...lines('x', 4), ...lines('a', 6), '}', '', '}', ...lines('b', 3), ...lines('y', 8));
    expect(index.nextLikely(other, 0)).toBe(4);
    expect(index.endOfLikely(other, 4)).toBe(16);
    expect(index.nextLikely(other, 16)).toBe(other.count);
    expect(index.endOfLikely(shared, 4)).toBe(shared.count);
  });

  it('grows with its texts', () => {
    const index = new LineIndex();
    const long = read(...lines('long', 400));
    for (const id of [1, 2, 3]) index.add(id, long);
    for (const line of [0, 200, 397]) expect(index.find(long, line)).toEqual([3, 2, 1].map((id) => ({ id, line })));
  });
});
