import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../test/support/any-character.ts';
import { loneSurrogates } from '../../laws/text.ts';
import { columnsOf } from './clean/columns.ts';
import { dropBlanks } from './clean/empty-lines.ts';
import { stripEscapeCodes } from './clean/escape-codes.ts';
import { compactJson } from './clean/json.ts';
import { unpadLineNumbers } from './clean/line-numbers.ts';
import { keepLastStates } from './clean/overwritten-lines.ts';
import { foldRepeatedBlocks } from './clean/repeated-blocks.ts';
import { writePathsOnce } from './clean/search-paths.ts';
import { cleanResult } from './clean.ts';
import type { Shown } from './shown-by.ts';

const runs = { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 500) };
const KINDS: readonly Shown[] = ['file', 'search', 'shell', 'other'];

const ingredients = [
  ...[
    '\n',
    '\n',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\t',
    '   ',
    'a',
    'b',
    'error',
    '}',
    '',
    '漢',
    '😀',
    '\ud83d',
    '\ude00',
    '\u2028',
  ],
  ...[
    '\u001b',
    '\u001b[',
    '\u001b[31m',
    '\u001b[0m',
    '[0m',
    '\u001b]0;title\u0007',
    '\u001b]8;;http://x\u001b\\',
    'm',
    '\u009b',
  ],
  ...['src/a.ts:1:x', 'src/a.ts:2:y', 'src/a.ts:', 'b.c:', '1:', '12:34:', 'C:\\a.ts:3:z', ':', '7'],
  ...['  1\t', '  2\t', '     3→', '1→', '10\t', '9\t'],
  ...['the same long line of output, again and again\n', 'x\ny of a block that is repeated\n'],
  ...['[the line above 2 more times]\n', '[the 2 lines above 3 more times]', '[… 4 lines]'],
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    '\\',
    '{"id":1.0,"name":"a"}',
    ' {"id": 2, "name": "b\\"}"} ',
    '[1, 2]',
    '{"a":[]}',
  ],
  '{"list of objects with the keys":["a"],"values":[[1]]}',
];
const soup = fc
  .array(fc.tuple(fc.constantFrom(...ingredients), fc.integer({ min: 1, max: 4 })), { maxLength: 40 })
  .map((parts) => parts.map(([part, times]) => part.repeat(times)).join(''));
const anyText = fc.oneof(soup, fc.string({ unit: anyCharacter, maxLength: 200 }), fc.json());

