import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../test/support/any-character.ts';
import { clipText, countLines, headOf, percentChange, quote, tailOf } from './text.ts';

const FAMILY = '👩‍👩‍👧';
const HANDLE = 'p_3kf9q2m7abcdefghijklmnopqr'.replaceAll(/[0189]/g, '2');
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom('a', '😀', '\ud800', '\n') }),
);

/** How often a surrogate pair of the text was split at this offset. */
const splits = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));

describe('headOf and tailOf', () => {
  it('never split a surrogate pair, wherever they cut', () => {
    expect([0, 1, 2, 3, 4].map((end) => headOf('😀😀', end))).toEqual(['', '', '😀', '😀', '😀😀']);
    expect([0, 1, 2, 3, 4].map((length) => tailOf('😀😀', length))).toEqual(['', '', '😀', '😀', '😀😀']);
  });

  it('keep a lone surrogate as it is', () => {
    expect([headOf('\ud800a', 1), tailOf('a\udc00', 1)]).toEqual(['\ud800', '\udc00']);
  });

  it('are empty for 0 and less, whole for more than there is', () => {
    expect([headOf('ab', 0), headOf('ab', -3), tailOf('ab', 0), tailOf('ab', -3)]).toEqual(['', '', '', '']);
    expect([headOf('ab', 99), tailOf('ab', 99)]).toEqual(['ab', 'ab']);
  });

  it('give a prefix and a suffix that lack at most one unit', () => {
    fc.assert(
      fc.property(anyText, fc.nat({ max: 60 }), (text, length) => {
        const [head, tail] = [headOf(text, length), tailOf(text, length)];
        const most = Math.min(length, text.length);
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        expect(head.length).toBe(splits(text, most) ? most - 1 : most);
        expect(tail.length).toBe(splits(text, text.length - most) ? most - 1 : most);
      }),
    );
  });
});

describe('clipText', () => {
  it('ends in an ellipsis that counts, where there is room for one', () => {
    expect([0, 1, 3, 4, 5, 6].map((max) => clipText('abcdef', max))).toEqual([
      '',
      'a',
      'abc',
      'a...',
      'ab...',
      'abcdef',
    ]);
    expect(clipText('abc', -1)).toBe('');
  });

  it('is never longer than asked for and splits no character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat({ max: 30 }), (text, max) => {
        const clipped = clipText(text, max);
        expect(clipped.length).toBeLessThanOrEqual(Math.max(max, 0));
        expect(clipped.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('quote', () => {
  it('is one line: every kind of break and blank becomes one space', () => {
    expect(quote('a\r\nb\tc\u2028d\u2029e\u0085f   g ')).toBe('a b c d e f g');
  });

  it('removes control, zero-width and bidirectional characters', () => {
    const invisible = ['\u0000', '\u001b', '\u007f', '\u009f', '\u00ad', '\u061c', '\u200b', '\u200e', '\u200f'];
    const more = ['\u202a', '\u202e', '\u2060', '\u2066', '\u2069', '\ufeff'];
    for (const character of [...invisible, ...more]) expect(quote(`a${character}b`)).toBe('a b');
  });

  it('removes the half of a character and keeps whole ones', () => {
    expect(quote('a\ud800b\udc00c 😀')).toBe('a b c 😀');
  });

  it('writes brackets as parentheses', () => {
    expect(quote('[a] [[b]]')).toBe('(a) ((b))');
  });

  it('blanks what looks like a handle', () => {
    expect(quote(`see ${HANDLE} now`)).toBe('see now');
    expect(quote(`x${HANDLE}${HANDLE}y`)).not.toContain('p_');
  });

  it.each(['http_handlers.py', 'app_settings.ts', 'mcp_palimpsest_recall', 'p_settings.json', 'src/wp_content/x.php'])(
    'shows the name %s whole',
    (name) => {
      expect(quote(name)).toBe(name);
    },
  );

  it('leaves no handle where blanking one would join the parts of another', () => {
    const nested = `pp_bbbbbbbb_${'a'.repeat(26)}`;
    expect(quote(nested)).not.toMatch(/p_[a-z2-7]{26}/);
    expect(quote(`p_${'c'.repeat(4)}${HANDLE}${'c'.repeat(22)}`)).not.toMatch(/p_[a-z2-7]{26}/);
  });

  it('is at most 60 characters, or as many as asked for', () => {
    expect(quote('x'.repeat(61))).toBe(`${'x'.repeat(57)}...`);
    expect(quote('x'.repeat(60))).toBe('x'.repeat(60));
    expect(quote('abcdef', 4)).toBe('a...');
    expect(quote('abc', 0)).toBe('');
    expect(quote('abc', -5)).toBe('');
  });

  it('is empty for what has nothing to show', () => {
    expect([quote(''), quote(' \n\u200b ')]).toEqual(['', '']);
  });

  it('is safe whatever comes in', () => {
    const hostile = fc.string({
      unit: fc.constantFrom('p', '_', 'a', '2', '[', ']', '\n', '\u202e', '\ud800', '😀', ' '),
    });
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: anyCharacter }), fc.constant(FAMILY.repeat(40))), (text) => {
        const quoted = quote(text);
        expect(quoted.length).toBeLessThanOrEqual(60);
        expect(quoted.isWellFormed()).toBe(true);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
        expect(quoted).not.toMatch(/[[\]\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069]/);
        expect(quoted).not.toMatch(/p_[a-z2-7]{26}/);
        expect(quote(quoted)).toBe(quoted);
      }),
      { numRuns: 500 },
    );
  });
});

describe('countLines', () => {
  it.each([
    ['', 0],
    ['a', 1],
    ['a\n', 1],
    ['a\nb', 2],
    ['a\n\nb\n', 3],
    ['\n', 1],
    ['\n\n', 2],
    ['a\r\nb\r\n', 2],
  ])('counts %j as %i', (text, lines) => {
    expect(countLines(text)).toBe(lines);
  });
});

describe('percentChange', () => {
  it.each([
    [100, 47, '−53 %'],
    [100, 102, '+2 %'],
    [1000, 999, '0 %'],
    [0, 0, '0 %'],
  ])('of %d to %d is %s', (before, after, words) => {
    expect(percentChange({ before, after })).toBe(words);
  });
});
