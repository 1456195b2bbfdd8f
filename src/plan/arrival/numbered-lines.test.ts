import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../test/support/any-character.ts';
import { NumberedLines, Numbering, prefixOf } from './numbered-lines.ts';

const bodiesOf = (text: string): string[] => {
  const lines = new NumberedLines(text);
  return Array.from({ length: lines.count }, (_, line) => lines.body(line));
};

const isEqual = (a: NumberedLines, b: NumberedLines, line: number): boolean =>
  a.countEqual({ from: line, to: line + 1 }, b, line) === 1;

describe('NumberedLines', () => {
  it('keeps its lines when another text is read, unless they were released', () => {
    const lines = new NumberedLines('1: first\n2: second\nthird');
    expect(new NumberedLines('another text\n\nin lines\nof its own').release()).toBeUndefined();
    expect(lines.release()).toBe(lines);
    expect([0, 1, 2].map((line) => lines.body(line))).toEqual(['first', 'second', 'third']);
    expect([0, 1, 2].map((line) => lines.prefix(line))).toEqual(['1: ', '2: ', '']);
  });

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
    ['123456789: nine digits', '123456789: ', 123456789],
    ['12←another arrow', '', undefined],
    ['12‒a dash with bytes of the arrow', '', undefined],
    ['12ᆒa letter with bytes of the arrow', '', undefined],
    ['\t: no number', '', undefined],
    ['\t→no number', '', undefined],
    ['10:10:05 GET /', '', undefined],
    ['10:10:05.123 GET /', '', undefined],
    ['9:05 breakfast', '', undefined],
    ['12:30', '', undefined],
    ['12:30\tlunch', '', undefined],
    ['12:30-13:00 lunch', '', undefined],
    ['12:30–13:00 lunch', '', undefined],
    ['12:30pm lunch', '', undefined],
    ['11:30AM breakfast', '', undefined],
    ['59:59.9 elapsed', '', undefined],
    ['12:30. the thirtieth of a list', '12:', 12],
    ['12:30px', '12:', 12],
    ['12:300 lines', '12:', 12],
    ['12:75 lines', '12:', 12],
    ['12: 30 lines', '12: ', 12],
    ['12|30 lines', '12|', 12],
    ['1234:30 lines', '1234:', 1234],
    ['10.0.0.1:8080', '', undefined],
    ['[::1]:8080', '', undefined],
  ])('reads the number before %j', (line, prefix, number) => {
    const lines = new NumberedLines(line);
    expect(lines.prefix(0)).toBe(prefix);
    expect(lines.isNumbered(0)).toBe(prefix !== '');
    if (number !== undefined) expect(lines.numberAt(0)).toBe(number);
    expect(lines.body(0)).toBe(line.slice(prefix.length));
  });

  it.each<[string, string, string[]]>([
    ['line numbers', '8: a\n9: b\n10: c', ['8: ', '9: ', '10: ']],
    ['findings of a search', '8:a\n21:b\n300:c', ['8:', '21:', '300:']],
    ['a list that begins again', '8\ta\n9\tb\n1\tc\n2\td', ['8\t', '9\t', '1\t', '2\t']],
    ['another part of a file', '8\ta\n9\tb\n4\tc\n5\td', ['8\t', '9\t', '', '5\t']],
    ['the same number again', '1: a\n1: b\n1: c', ['1: ', '', '']],
    ['a log', '10:58:59 a\n10:59:00 b\n11:00:01 c\n12:00:00 d', ['', '', '', '']],
    ['a timetable', '10:00 a\n11:00 b\n12:30 c', ['', '', '']],
    ['counts', '12\ta\n7\tb\n7\tc\n3\td', ['12\t', '', '', '']],
    ['YAML', '443: https\n80: http\n22: ssh\nports:\n  8080: web', ['443: ', '', '', '', '  8080: ']],
    ['addresses', '2001:db8::1\n2001:db8::2\n2001:db8::3', ['2001:', '', '']],
    ['the lines of two files', '9→a\n\n1→b\n2→c', ['9→', '', '1→', '2→']],
  ])('takes numbers for line numbers while they rise: %s', (_, text, prefixes) => {
    const lines = new NumberedLines(text);
    expect(Array.from({ length: lines.count }, (__, line) => lines.prefix(line))).toEqual(prefixes);
    for (const [line, prefix] of prefixes.entries())
      if (prefix === '') expect(lines.body(line)).toBe(text.split('\n')[line]);
  });

  it('judges a number by its line and the line above alone', () => {
    const line = fc
      .tuple(
        fc.constantFrom('', ' ', '\t'),
        fc.integer({ min: 0, max: 24 }),
        fc.constantFrom(':', ': ', '\t', '→', '|', '.', ''),
      )
      .chain(([indent, number, separator]) =>
        fc.constantFrom('', 'x', '30', '30 x', '30:01', '7').map((body) => `${indent}${number}${separator}${body}`),
      );
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.constantFrom('', 'text', '[x]')), { minLength: 1 }), (all) => {
        const lines = new NumberedLines(`${all.join('\n')}\n`);
        for (const [i, text] of all.entries()) expect(lines.prefix(i)).toBe(prefixOf(text, all[i - 1]));
      }),
    );
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
      fc.property(fc.array(fc.oneof(part, fc.string({ unit: anyCharacter }))), (parts) => {
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

  it.each([
    ['many lines', 12_000, 'a'],
    ['more characters than are read at once', 100, 'a'.repeat(5000)],
    ['fewer characters, but more bytes', 60, 'é'.repeat(3000)],
  ])('finds the lines of a text with %s', (_, count, body) => {
    const all = Array.from({ length: count }, (__, i) => (i % 3 === 0 ? `${body} ${i}` : `${i}→${body}`));
    const lines = new NumberedLines(all.join('\n'));
    expect(Array.from({ length: lines.count }, (__, line) => lines.slice(line, line + 1))).toEqual(all);
    const numbers = all.flatMap((__, i) => (lines.isNumbered(i) ? [lines.numberAt(i)] : []));
    expect(numbers).toEqual(all.flatMap((__, i) => (i % 3 === 0 ? [] : [i])));
  });

  it('compares lines without their numbers', () => {
    const numbered = new NumberedLines('  1→alpha\n  2→\n  3→beta');
    const plain = new NumberedLines('alpha\n\nbeta!');
    expect([0, 1, 2].map((line) => isEqual(numbered, plain, line))).toEqual([true, true, false]);
  });

  it('never finds a left-out line equal to another', () => {
    const lines = new NumberedLines('[x]\ny\n[z]', (line) => line === '[x]');
    expect(lines.leftOut).toEqual([0]);
    expect(new NumberedLines('[x]').leftOut).toEqual([]);
    expect(isEqual(lines, lines, 0)).toBe(false);
    expect(isEqual(lines, lines, 1)).toBe(true);
  });

  it('searches for no three lines of which one is left out', () => {
    const long = (name: string): string => `a long line with the name ${name}`;
    const all = [...'abc'].map(long).concat('[left out]', [...'defg'].map(long));
    const lines = new NumberedLines(all.join('\n'), (line) => line === '[left out]');
    expect(all.map((_, line) => lines.hashOfThree(line) !== 0)).toEqual([
      true,
      false,
      false,
      false,
      true,
      true,
      false,
      false,
    ]);
  });

  it('knows whether any line has a number', () => {
    expect(new NumberedLines('a\nb').hasNumbers).toBe(false);
    expect(new NumberedLines('a\n2: b').hasNumbers).toBe(true);
  });

  it('compares the lines themselves where their hashes are equal', () => {
    // Each pair has one hash, as long as the hash of a line stays as it is.
    const pairs = [
      ['export const keydfut4aya', 'export const keyghiae75m'],
      ['export const keykflj5jq9', 'export const key880un3p3'],
      ['export const key3vgb6o3a', 'export const keyyug1fn2r'],
    ] as const;
    for (const number of ['', '1: ']) {
      const a = new NumberedLines(`${number}same\n${pairs.map(([first]) => first).join('\n')}`);
      const b = new NumberedLines(`same\n${pairs.map(([, second]) => second).join('\n')}`);
      expect([0, 1, 2, 3].map((line) => isEqual(a, b, line))).toEqual([true, false, false, false]);
      expect(a.countEqual({ from: 0, to: 4 }, b, 0)).toBe(1);
    }
  });

  it('counts equal lines up to the end of both texts', () => {
    const all = Array.from({ length: 100 }, (_, i) => `line ${i}`);
    const [a, b] = [
      new NumberedLines(all.join('\n')),
      new NumberedLines(all.map((line, i) => `${i}: ${line}`).join('\n')),
    ];
    const c = new NumberedLines(all.with(70, 'another line').join('\n'));
    for (const [one, other] of [
      [a, a],
      [a, b],
      [b, a],
    ] as const) {
      expect(one.countEqual({ from: 0, to: 100 }, other, 0)).toBe(100);
      expect(one.countEqual({ from: 40, to: 90 }, other, 40)).toBe(50);
      expect(one.countEqual({ from: 40, to: 100 }, other, 39)).toBe(0);
    }
    for (const one of [a, b]) expect(one.countEqual({ from: 0, to: 100 }, c, 0)).toBe(70);
  });

  it.each([
    ['9→a\n10→b', true],
    ['  9→a\n 10→b', true],
    ['  9→a\n  10→b', false],
    ['11: a\n12: b', true],
    ['11: a\n12:b', false],
    ['11:a\n12: b', false],
    ['11: a\n12| b', false],
    ['11: a\n13: b', false],
    ['11: a\n11: b', false],
    [' 11: a\n\t12: b', false],
    ['11: a\nb', false],
    ['a\nb', true],
    ['a\nb\n3: c', true],
    ['a\n3: b', false],
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
  ['10\t', 9, '9\t'],
  [' \t9: ', 10, ' \t10: '],
])('after %j, %d is written in the same manner', (prefix, next, expected) => {
  expect(new Numbering(prefix).prefix(next)).toBe(expected);
});