describe('cleanResult', () => {
  it('gives a cleaned text back as it is', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...KINDS), (text, shows) => {
        const cleaned = cleanResult(text, shows);
        expect(cleanResult(cleaned, shows)).toBe(cleaned);
      }),
      runs,
    );
  });

  it('makes no text longer, empty or ill-formed', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom(...KINDS), (text, shows) => {
        const cleaned = cleanResult(text, shows);
        expect(cleaned === text || cleaned.length < text.length).toBe(true);
        expect(cleaned.trim() === '' && text.trim() !== '' && cleaned !== text).toBe(false);
        expect(loneSurrogates(cleaned)).toBeLessThanOrEqual(loneSurrogates(text));
      }),
      runs,
    );
  });

  it('leaves a text of escape codes alone, because a result must not be empty', () => {
    expect(cleanResult('\u001b[0m\n', 'shell')).toBe('\u001b[0m\n');
  });

  it('takes only escape codes and blanks before line numbers from a file', () => {
    const file = '     1→const a = 1;  \r\n     2→\n     3→\n\n\n\n{  }\rx\n  \nx\nx\nx\nx\n';
    expect(cleanResult(`\u001b[1m${file}`, 'file')).toBe(file.replace(/ {5}(?=\d)/g, ''));
    const json = '{\n  "a": 1\n}\n';
    expect(cleanResult(json, 'file')).toBe(json);
  });

  it('keeps every other character of a file', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const cleaned = cleanResult(text, 'file');
        const unpadded = (of: string): string => of.replace(/(^|\n)[ \t]+(?=\d+[→\t])/g, '$1');
        if (cleaned !== text) expect(unpadded(cleaned)).toBe(unpadded(stripEscapeCodes(text)));
      }),
      runs,
    );
  });

  it('applies every rule to the output of a shell', () => {
    const output = [
      '\u001b[32mInstalling\u001b[0m   ',
      '10%\r50%\r100%',
      '',
      '',
      '',
      ...Array.from({ length: 40 }, () => 'warning: this is said again'),
      'src/a.ts:1:const a',
      'src/a.ts:2:const b',
      '',
    ];
    expect(cleanResult(output.join('\n'), 'shell').split('\n')).toEqual([
      'Installing',
      '100%',
      '',
      'warning: this is said again',
      '[the line above 39 more times]',
      'src/a.ts:',
      '1:const a',
      '2:const b',
      '',
    ]);
  });

  it('shows the last state of a line only for a shell: elsewhere a return may end a line', () => {
    expect(cleanResult('10 %\r50 %\r100 %\nok', 'shell')).toBe('100 %\nok');
    expect(cleanResult('10 %\r50 %\r100 %\nok', 'other')).toBe('10 %\r50 %\r100 %\nok');
  });

  it('lets codes erase text only in a shell', () => {
    expect(cleanResult('downloading 10 %\r\u001b[Kdone', 'shell')).toBe('done');
    expect(cleanResult('downloading 10 %\r\u001b[Kdone', 'other')).toBe('downloading 10 %\rdone');
  });

  it('writes paths once in searches and shells, not in other results', () => {
    const found = 'src/a.ts:1:x\nsrc/a.ts:2:y\n';
    expect(cleanResult(found, 'search')).toBe('src/a.ts:\n1:x\n2:y\n');
    expect(cleanResult(found, 'other')).toBe(found);
  });

  it('strips the blanks before the numbers of a table, unless it is in a file', () => {
    const table = '  12\tapples\n   7\tpears\n';
    expect(cleanResult(table, 'shell')).toBe('12\tapples\n7\tpears\n');
    expect(cleanResult(table, 'file')).toBe(table);
  });

  it('takes only escape codes from a diff', () => {
    const diff = '--- a/a.ts\n+++ b/a.ts\n@@ -1,3 +1,3 @@\n a  \n\n\n\n-b  \n+c  \n';
    expect(cleanResult(`\u001b[1m${diff}`, 'shell')).toBe(diff);
  });

  it('compacts JSON whose lines end with returns', () => {
    expect(cleanResult('{\r  "a": 1,\r  "b": 2\r}', 'shell')).toBe('{"a":1,"b":2}');
  });

  it('compacts JSON that has equal lines, which are not folded', () => {
    const list = { numbers: Array.from({ length: 50 }, () => 0) };
    expect(cleanResult(JSON.stringify(list, null, 8), 'other')).toBe(JSON.stringify(list));
  });

  it('applies its rules until nothing changes', () => {
    const line = 'a line with a number that is padded each time in another way';
    expect(cleanResult(`   1→${line}\n  1→${line}\n 1→${line}\n`, 'shell')).toBe(
      `1→${line}\n[the line above 2 more times]\n`,
    );
  });

  it('leaves an output alone that was shortened', () => {
    const text = 'a   \n\n\n\nb\n[truncated: kept first+last+failures ~2000 of ~9000 tokens (shell) · recall p_x]';
    expect(cleanResult(text, 'shell')).toBe(text);
  });

  const MB10 = 10_000_000;
  const long = (part: string): string => part.repeat(Math.ceil(MB10 / part.length));
  it.each([
    ['one line', long('x')],
    ['blanks', `${long(' ')}x`],
    ['returns', long('\r')],
    ['states', long('a\r')],
    ['wide states', long('警\t\r')],
    ['states that are erased', long('\u001b[2K\ra')],
    ['movement', long('a\r\u001b[1A')],
    ['line breaks', long('\n')],
    ['short lines', long('}\n')],
    ['blocks of equal lines', long('a\nb\na\nc\n')],
    ['escapes', long('\u001b')],
    ['open titles', long('\u001b]0;')],
    ['one open title', `\u001b]${long('x')}`],
    ['parameters', `\u001b[${long('1;')}`],
    ['dots', long('.')],
    ['colons', long('a.b:')],
    ['findings', long('src/a.ts:12:text\n')],
    ['padded numbers', long('     1\tx\n')],
    ['digits', `  ${long('1')}`],
    ['brackets', `${'['.repeat(MB10 / 10)}${']'.repeat(MB10 / 10)}`],
    ['nested lists', `${'[0,'.repeat(MB10 / 10)}0${']'.repeat(MB10 / 10)}`],
    ['a long string', `["${long('\\"')}"]`],
    ['a list of objects', `[${long('{ "id": 1, "name": "x" },')}{ "id": 1, "name": "x" }]`],
  ])('reads 10 MB of %s', (_name, text) => {
    for (const shows of ['file', 'shell'] as const)
      expect(cleanResult(text, shows).length).toBeLessThanOrEqual(text.length);
  });
});

