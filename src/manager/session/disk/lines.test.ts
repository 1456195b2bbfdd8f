import { constants } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import type { DiskFile } from '../../../store/embedded/disk.ts';
import { lastLine, readLines } from './lines.ts';

const fileOf = (content: Buffer): DiskFile => ({
  isAt: () => true,
  size: () => content.length,
  read: (into, position) => content.copy(into, 0, position, position + into.length),
  write: () => {},
  sync: async () => {},
  truncate: () => {},
  close: () => {},
});
const textFile = (text: string): DiskFile => fileOf(Buffer.from(text));

describe('readLines', () => {
  it('answers each line with its place, and whether it has an end', () => {
    expect([...readLines(textFile('é\n\nlast'), 0)]).toEqual([
      { offset: 0, bytes: 3, text: 'é', isWhole: true },
      { offset: 3, bytes: 1, text: '', isWhole: true },
      { offset: 4, bytes: 4, text: 'last', isWhole: false },
    ]);
  });

  it('puts lines together that are longer than what is read at once, also where a character is split', () => {
    const long = '€'.repeat(300_000);
    const lines = [...readLines(textFile(`a\n${long}\nb\n`), 0)];
    expect(lines.map(({ text }) => text.length)).toEqual([1, 300_000, 1]);
    expect(lines[1]?.text).toBe(long);
  });

  it('gives no text for what is no UTF-8', () => {
    const [line] = readLines(fileOf(Buffer.from([0x22, 0xff, 0x22, 10])), 0);
    expect(line).toEqual({ offset: 0, bytes: 4, text: '', isWhole: true });
  });
});

describe('a line that is longer than a string can be', () => {
  it('has a place and no text, and the lines behind it are read', () => {
    const [long, end] = [constants.MAX_STRING_LENGTH + 1, Buffer.from('\nnext\n')];
    const read = (into: Uint8Array, position: number): number => {
      into.fill('x'.charCodeAt(0));
      if (position + into.length > long) into.set(end, long - position);
      return into.length;
    };
    const file = { ...textFile(''), size: () => long + end.length, read };
    expect([...readLines(file, 0)]).toEqual([
      { offset: 0, bytes: long + 1, text: '', isWhole: true },
      { offset: long + 1, bytes: 5, text: 'next', isWhole: true },
    ]);
  }, 60_000);
});

describe('lastLine', () => {
  it.each([1, 5, 4095, 4096, 4097, 50_000])('finds a line of %i characters that ends before a position', (length) => {
    const line = 'x'.repeat(length);
    const text = `first\n${line}\nrest`;
    const found = lastLine(textFile(text), text.length - 4);
    expect(found).toEqual({ offset: 6, bytes: length + 1, text: line, isWhole: true });
  });

  it('is the only line, where there is one; and none in nothing', () => {
    expect(lastLine(textFile('only\n'), 5)).toMatchObject({ offset: 0, text: 'only', isWhole: true });
    expect(lastLine(textFile('only'), 4)).toMatchObject({ text: 'only', isWhole: false });
    expect(lastLine(textFile('\n'), 1)).toMatchObject({ text: '', isWhole: true });
    expect(lastLine(textFile(''), 0)).toBeUndefined();
  });
});
