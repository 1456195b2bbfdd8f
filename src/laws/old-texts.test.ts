import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../test/support/any-character.ts';
import { isOldTextName, onlyOldTextsDiffer, shortenOldText, shortenOldTexts } from './old-texts.ts';

const LONG = 'const total = compute("a", 1);\n'.repeat(10);

describe('shortenOldText', () => {
  it('keeps the head, and says how much is left out, in at most 48 characters', () => {
    expect(shortenOldText(LONG)).toBe('const total = … [296 chars of old text left out]');
  });

  it('leaves 159 characters alone', () => {
    expect(shortenOldText('x'.repeat(159))).toBeUndefined();
    expect(shortenOldText('x'.repeat(160))).toBeDefined();
  });

  it('splits no character, and never takes more than 48', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, minLength: 160, maxLength: 2000, size: 'max' }), (text) => {
        const short = shortenOldText(text) as string;
        expect(short.length).toBeLessThanOrEqual(48);
        expect(shortenOldText(short)).toBeUndefined();
        if (text.isWellFormed()) expect(short.isWellFormed()).toBe(true);
      }),
    );
    expect(shortenOldText('👩'.repeat(80))).toSatisfy((short: string) => short.isWellFormed());
  });
});

describe('isOldTextName', () => {
  it.each([
    'old_string',
    'oldString',
    'oldText',
    'old_str',
    'old',
    'search',
    'find',
    'original_text',
    'searchText',
    'originalText',
    'targetContent',
  ])('knows %s', (name) => expect(isOldTextName(name)).toBe(true));
  it.each(['new_string', 'newText', 'path', 'replace', 'content', 'older', 'searches', 'threshold'])(
    'does not take %s for one',
    (name) => expect(isOldTextName(name)).toBe(false),
  );
});

describe('shortenOldTexts', () => {
  it('leaves every other byte of the arguments as it was', () => {
    const written = `{ "path" :"src/\\u00e4.ts",\n "old_string":\t${JSON.stringify(LONG)} , "n": 1.50, "new_string": "\\"old_string\\": y" }`;
    const short = JSON.stringify(shortenOldText(LONG));
    expect(shortenOldTexts(written)).toBe(written.replace(JSON.stringify(LONG), () => short));
  });

  it('shortens the old texts of a list of edits', () => {
    const args = { edits: [{ oldText: LONG, newText: LONG }, { oldText: 'x' }, { oldText: LONG }] };
    const short = shortenOldText(LONG);
    expect(JSON.parse(shortenOldTexts(JSON.stringify(args)) ?? '')).toEqual({
      edits: [{ oldText: short, newText: LONG }, { oldText: 'x' }, { oldText: short }],
    });
  });

  it.each([
    LONG,
    `{"old_string":${JSON.stringify(LONG)}`,
    JSON.stringify([LONG]),
    JSON.stringify({ old_string: [LONG] }),
    JSON.stringify({ words: ['old_string', LONG] }),
    JSON.stringify([{ old_string: LONG }]),
  ])('leaves what it cannot read alone: %j', (args) => expect(shortenOldTexts(args)).toBeUndefined());

  it('changes only old texts, in any arguments', () => {
    const value = fc.oneof(fc.string({ unit: anyCharacter, maxLength: 400, size: 'max' }), fc.jsonValue());
    const name = fc.constantFrom('old_string', 'new_string', '"', '\\', 'search', 'path');
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.constantFrom(undefined, 2), (args, space) => {
        const written = JSON.stringify(args, undefined, space);
        const short = shortenOldTexts(written);
        if (short === undefined) return;
        expect(short.length).toBeLessThan(written.length);
        expect(onlyOldTextsDiffer(JSON.parse(written), JSON.parse(short))).toBe(true);
        expect(onlyOldTextsDiffer(written, short)).toBe(true);
      }),
    );
  });
});

describe('onlyOldTextsDiffer', () => {
  const short = shortenOldText(LONG);
  it.each([
    ['another argument', { a: LONG }, { a: short }],
    ['another text', { old_string: LONG }, { old_string: 'gone' }],
    ['an id', { id: '1', input: { old_string: LONG } }, { id: '2', input: { old_string: short } }],
    ['a key that is gone', { old_string: LONG, n: 1 }, { old_string: short }],
    ['a key that is new', { old_string: LONG }, { old_string: short, n: 1 }],
    ['a text in place of an object', { old_string: {} }, { old_string: 'x' }],
    ['a text in place of another object', { a: {} }, { a: 'x' }],
    ['an object in place of its text', { a: '{"n":1}' }, { a: { n: 1 } }],
    ['an object in place of null', { a: null }, { a: {} }],
    ['null in place of an object', { a: {} }, { a: null }],
    ['an object in place of a number', { a: 1 }, { a: {} }],
    ['a number in place of an object', { a: {} }, { a: 1 }],
    ['an object in place of a list', { a: [] }, { a: {} }],
  ])('refuses %s', (_name, before, after) => expect(onlyOldTextsDiffer(before, after)).toBe(false));
  it('lets LangChain repeat a message in `lc_kwargs`', () => {
    const before = { old_string: LONG, lc_kwargs: { old_string: LONG } };
    expect(onlyOldTextsDiffer(before, { old_string: short, lc_kwargs: { old_string: LONG, n: 1 } })).toBe(true);
    expect(onlyOldTextsDiffer(before, { old_string: short })).toBe(true);
  });
});