describe('stripEscapeCodes', () => {
  it.each([
    ['colours', '\u001b[1;31mred\u001b[0m \u001b[38;2;1;2;3mx\u001b[m', 'red x'],
    ['movement', 'a\u001b[2K\u001b[1A\u001b[?25lb', 'ab'],
    ['titles', '\u001b]0;a title\u0007x\u001b]2;other\u001b\\y', 'xy'],
    ['links', '\u001b]8;;https://example.org\u001b\\text\u001b]8;;\u001b\\', 'text'],
    ['character sets and resets', '\u001b(Ba\u001bcb\u001b7', 'ab'],
    ['device strings', '\u001bPq#0\u001b\\x', 'x'],
    ['a title without an end, but no output behind it', '\u001b]0;title\nnext\u0007', '0;title\nnext\u0007'],
    ['a code that is cut off', 'a\u001b[31', 'a'],
    ['codes within codes', '\u001b\u001b[0m[0mx', '[0mx'],
  ])('strips %s', (_name, text, plain) => {
    expect(stripEscapeCodes(text)).toBe(plain);
  });
});

it.each([
  ['abc', 3],
  ['é', 1],
  ['e\u0301', 1],
  ['e\u0300', 1],
  ['警e\u0301', 3],
  ['警告', 4],
  ['😀', 2],
  ['█░', 2],
  ['a\tb', 9],
])('columnsOf %j', (text, columns) => {
  expect(columnsOf(text)).toBe(columns);
});

