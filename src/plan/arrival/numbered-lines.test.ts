import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NumberedLines, Numbering } from './numbered-lines.ts';

const bodiesOf = (text: string): string[] => {
  const lines = new NumberedLines(text);
  return Array.from({ length: lines.count }, (_, line) => lines.body(line));
};

describe('NumberedLines', () => {
  it.each([
    ['    12→const a = 1;', '    12→', 12],
    ['12\tconst a = 1;', '12\t', 12],
    ['12: const a = 1;', '12: ', 12],
    ['12:const a = 1;', '12:', 12],
    ['\t 12| const a = 1;', '\t 12| ', 12],
    ['0:', '0:', 0],
    ['12', '', undefined],
    ['12 const a = 1;', '', undefined],
    ['007: leading zeros', '', undefined],
    ['1234567890: too long for a line number', '', undefined],
    [`${' '.repeat(60)}1: far to the right`, '', undefined],
    ['→12', '', undefined],
  ])('reads the number before %j', (line, prefix, number) => {
    const lines = new NumberedLines(line);
    expect(lines.prefix(0)).toBe(prefix);
    expect(lines.isNumbered(0)).toBe(prefix !== '');
    if (number !== undefined) expect(lines.numberAt(0)).toBe(number);
    expect(lines.body(0)).toBe(line.slice(prefix.length));
  });

  it('ends a line at a newline only, and begins none behind the last', () => {
    expect(bodiesOf('a\r\nb\rc\u2028d\u0085e\n\nf\n')).toEqual(['a\r', 'b\rc\u2028d\u0085e', '', 'f']);
    expect(bodiesOf('')).toEqual(['']);
    expect(bodiesOf('\n')).toEqual(['']);
    expect(bodiesOf('\n\n')).toEqual(['', '']);
  });

  it('finds the lines of any text, also with lone surrogates and emoji', () => {
    const part = fc.constantFrom('\n', '1→', '  2: ', 'é', '→', '😀', '\ud800', '\udc00', 'a', '\0', '\ufeff', '\r\n');
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string({ unit: 'binary' }))), (parts) => {
        const text = parts.join('');
        const lines = new NumberedLines(text);
        const expected = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
        expect(Array.from({ length: lines.count }, (_, line) => lines.slice(line, line + 1))).toEqual(expected);
        expect(Array.from({ length: lines.count }, (_, line) => lines.prefix(line) + lines.body(line))).toEqual(
          expected,
        );
      }),
    );
  });

  it('compares lines without their numbers', () => {
    const numbered = new NumberedLines('  1→alpha\n  2→\n  3→beta');
    const plain = new NumberedLines('alpha\n\nbeta!');
    expect([0, 1, 2].map((line) => numbered.equals(line, plain, line))).toEqual([true, true, false]);
  });

  it('never finds a left-out line equal to another', () => {
    const lines = new NumberedLines('[x]\ny', (line) => line === '[x]');
    expect(lines.leftOut).toEqual([0]);
    expect(lines.equals(0, lines, 0)).toBe(false);
    expect(lines.equals(1, lines, 1)).toBe(true);
  });

  it.each([
    ['9→a\n10→b', true],
    ['  9→a\n 10→b', true],
    ['  9→a\n  10→b', false],
    ['11: a\n12: b', true],
    ['11: a\n12:b', false],
    ['11: a\n12| b', false],
    ['11: a\n13: b', false],
    ['11: a\n11: b', false],
    [' 11: a\n\t12: b', false],
    ['11: a\nb', false],
    ['a\nb', true],
  ])('tells of %j whether the second line continues the first', (text, expected) => {
    expect(new NumberedLines(text).isContinued(0)).toBe(expected);
  });
});

it.each([
  ['     9→', 10, '    10→'],
  ['9\t', 10, '10\t'],
  ['\t9: ', 10, '\t10: '],
  ['  99| ', 7, '   7| '],
  [' 9→', 1000, '1000→'],
])('after %j, %d is written in the same manner', (prefix, next, expected) => {
  expect(new Numbering(prefix).prefix(next)).toBe(expected);
});