describe('keepLastStates', () => {
  it('keeps the last state of a line that was overwritten', () => {
    expect(keepLastStates('10%\r50%\r100%\nok')).toBe('100%\nok');
    expect(keepLastStates('50%\r100%\r\r\nok')).toBe('100%\r\nok');
    expect(keepLastStates('a\r   \r')).toBe('   \r');
  });

  it.each([
    ['the last state is shorter', 'warning: the disk is almost full\rok', 'warning: the disk is almost full\rok'],
    ['a longer one covers it', 'warning: it\rok\rdownloading 10 %\rdone', 'downloading 10 %\rdone'],
    ['blanks cover it', 'downloading 10 %\r                \rdone', 'done'],
    ['some blanks cover its beginning', 'warning: it\r    \rok', 'warning: it\rok'],
    ['an equally long one covers it', '10 %\r20 %', '20 %'],
    ['wide characters take two columns', '警告警告\rsix ch', '警告警告\rsix ch'],
    ['wide characters are covered', '警告警告\reight ch', 'eight ch'],
    ['blocks take one', '█░░ 10 %\r██░ 50 %\r███ 99 %', '███ 99 %'],
    ['a tab covers nothing', 'warning: it\ra\tlong text behind it', 'warning: it\ra\tlong text behind it'],
    ['a tab at the beginning covers nothing', 'warning\r\tb', 'warning\r\tb'],
    ['blanks at its end cannot be seen', 'ab      \rabcd', 'abcd'],
    ['a tab goes far', 'a\tb\rfive!', 'a\tb\rfive!'],
    ['a code erases its end', 'warning: it\rok\u001b[K', 'ok\u001b[K'],
    ['the same code with its default erases its end', 'warning: it\rok\u001b[0K', 'ok\u001b[0K'],
    ['a code erases only its beginning', 'warning: it\rok\u001b[1K', 'warning: it\rok\u001b[1K'],
    ['a code erases it', 'warning: it\r\u001b[0;32m\u001b[Kok', '\u001b[0;32m\u001b[Kok'],
    ['a code erases the line before the return', 'warning: it\u001b[2K\rok', 'ok'],
    ['a code erases a line that stays empty', 'downloading\rwarning: it\r\u001b[K\r\n', 'warning: it\r\n'],
    ['colours have no columns', 'warn\r\u001b[31mok\u001b[0m', 'warn\r\u001b[31mok\u001b[0m'],
    [
      'the cursor goes up',
      'warning: it\r\u001b[1Adownloading 10 %\r\u001b[2Adownloading',
      'warning: it\r\ndownloading 10 %\r\ndownloading',
    ],
    ['the cursor goes to the right', 'warning: it\r\u001b[40Cdownloading 10 %', 'warning: it\r\ndownloading 10 %'],
    [
      'the cursor goes back to where it was',
      '\u001b7warning: it\r\u001b8downloading 10 %',
      'warning: it\r\ndownloading 10 %',
    ],
  ])('keeps what a terminal still shows: %s', (_, text, shown) => {
    expect(keepLastStates(text)).toBe(shown);
    expect(stripEscapeCodes(keepLastStates(stripEscapeCodes(shown)))).toBe(stripEscapeCodes(shown));
  });

  it('leaves lines alone that were not overwritten', () => {
    expect(keepLastStates('10 %\r20 %\nkept\u001b[2K too\r\nend')).toBe('20 %\nkept\u001b[2K too\r\nend');
  });

  it('drops rows without text', () => {
    expect(keepLastStates('warning: it\r\u001b[1A   \u001b[1Adone')).toBe('warning: it\r\ndone');
  });

  it('loses no column that a terminal shows', () => {
    const part = fc.constantFrom(
      '\r',
      '\r',
      'a',
      'bcd',
      ' ',
      '   ',
      'efghijkl',
      '警',
      '\u001b[K',
      '\r\u001b[2K',
      '\u001b[2K\r',
      '\u001b[31m',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const text = parts.join('');
        const kept = keepLastStates(text);
        const [shown, left] = [screenOf(text), screenOf(stripEscapeCodes(kept))];
        for (const [column, cell] of [...shown].entries()) if (cell !== ' ') expect(left[column]).toBe(cell);
        expect(keepLastStates(kept)).toBe(kept);
      }),
      runs,
    );
  });

  it('keeps line ends', () => {
    expect(keepLastStates('a\r\nb\r\n\r\n')).toBe('a\r\nb\r\n\r\n');
  });

  it('loses no line', () => {
    const linesOf = (text: string): number => text.split('\n').length;
    fc.assert(
      fc.property(soup, (text) => {
        expect(linesOf(keepLastStates(text))).toBeGreaterThanOrEqual(linesOf(text));
        expect(keepLastStates(text).length).toBeLessThanOrEqual(text.length);
      }),
      runs,
    );
  });
});

/** One line on a terminal. */
function screenOf(text: string): string {
  const cells: string[] = [];
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal reads them
  for (const [token] of text.matchAll(/\u001b\[\d*[Km]|./gsu)) {
    if (token === '\r') column = 0;
    else if (token === '\u001b[2K') cells.length = 0;
    else if (token === '\u001b[K') cells.length = Math.min(cells.length, column);
    else if (token === '警') {
      for (const half of ['<', '>']) cells[column++] = half;
    } else if (!token.startsWith('\u001b')) cells[column++] = token;
  }
  return Array.from(cells, (cell) => cell ?? ' ')
    .join('')
    .trimEnd();
}

describe('dropBlanks', () => {
  it('strips blanks at line ends', () => {
    expect(dropBlanks('  a \t\n b  \r\nc  ')).toBe('  a\n b\r\nc');
  });

  it('keeps blanks after a return, which would end the line without them', () => {
    expect(dropBlanks('a\r  \nb\r \t\r\nc')).toBe('a\r  \nb\r \t\r\nc');
  });

  it('makes one of two or more empty lines', () => {
    expect(dropBlanks('a\n\n\n\nb\n \n\t\nc\r\n\r\n\r\nd')).toBe('a\n\nb\n\nc\r\n\r\nd');
    expect(dropBlanks('\n\n\na\n\n\n\n')).toBe('\na\n\n');
    expect(dropBlanks('a\n\nb\n\n')).toBe('a\n\nb\n\n');
    // A return at the end may begin a line end that is yet to come.
    expect(dropBlanks('a\n\n\n\r')).toBe('a\n\n\r');
  });

  it('keeps all other characters', () => {
    const solid = (text: string): string => text.replace(/[ \t\r\n]/g, '');
    fc.assert(
      fc.property(soup, (text) => {
        expect(solid(dropBlanks(text))).toBe(solid(text));
        expect(dropBlanks(dropBlanks(text))).toBe(dropBlanks(text));
      }),
      runs,
    );
  });
});

describe('foldRepeatedBlocks', () => {
  const line = 'a line that is long enough to be folded';

  it('folds three equal blocks, and not two', () => {
    expect(foldRepeatedBlocks(`${line}\n${line}\n${line}\nend`)).toBe(`${line}\n[the line above 2 more times]\nend`);
    const twice = `${line}\nand a second\n`.repeat(2);
    expect(foldRepeatedBlocks(twice)).toBe(twice);
  });

  it('folds at the end of a text that has no newline there', () => {
    expect(foldRepeatedBlocks(`${line}\n${line}\n${line}`)).toBe(`${line}\n[the line above 2 more times]`);
  });

  it('keeps line ends', () => {
    expect(foldRepeatedBlocks(`${line}\r\n`.repeat(5))).toBe(`${line}\r\n[the line above 4 more times]\r\n`);
  });

  it('folds every block of a text, but none that occurs twice or has more than 8 lines', () => {
    const twice = `${line} twice\n`.repeat(2);
    const nine = Array.from({ length: 9 }, (_, i) => `line ${i} of nine lines\n`)
      .join('')
      .repeat(3);
    const other = `another ${line}\n`;
    expect(foldRepeatedBlocks(`${line}\n`.repeat(3) + twice + nine + other.repeat(4))).toBe(
      `${line}\n[the line above 2 more times]\n${twice}${nine}${other}[the line above 3 more times]\n`,
    );
  });

  it('folds blocks of lines', () => {
    const block = `${line}\nand a second\n`;
    expect(foldRepeatedBlocks(`start\n${block.repeat(7)}`)).toBe(`start\n${block}[the 2 lines above 6 more times]\n`);
    const long = Array.from({ length: 8 }, (_, i) => `line ${i} of the block\n`).join('');
    expect(foldRepeatedBlocks(long.repeat(3))).toBe(`${long}[the 8 lines above 2 more times]\n`);
  });

  it('leaves alone what would not become shorter', () => {
    // Without two of three lines and with `[the line above 2 more times]`, the second text would be as long as before.
    for (const text of ['}\n}\n}\n}\n', 'fourteen chars\n'.repeat(3)]) expect(foldRepeatedBlocks(text)).toBe(text);
  });

  it('leaves a text alone that speaks of lines above', () => {
    for (const said of [
      'the line above 2 more times',
      'the 2 lines above 3 more times',
      'the 8 lines above 12 more times',
    ]) {
      const text = `x\n[${said}]\n${`${line}\n`.repeat(5)}`;
      expect(foldRepeatedBlocks(text)).toBe(text);
    }
  });

  it('finds three equal blocks of each size, wherever they begin', () => {
    const lines = (word: string, count: number): string =>
      Array.from({ length: count }, (_, i) => `${line} ${word}${i}\n`).join('');
    for (let size = 1; size <= 8; size++)
      for (let above = 0; above <= 20; above++) {
        const [start, block] = [lines('above', above), lines('block', size)];
        const fold = `[the ${size === 1 ? 'line' : `${size} lines`} above 2 more times]\n`;
        expect(foldRepeatedBlocks(`${start}${block.repeat(3)}end`)).toBe(`${start}${block}${fold}end`);
      }
  });

  it('can be unfolded', () => {
    const lines = fc.array(fc.constantFrom(line, `${line}\r`, '', 'b', 'another line of the output', '\r'), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          lines.map((all) => all.join('\n')),
          soup,
        ),
        (text) => {
          const folded = foldRepeatedBlocks(text);
          if (folded === text) return;
          expect(folded.length).toBeLessThan(text.length);
          expect(unfold(folded)).toBe(text);
        },
      ),
      runs,
    );
  });
});

/** As a reader does it: the lines above, once more and once more. */
function unfold(text: string): string {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    const [, size, times] = /^\[the (?:(\d) lines|line) above (\d+) more times\]\r?$/.exec(line) ?? [];
    if (times === undefined) lines.push(line);
    else {
      const block = lines.slice(-Number(size ?? 1));
      for (let i = 0; i < Number(times); i++) lines.push(...block);
    }
  }
  return lines.join('\n');
}

describe('compactJson', () => {
  it('strips white space outside strings', () => {
    expect(compactJson(' { "a b" : [ 1 , "x \\" : y" ] ,\r\n"c":{ } }\n')).toBe('{"a b":[1,"x \\" : y"],"c":{}}');
  });

  it('keeps numbers and strings as they are written', () => {
    const text = '[1.0, 1e400, 12345678901234567890, -0, "\\u00e9\\/"]';
    expect(compactJson(text)).toBe(text.replaceAll(' ', ''));
  });

  it('writes a list of objects with the same keys as columns and rows', () => {
    const users = Array.from({ length: 4 }, (_, i) => ({ id: i, name: `user ${i}`, mail_address: null }));
    expect(compactJson(JSON.stringify({ users }, null, 2))).toBe(
      '{"users":{"list of objects with the keys":["id","name","mail_address"],' +
        '"values":[[0,"user 0",null],[1,"user 1",null],[2,"user 2",null],[3,"user 3",null]]}}',
    );
  });

  it('writes tables within lists, objects and other tables', () => {
    const table = Array.from({ length: 3 }, (_, i) => ({ identifier: i, description: `item ${i}` }));
    const written =
      '{"list of objects with the keys":["identifier","description"],"values":[[0,"item 0"],[1,"item 1"],[2,"item 2"]]}';
    expect(compactJson(JSON.stringify([[table, 1], []]))).toBe(`[[${written},1],[]]`);
    const rows = table.map((row) => ({ ...row, children: [row.identifier], more: table }));
    expect(fromColumns(JSON.parse(compactJson(JSON.stringify(rows)) ?? ''))).toEqual(rows);
  });

  it('keeps lists of other objects', () => {
    for (const list of [
      [{ a: 1 }, { a: 2 }, { b: 3 }],
      [{}, {}, {}],
      [{ a: 1 }, { a: 2 }, { a: 3 }],
      [1, 2, 3],
      ['first', 'second'].map((name) => ({
        'a key that is long enough to save characters, twice or not at all': name,
      })),
      ['a', 'a', 'a', 'b'].map((last) => ({ [`a key that is long enough, with the letter ${last}`]: 1 })),
    ])
      expect(compactJson(JSON.stringify(list))).toBe(JSON.stringify(list));
  });

  it('answers nothing for a text that is not JSON as a whole', () => {
    for (const text of ['', 'x', '{', '{"a":1} x', '{"a":1}{"a":1}', "{'a':1}", '[1,]', '"a"', '12'])
      expect(compactJson(text)).toBeUndefined();
  });

  it('gives the same value back', () => {
    const value = fc.letrec((tie) => {
      const word = fc.oneof(fc.constantFrom('id', 'values', 'a"b', '\\', 'list of objects with the keys'), fc.string());
      const leaf = fc.oneof(
        fc.string(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
      );
      const table = fc
        .uniqueArray(word, { minLength: 1, maxLength: 4 })
        .chain((keys) => fc.array(fc.tuple(...keys.map((key) => tie('any').map((v) => [key, v]))), { maxLength: 6 }))
        .map((rows) => rows.map((row) => Object.fromEntries(row as [string, unknown][])));
      const any = fc.oneof(
        { maxDepth: 4 },
        leaf,
        table,
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(word, tie('any'), { maxKeys: 3 }),
      );
      return { any, table };
    });
    fc.assert(
      fc.property(fc.oneof(value.any, value.table), fc.constantFrom('', ' ', '\n'), (written, indent) => {
        if (typeof written !== 'object' || written === null) return;
        const text = JSON.stringify(written, null, indent);
        const compact = compactJson(text) ?? '';
        const mentioned = text.includes('list of objects with the keys');
        expect(mentioned ? JSON.parse(compact) : fromColumns(JSON.parse(compact))).toEqual(JSON.parse(text));
        expect(compactJson(compact)).toBe(compact);
        expect(compact.length).toBeLessThanOrEqual(text.length);
      }),
      runs,
    );
  });

  it('adds no columns to a text that has the words, however they are written', () => {
    const items = Array.from({ length: 9 }, (_, i) => `{"identifier":${i}}`).join();
    const text = `[${items},{"identifier":{"\\u006cist of objects with the keys":["a"],"values":[[1]]}}]`;
    expect(compactJson(text)).toBe(text);
    expect(compactJson(text.replace('\\u006c', 'L'))).not.toBe(text.replace('\\u006c', 'L'));
  });
});

function fromColumns(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromColumns);
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.hasOwn(value, 'list of objects with the keys')
    ? (value as Record<string, string[]>)['list of objects with the keys']
    : undefined;
  if (keys === undefined) return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, fromColumns(v)]));
  const { values } = value as { values: unknown[][] };
  return values.map((row) => Object.fromEntries(keys.map((key, i) => [key, fromColumns(row[i])])));
}

describe('writePathsOnce', () => {
  it('writes the path of consecutive findings once', () => {
    const text = 'src/a.ts:1:one\nsrc/a.ts:22: two: 2\nb.ts:3:x\nC:\\c.ts:1:x\nC:\\c.ts:2:y\n';
    expect(writePathsOnce(text)).toBe('src/a.ts:\n1:one\n22: two: 2\nb.ts:3:x\nC:\\c.ts:\n1:x\n2:y\n');
  });

  it.each([
    ['on lines 0, 9 and 90', 'src/a.ts:0:x\nsrc/a.ts:9:y\nsrc/a.ts:90:z', 'src/a.ts:\n0:x\n9:y\n90:z'],
    ['on a drive', 'C:\\c.ts:1:x\nC:\\c.ts:2:y', 'C:\\c.ts:\n1:x\n2:y'],
    ['on a drive with slashes', 'C:/c.ts:1:x\nC:/c.ts:2:y', 'C:/c.ts:\n1:x\n2:y'],
    ['in lines that end with a return', 'a.ts:1:x\r\na.ts:2:y\r\n', 'a.ts:\r\n1:x\r\n2:y\r\n'],
    ['below a line that begins with a colon', ':\na.ts:1:x\na.ts:2:y', ':\na.ts:\n1:x\n2:y'],
    ['below a list with a title that is no path', 'found:\n1:x\na.ts:1:x\na.ts:2:y', 'found:\n1:x\na.ts:\n1:x\n2:y'],
    ['far below', `${'text\n'.repeat(400)}a.ts:1:x\na.ts:2:y`, `${'text\n'.repeat(400)}a.ts:\n1:x\n2:y`],
  ])('writes the path of findings once: %s', (_, text, written) => {
    expect(writePathsOnce(text)).toBe(written);
  });

  it.each([
    ['two files with names of one length', 'src/a.ts:1:x\nsrc/b.ts:2:y'],
    ['a finding and its context', 'a.ts:1:x\na.ts-2:y'],
    ['a note and a finding', 'a.ts: a note\na.ts:2:y'],
    ['words that are no path', 'error:1:x\nerror:2:y'],
    ['a beginning that is too long for a path', `${'a/'.repeat(600)}:1:x\n`.repeat(2)],
  ])('leaves alone %s', (_, text) => {
    expect(writePathsOnce(text)).toBe(text);
  });

  it('leaves times, addresses and other lines alone', () => {
    const text = '12:30:01 a\n12:30:02 b\n10.0.0.1:80:x\n10.0.0.1:80:y\nat foo (a.ts:1:2)\nat foo (a.ts:1:3)\n';
    expect(writePathsOnce(text)).toBe(text);
  });

  it('leaves a text alone in which a number would go to the wrong path', () => {
    for (const text of [
      'a.ts:1:x\na.ts:2:y\n3:z',
      'c.ts:\n1:x\na.ts:1:x\na.ts:2:y',
      `${'text\n'.repeat(400)}c.ts:\n12:x\na.ts:1:x\na.ts:2:y`,
    ])
      expect(writePathsOnce(text)).toBe(text);
  });

  it('can be undone', () => {
    const line = fc.constantFrom('a/b.ts:1:x', 'a/b.ts:2:7:y', 'c.ts:3:', 'c.ts:4:z\r', 'c.ts:', '12:x', '', 'text');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(line, { maxLength: 20 }).map((all) => all.join('\n')),
          soup,
        ),
        (text) => {
          const grouped = writePathsOnce(text);
          expect(writePathsOnce(grouped)).toBe(grouped);
          if (grouped !== text) expect(withPaths(grouped)).toBe(text);
        },
      ),
      runs,
    );
  });
});

function withPaths(text: string): string {
  let path = '';
  const lines = text.split('\n').flatMap((line, i, all) => {
    const isNumbered = (of: string | undefined): boolean => /^\d{1,9}:/.test(of ?? '');
    const heading = /^((?:[A-Za-z]:[\\/])?[^\s:]*[./\\][^\s:]*:)\r?$/.exec(line)?.[1];
    if (heading !== undefined && isNumbered(all[i + 1])) {
      path = heading;
      return [];
    }
    if (!isNumbered(line)) path = '';
    return [path + line];
  });
  return lines.join('\n');
}

describe('unpadLineNumbers', () => {
  it('strips the blanks before line numbers', () => {
    const text = '     1→a\n     2→  b\n    10\tc\n    11\td\n  x 3→\n';
    for (const onlyRising of [true, false])
      expect(unpadLineNumbers(text, { onlyRising })).toBe('1→a\n2→  b\n10\tc\n11\td\n  x 3→\n');
  });

  it.each([
    ['a number above it is one less', '   8\ta\n   9\tb\n  10\tc\n', '8\ta\n9\tb\n10\tc\n'],
    ['it is before an arrow, even alone', '  99→a\n   7→b\n', '99→a\n7→b\n'],
    ['it is 0', '   0\ta\n   1\tb\n', '0\ta\n1\tb\n'],
    ['it has nine digits', '  123456789→a\n', '123456789→a\n'],
    ['it is below an empty line', '\n   1→a\n', '\n1→a\n'],
  ])('knows a line number of a file: %s', (_, text, unpadded) => {
    expect(unpadLineNumbers(text, { onlyRising: true })).toBe(unpadded);
  });

  it.each([
    ['a number of ten digits', '  1234567890→a\n  1234567890\tb\n'],
    ['blanks before a tab', '  \ta\n'],
    ['blanks before an arrow', '  →a\n'],
    ['a number before other text', '  12 a\tb\n'],
  ])('keeps the blanks of %s', (_, text) => {
    expect(unpadLineNumbers(text, { onlyRising: false })).toBe(text);
  });

  it('keeps the blanks before numbers of a file itself', () => {
    const table = '  12\tapples\n   7\tpears\n';
    expect(unpadLineNumbers(table, { onlyRising: true })).toBe(table);
    expect(unpadLineNumbers(table, { onlyRising: false })).toBe('12\tapples\n7\tpears\n');
  });
});
