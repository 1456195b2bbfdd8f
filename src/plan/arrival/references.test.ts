import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../test/support/any-character.ts';
import { CORPUS, hasCorpus } from '../../../test/support/corpus.ts';
import { readRuns } from '../../lab/readers/read-runs.ts';
import { arrivalLimits } from '../../limits.ts';
import { subjectOf } from '../placeholder.ts';
import { type About, type Reference, readReferences } from './reference-line.ts';
import { VisibleLines } from './references.ts';
import { resolveReferences, type Visible } from './resolve-references.ts';

const read = (subject: string): About => ({ kind: 'result', tool: 'read', subject });
const bash = (subject: string): About => ({ kind: 'result', tool: 'bash', subject });

/** Lines of a file, from 1. */
const source = (name: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `const ${name}${from + i} = '${name} ${(from + i) ** 2}';`);

const numbered = (lines: readonly string[], from: number): string =>
  lines.map((line, i) => `${String(from + i).padStart(6)}→${line}`).join('\n');

/** The numbers of the texts that the references of a result name. */
const targetsOf = (lines: VisibleLines, shaped = '', below?: number): (number | undefined)[] => [
  ...new Set(readReferences(shaped).map((reference) => lines.find(reference, below))),
];

/** Everything that the model sees: an index, and the texts themselves to check it with. */
class Conversation {
  readonly lines = new VisibleLines();
  readonly visible = new Map<number, Visible>();
  #next = 1;

  /** Adds a result or an argument as it is, and answers its number. */
  add(text: string, about: About): number {
    const id = this.#next++;
    this.lines.add(id, text, about);
    this.visible.set(id, { text, about });
    return id;
  }

  remove(id: number): void {
    this.lines.remove(id);
    this.visible.delete(id);
  }

  /** Sends a new result: shaped where that pays. Checks that it can be rebuilt. */
  send(text: string, about: About): string {
    const shaped = this.lines.shape(text);
    if (shaped) {
      expect(resolveReferences(shaped, [...this.visible.values()])).toBe(text);
      expect(shaped.length).toBeLessThan(text.length);
      expect(targetsOf(this.lines, shaped)).not.toContain(undefined);
      expect(this.lines.shape(shaped)).toBeUndefined();
    }
    this.add(shaped ?? text, about);
    return shaped ?? text;
  }
}

describe('VisibleLines', () => {
  it('replaces lines that an earlier read of the file shows, by their line numbers', () => {
    const conversation = new Conversation();
    conversation.add(numbered(source('a', 1, 40), 1), read('src/a.ts'));
    const again = [numbered(source('a', 20, 40), 20), numbered(source('a', 41, 44), 41)].join('\n');
    expect(conversation.send(again, read('src/a.ts'))).toBe(
      `[file lines 20–40: same as lines 20–40 of the last read src/a.ts above]\n${numbered(source('a', 41, 44), 41)}`,
    );
  });

  it('gives moved lines their new numbers', () => {
    const conversation = new Conversation();
    conversation.add(numbered(source('a', 1, 40), 1), read('src/a.ts'));
    const moved = `${numbered(['// new', '// lines'], 1)}\n${numbered(source('a', 1, 40), 3)}\n`;
    expect(conversation.send(moved, read('src/a.ts'))).toBe(
      '     1→// new\n     2→// lines\n[file lines 3–42: same as lines 1–40 of the last read src/a.ts above]\n',
    );
  });

  it('counts the lines of output that has no numbers', () => {
    const conversation = new Conversation();
    conversation.add(['$ cat', ...source('a', 1, 30)].join('\n'), bash('cat src/a.ts'));
    expect(conversation.send(['head', ...source('a', 5, 30), 'tail'].join('\n'), bash('sed -n 5,30p src/a.ts'))).toBe(
      'head\n[output lines 2–27: same as lines 6–31 of the last bash cat src/a.ts above]\ntail',
    );
  });

  it('finds output without numbers in a read with numbers, and keeps one line where no other shows how numbers are written', () => {
    const conversation = new Conversation();
    conversation.add(numbered(source('a', 1, 30), 1), read('src/a.ts'));
    conversation.add(source('b', 1, 30).join('\n'), bash('cat src/b.ts'));
    expect(conversation.send(source('a', 1, 30).join('\n'), bash('cat src/a.ts'))).toBe(
      '[output lines 1–30: same as file lines 1–30 of the last read src/a.ts above]',
    );
    expect(conversation.send(numbered(source('b', 1, 30), 1), read('src/b.ts'))).toBe(
      `${numbered(source('b', 1, 1), 1)}\n[file lines 2–30: same as output lines 2–30 of the last bash cat src/b.ts above]`,
    );
  });

  it('finds lines in the arguments of calls', () => {
    const conversation = new Conversation();
    const call: About = { kind: 'call', tool: 'write_file', subject: 'src/a.ts', argument: 'content' };
    conversation.add(source('a', 1, 30).join('\n'), call);
    expect(conversation.send(source('a', 1, 30).join('\n'), bash('cat src/a.ts'))).toBe(
      '[output lines 1–30: same as content lines 1–30 of your last call of write_file src/a.ts above]',
    );
  });

  it('goes no further back than the fourth last text of a name', () => {
    const conversation = new Conversation();
    const old = source('old', 1, 30).join('\n');
    conversation.add(old, read('a.ts'));
    for (let i = 1; i <= 3; i++) conversation.add(`another text ${i}`, read('a.ts'));
    expect(conversation.send(old, read('b.ts'))).toContain('of the 4th last read a.ts above]');
    const longer = source('older', 1, 30).join('\n');
    conversation.add(longer, read('c.ts'));
    for (let i = 1; i <= 4; i++) conversation.add(`another text ${i}`, read('c.ts'));
    expect(conversation.send(longer, read('d.ts'))).toBe(longer);
  });

  it('names the newest of equally long places, and says which where a newer text has the same name', () => {
    const conversation = new Conversation();
    const old = numbered(source('a', 1, 30), 1);
    conversation.add(old, read('a.ts'));
    conversation.add(numbered(source('b', 1, 30), 1), read('a.ts'));
    expect(conversation.send(old, read('a.ts'))).toContain('of the 2nd last read a.ts above]');
    conversation.add(old, bash('cat -n a.ts'));
    expect(conversation.send(old, read('a.ts'))).toContain('of the last bash cat -n a.ts above]');
  });

  it('counts lines in a text whose numbers do not name one line', () => {
    const conversation = new Conversation();
    conversation.add([numbered(source('b', 1, 30), 1), numbered(source('a', 1, 30), 1)].join('\n'), bash('cat -n b a'));
    expect(conversation.send(numbered(source('a', 1, 30), 1), read('a'))).toBe(
      '[file lines 1–30: same as output lines 31–60 of the last bash cat -n b a above]',
    );
  });

  it('counts lines in a text where a number occurs again below other lines', () => {
    const conversation = new Conversation();
    conversation.add(`5: other\nbetween\n${numbered(source('a', 5, 30), 5)}`, bash('grep -n'));
    expect(conversation.send(numbered(source('a', 5, 30), 5), read('a'))).toBe(
      '[file lines 5–30: same as output lines 3–28 of the last bash grep -n above]',
    );
  });

  it('names lines by their numbers below lines that have none, also from 0', () => {
    const conversation = new Conversation();
    conversation.add(`$ number a\n\n${numbered(source('a', 0, 30), 0)}`, bash('number a'));
    expect(conversation.send(numbered(source('a', 0, 30), 0), read('a'))).toBe(
      '[file lines 0–30: same as lines 0–30 of the last bash number a above]',
    );
  });

  it('refers to nothing that was removed', () => {
    const conversation = new Conversation();
    const text = source('a', 1, 30).join('\n');
    const id = conversation.add(text, read('a.ts'));
    conversation.remove(id);
    expect(conversation.lines.shape(text)).toBeUndefined();
    conversation.add(text, read('a.ts'));
    expect(targetsOf(conversation.lines, conversation.lines.shape(text))).toEqual([2]);
  });

  it('refers to a changed text as it is now', () => {
    const lines = new VisibleLines();
    const [before, after] = [source('a', 1, 30).join('\n'), source('b', 1, 30).join('\n')];
    lines.add(1, before, read('a.ts'));
    lines.change(1, after);
    expect(lines.shape(before)).toBeUndefined();
    expect(lines.shape(after)).toBe('[output lines 1–30: same as lines 1–30 of the last read a.ts above]');
    lines.change(1, '[read a.ts: 30 lines, 900 chars masked]');
    expect(lines.shape(after)).toBeUndefined();
    lines.change(2, before);
    expect(lines.shape(before)).toBeUndefined();
  });

  it('knows the name of a text until it is removed', () => {
    const lines = new VisibleLines();
    lines.add(1, 'short', read('a.ts'));
    expect(lines.about(1)).toEqual(read('a.ts'));
    lines.hide(1);
    expect(lines.about(1)).toEqual(read('a.ts'));
    lines.remove(1);
    expect(lines.about(1)).toBeUndefined();
  });

  it('refers only to texts above a result, and counts only those', () => {
    const lines = new VisibleLines();
    const text = source('a', 1, 30).join('\n');
    lines.add(1, text, read('a.ts'));
    for (const id of [2, 3, 4]) lines.add(id, `another text ${id}`, read('a.ts'));
    lines.add(5, text, read('b.ts'));
    expect(lines.shape(text, 1000, 1)).toBeUndefined();
    expect(lines.shape(text, 1000, 3)).toContain('of the 2nd last read a.ts above]');
    expect(lines.shape(text, 1000, 5)).toContain('of the 4th last read a.ts above]');
    expect(lines.shape(text, 1000, 6)).toContain('of the last read b.ts above]');
  });

  it('refers only to texts that a request does not leave out, and counts only those', () => {
    const lines = new VisibleLines((id) => id !== 2 && id !== 4);
    const text = source('a', 1, 30).join('\n');
    lines.add(1, text, read('a.ts'));
    for (const id of [2, 3]) lines.add(id, `another text ${id}`, read('a.ts'));
    lines.add(4, text, read('b.ts'));
    expect(lines.shape(text)).toContain('of the 2nd last read a.ts above]');
  });

  it('finds the text that a reference means by its place in the conversation', () => {
    const lines = new VisibleLines((id) => id !== 3);
    for (const id of [1, 2, 3, 4]) lines.add(id, `text ${id}`, read('a.ts'));
    const [last, secondLast] = readReferences(
      [
        '[output lines 1–9: same as lines 1–9 of the last read a.ts above]',
        '[output lines 1–9: same as lines 1–9 of the 2nd last read a.ts above]',
      ].join('\n'),
    ) as [Reference, Reference];
    expect([lines.find(last), lines.find(secondLast)]).toEqual([4, 2]);
    expect([lines.find(last, 4), lines.find(secondLast, 4)]).toEqual([2, 1]);
    expect([lines.find(last, 2), lines.find(secondLast, 2)]).toEqual([1, undefined]);
  });

  it('leaves a result alone that has references already, or quotes one', () => {
    const lines = new VisibleLines();
    const text = source('a', 1, 30).join('\n');
    lines.add(1, text, read('a.ts'));
    const quoted = '[output lines 1–9: same as lines 1–9 of the last read a.ts above]';
    expect(lines.shape(`a line\n${quoted}\n${text}`)).toBeUndefined();
    expect(lines.shape(`a line\n${quoted} and more\n${text}`)).toBeDefined();
  });

  it('counts lines in a text where not every line has a number, or one is missing', () => {
    const conversation = new Conversation();
    conversation.add(['1: the first line', ...source('a', 1, 30)].join('\n'), bash('cat a'));
    expect(conversation.send(['the first line', ...source('a', 1, 30)].join('\n'), bash('cat a'))).toBe(
      '[output lines 1–31: same as lines 1–31 of the last bash cat a above]',
    );
    conversation.add([numbered(source('b', 1, 15), 1), numbered(source('b', 16, 30), 20)].join('\n'), read('b'));
    expect(conversation.send(source('b', 1, 30).join('\n'), bash('cat b'))).toBe(
      '[output lines 1–30: same as lines 1–30 of the last read b above]',
    );
  });

  it('begins a block where three lines have 40 characters: shorter ones repeat everywhere', () => {
    const conversation = new Conversation();
    const text = ['{', '{', 'x'.repeat(37), '{}', ...source('a', 1, 30)].join('\n');
    conversation.add(text, read('a.ts'));
    expect(conversation.send(`a line of output above the file\n${text}`, bash('cat a.ts'))).toBe(
      'a line of output above the file\n{\n[output lines 3–35: same as lines 2–34 of the last read a.ts above]',
    );
  });

  it('keeps a short block beside a long one', () => {
    const conversation = new Conversation();
    conversation.add(source('a', 1, 30).join('\n'), read('a.ts'));
    conversation.add([...source('b', 1, 3), 'x'.repeat(240)].join('\n'), read('b.ts'));
    expect(conversation.send([...source('a', 1, 30), 'between', ...source('b', 1, 3)].join('\n'), bash('cat'))).toBe(
      ['[output lines 1–30: same as lines 1–30 of the last read a.ts above]', 'between', ...source('b', 1, 3)].join(
        '\n',
      ),
    );
  });

  it('never refers to lines that only a reference shows', () => {
    const conversation = new Conversation();
    const text = source('a', 1, 30).join('\n');
    const first = conversation.add(text, read('a.ts'));
    conversation.send(text, read('a.ts'));
    conversation.remove(first);
    expect(conversation.lines.shape(text)).toBeUndefined();
  });

  it('leaves markers of ours in place', () => {
    const conversation = new Conversation();
    const markers = [
      '[truncated: kept first ~8000 of ~9000 tokens (head)]',
      '[read_file src/a.ts: 212 lines, 7431 chars masked]',
      '[… 12 lines]',
      '[conversation truncated — 12 older messages omitted]',
    ];
    const text = [...source('a', 1, 20), ...markers, ...source('b', 1, 20)].join('\n');
    conversation.add(text, read('a.ts'));
    expect(conversation.send(text, read('a.ts')).split('\n').slice(1, -1)).toEqual(markers);
  });

  it('keeps lines that a marker below them speaks of', () => {
    const conversation = new Conversation();
    conversation.add(source('a', 1, 40).join('\n'), read('a.ts'));
    const folded = [...source('a', 1, 20), '[the 2 lines above 5 more times]', ...source('a', 21, 40)].join('\n');
    expect(conversation.send(folded, bash('cat a.ts'))).toBe(
      [
        '[output lines 1–18: same as lines 1–18 of the last read a.ts above]',
        ...source('a', 19, 20),
        '[the 2 lines above 5 more times]',
        '[output lines 22–41: same as lines 21–40 of the last read a.ts above]',
      ].join('\n'),
    );
  });

  describe('counts for the share of a result', () => {
    const [a, b] = [source('a', 1, 20), source('b', 1, 20)];
    const size = a.join('\n').length;
    /** A fifth of it is `a`, a fifth `b`. */
    const result = [...a, 'x'.repeat(3 * size), ...b].join('\n');

    it('all blocks together', () => {
      const lines = new VisibleLines();
      lines.add(1, a.join('\n'), read('a.ts'));
      expect(lines.shape(result)).toBeUndefined();
      lines.add(2, b.join('\n'), read('b.ts'));
      expect(targetsOf(lines, lines.shape(result))).toEqual([1, 2]);
    });

    it('no text below it', () => {
      const lines = new VisibleLines();
      lines.add(1, a.join('\n'), read('a.ts'));
      lines.add(2, b.join('\n'), read('b.ts'));
      expect(lines.shape(result, 1000, 2)).toBeUndefined();
    });

    it('no text that is too far back to be named', () => {
      const lines = new VisibleLines();
      lines.add(1, a.join('\n'), read('a.ts'));
      lines.add(2, b.join('\n'), read('b.ts'));
      for (const id of [3, 4, 5, 6]) lines.add(id, 'another text', read('a.ts'));
      expect(lines.shape(result)).toBeUndefined();
    });

    it('a line once, however many texts have it', () => {
      const lines = new VisibleLines();
      lines.add(1, [...a, 'end'].join('\n'), read('a.ts'));
      lines.add(2, a.slice(0, -1).join('\n'), read('a.ts'));
      expect(lines.shape(result)).toBeUndefined();
    });

    it('no short block', () => {
      const lines = new VisibleLines();
      lines.add(1, a.join('\n'), read('a.ts'));
      for (let i = 0; i < 5; i++)
        lines.add(i + 2, [...b.slice(4 * i, 4 * i + 4), 'x'.repeat(240)].join('\n'), read('b.ts'));
      expect(lines.shape(result)).toBeUndefined();
    });
  });

  it.each([
    ['a result of 80 tokens', { has: source('a', 1, 20), sent: source('a', 1, 20), tokens: 80 }, false],
    ['a result of 81 tokens', { has: source('a', 1, 20), sent: source('a', 1, 20), tokens: 81 }, true],
    [
      'a block below 240 characters',
      { has: ['x'.repeat(79), 'y', 'z'.repeat(156)], sent: ['x'.repeat(79), 'y', 'z'.repeat(156), ''] },
      false,
    ],
    [
      'a block of 240 characters',
      { has: ['x'.repeat(79), 'y', 'z'.repeat(157), 'end'], sent: ['x'.repeat(79), 'y', 'z'.repeat(157), ''] },
      true,
    ],
    [
      'a block of two lines',
      { has: source('a', 1, 2).map((l) => l.repeat(9)), sent: source('a', 1, 2).map((l) => l.repeat(9)) },
      false,
    ],
    [
      'three lines of 39 characters',
      {
        has: ['a'.repeat(13), 'b'.repeat(13), 'c'.repeat(13), 'd'.repeat(13)],
        sent: ['a'.repeat(13), 'b'.repeat(13), 'c'.repeat(13), 'x'.repeat(999)],
      },
      false,
    ],
    [
      'a share of less than three tenths',
      { has: source('a', 1, 20), sent: [...source('a', 1, 20), 'x'.repeat(1400)] },
      false,
    ],
    ['a larger share', { has: source('a', 1, 20), sent: [...source('a', 1, 20), 'x'.repeat(400)] }, true],
  ])(
    'knows where a reference pays: %s',
    (_, { has, sent, tokens }: { has: string[]; sent: string[]; tokens?: number }, pays) => {
      const lines = new VisibleLines();
      lines.add(1, has.join('\n'), read('a.ts'));
      expect(lines.shape(sent.join('\n'), tokens ?? 1000) !== undefined).toBe(pays);
    },
  );
});

it('a result counts as a quarter as many tokens as characters, unless they are given', () => {
  const lines = new VisibleLines();
  const text = (length: number): string => `${'a'.repeat(100)}\n${'b'.repeat(100)}\n${'c'.repeat(length - 202)}`;
  lines.add(1, text(320), read('a.ts'));
  lines.add(2, text(324), read('b.ts'));
  expect(lines.shape(text(320))).toBeUndefined();
  expect(targetsOf(lines, lines.shape(text(324)))).toEqual([2]);
});

/** Lines that repeat, in every manner of numbering, with all that could mislead: markers, other references, odd line ends. */
const line = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 11 }).map((n) => `line ${n} ${String(n).repeat(50)}`) },
  {
    weight: 3,
    arbitrary: fc.constantFrom('', ' ', '}', '\r', '1: one', '2→two', '  3|', 'a\rb', '\u2028', '\ud83d', '😀é→'),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '[output lines 1–9: same as lines 1–9 of the last read a.ts above]',
      '[read a.ts: 3 lines, 40 chars masked]',
      '[… 3 lines]',
      '[the 2 lines above 3 more times]',
      '7→[output lines 1–9: same as lines 1–9 of the last read a.ts above]',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) },
);

type Render = (line: string, number: number) => string;
const manners: readonly Render[] = [
  (line) => line,
  (line, n) => `${n}→${line}`,
  (line, n) => `${String(n).padStart(6)}→${line}`,
  (line, n) => `${String(n).padStart(6)}\t${line}`,
  (line, n) => `${n}: ${line}`,
  (line, n) => (line === '' ? `${n}:` : `${n}: ${line}`),
  (line, n) => `\t${n}|${line}`,
  (line, n) => `  ${n}| ${line}`,
  (line, n) => `${String(n).padStart(4, '0')}: ${line}`,
  (line, n) => `${n - (n % 4)}: ${line}`,
  (line, n) => `${n * 2}\t${line}`,
  (line, n) => (n % 7 === 0 ? line : `${n}: ${line}`),
];

interface Written {
  readonly lines: readonly string[];
  readonly manner: Render;
  readonly first: number;
  readonly lineEnd: string;
  readonly isEnded: boolean;
}

const write = ({ lines, manner, first, lineEnd, isEnded }: Written): string =>
  lines.map((line, i) => manner(line, first + i)).join(lineEnd) + (isEnded ? lineEnd : '');

/** Parts of a few files, written in some manner. */
const texts = fc
  .array(fc.array(line, { minLength: 8, maxLength: 40 }), { minLength: 1, maxLength: 3 })
  .chain((files) => {
    const part = fc
      .tuple(fc.constantFrom(...files), fc.nat(20), fc.nat(40))
      .map(([file, from, length]) => file.slice(from % file.length, (from % file.length) + length));
    const written = fc.record({
      lines: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.flat()),
      manner: fc.constantFrom(...manners),
      first: fc.constantFrom(0, 1, 7, 95, 99_990, 999_999_990),
      lineEnd: fc.constantFrom('\n', '\n', '\n', '\r\n', '\r'),
      isEnded: fc.boolean(),
    });
    return fc.array(
      fc.array(written, { minLength: 1, maxLength: 2 }).map((all) => all.map(write).join('\n')),
      {
        minLength: 2,
        maxLength: 12,
      },
    );
  });
const abouts: readonly About[] = [
  read('a.ts'),
  bash('cat a.ts\n[x] above]'),
  { kind: 'call', tool: 'edit', subject: 'a.ts', argument: 'file' },
  { kind: 'call' },
  { kind: 'result' },
];
const steps = fc.tuple(
  texts,
  fc.array(fc.tuple(fc.nat(abouts.length - 1), fc.boolean()), { minLength: 12, maxLength: 12 }),
);
const runs = { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 300) };

describe('a reference is never wrong', () => {
  it('gives back the very text, whatever the texts are', () => {
    let references = 0;
    fc.assert(
      fc.property(steps, ([all, how]) => {
        const conversation = new Conversation();
        for (const [i, text] of all.entries()) {
          const [about = 0, isRemoved = false] = how[i] ?? [];
          references += readReferences(conversation.send(text, abouts[about] as About)).length;
          if (isRemoved && i > 1) conversation.remove(i - 1);
        }
      }),
      runs,
    );
    expect(references).toBeGreaterThan(runs.numRuns);
  });

  it('depends on the visible texts alone: an index that grew shapes like one that is made again', () => {
    fc.assert(
      fc.property(steps, ([all, how]) => {
        const conversation = new Conversation();
        for (const [i, text] of all.slice(0, -1).entries()) {
          const [about = 0, isRemoved = false] = how[i] ?? [];
          conversation.send(text, abouts[about] as About);
          if (isRemoved && i > 1) conversation.remove(i - 1);
        }
        const again = new VisibleLines();
        for (const [id, { text, about }] of conversation.visible) again.add(id, text, about);
        expect(again.shape(all.at(-1) as string)).toEqual(conversation.lines.shape(all.at(-1) as string));
      }),
      runs,
    );
  });

  it('is not rebuilt from another text than the one it names', () => {
    const text = source('a', 1, 30).join('\n');
    const lines = new VisibleLines();
    lines.add(1, text, read('a.ts'));
    const shaped = lines.shape(text) ?? '';
    expect(resolveReferences(shaped, [{ text, about: read('a.ts') }])).toBe(text);
    expect(resolveReferences(shaped, [])).toBeUndefined();
    expect(resolveReferences(shaped, [{ text, about: read('b.ts') }])).toBeUndefined();
    expect(resolveReferences(shaped, [{ text: 'short', about: read('a.ts') }])).toBeUndefined();
  });

  it('refers to a text above it, however many texts below have the same lines', () => {
    const text = source('a', 1, 20).join('\n');
    const lines = new VisibleLines();
    for (let id = 1; id <= 30; id++) lines.add(id, text, read(`${id}.ts`));
    expect(targetsOf(lines, lines.shape(text, text.length / 4, 2), 2)).toEqual([1]);
    const others = new VisibleLines((id) => id === 1);
    for (let id = 1; id <= 30; id++) others.add(id, text, read(`${id}.ts`));
    expect(targetsOf(others, others.shape(text))).toEqual([1]);
  });

  // Only the oldest texts are left out here. Without a text in the middle, an older one may come within the fourth last of its name.
  // `Arrivals` makes the result smaller then, in the request that leaves the text out: test/arrival/fed-back.test.ts.
  it('is not made later: a result that went out whole stays whole when texts above it are masked, or the oldest left out', () => {
    fc.assert(
      fc.property(steps, fc.array(fc.boolean(), { maxLength: 12 }), fc.nat(12), ([all, how], masked, oldest) => {
        const conversation = new Conversation();
        for (const [i, text] of all.slice(0, -1).entries()) conversation.send(text, abouts[how[i]?.[0] ?? 0] as About);
        const last = all.at(-1) as string;
        if (conversation.lines.shape(last)) return;
        for (const [i, isMasked] of masked.entries()) {
          if (isMasked) conversation.lines.hide(i + 1);
          expect(conversation.lines.shape(last)).toBeUndefined();
        }
        for (let id = 1; id <= oldest; id++) {
          conversation.lines.remove(id);
          expect(conversation.lines.shape(last)).toBeUndefined();
        }
      }),
      runs,
    );
  });
});

describe('long texts take time in proportion to their length', () => {
  const chars = arrivalLimits.visibleChars;
  const repeat = (text: string): string => text.repeat(Math.floor(chars / 2 / text.length));

  it.each([
    ['one line', repeat('a')],
    ['equal lines', repeat('the same line again\n')],
    ['lines that alternate', repeat(`${source('a', 1, 2).join('\n')}\n`)],
    ['empty lines', repeat('\n')],
    ['blocks that are a little too short', repeat(`${source('a', 1, 6).join('\n')}\n${'x'.repeat(20)}\n`)],
    ['numbers that do not rise', repeat(`${numbered(source('a', 1, 30), 1)}\n`)],
    ['lines in brackets', repeat(`[${'a 1 '.repeat(70)}]\n`)],
    ['markers', repeat('a line above a marker\n[the 8 lines above 3 more times]\n')],
    ['line numbers with tabs', repeat(`${'\t'.repeat(300)}1: a line with a number\n`)],
  ])(
    '%s',
    (_, text) => {
      const lines = new VisibleLines();
      lines.add(1, text, read('a'));
      const shaped = lines.shape(`${text}end`);
      if (shaped) expect(resolveReferences(shaped, [{ text, about: read('a') }]) === `${text}end`).toBe(true);
      lines.remove(1);
      expect(lines.shape(text)).toBeUndefined();
    },
    60_000,
  );

  it('many texts with the same lines: the newest that is left is named, whichever were removed', () => {
    const lines = new VisibleLines();
    const text = source('a', 1, 20).join('\n');
    const count = Math.floor(chars / text.length);
    for (let id = 1; id <= count; id++) lines.add(id, text, read('a'));
    expect(targetsOf(lines, lines.shape(text))).toEqual([count]);
    for (let id = count; id > count / 2; id--) lines.remove(id);
    expect(targetsOf(lines, lines.shape(text))).toEqual([Math.floor(count / 2)]);
    for (let id = 1; id < 100; id++) lines.remove(id);
    lines.add(50, text, read('a'));
    for (let id = 100; id <= count / 2; id++) lines.remove(id);
    expect(targetsOf(lines, lines.shape(text))).toEqual([50]);
  }, 60_000);

  it('a text beyond the limit goes out whole and is not searched; the oldest texts are forgotten first', () => {
    const lines = new VisibleLines();
    const text = source('a', 1, 50).join('\n');
    lines.add(1, text, read('a'));
    lines.add(2, 'x'.repeat(chars + 1), read('b'));
    expect(lines.shape(`${text}\n${'x'.repeat(chars)}`)).toBeUndefined();
    expect(targetsOf(lines, lines.shape(text))).toEqual([1]);
    lines.add(3, 'x'.repeat(chars - text.length), read('c'));
    expect(targetsOf(lines, lines.shape(text))).toEqual([1]);
    lines.change(3, 'masked, which makes room for another text');
    lines.add(4, 'x'.repeat(chars - text.length), read('c'));
    expect(targetsOf(lines, lines.shape(text))).toEqual([1]);
    lines.add(5, 'x'.repeat(300), read('c'));
    expect(lines.shape(text)).toBeUndefined();
  });
});

describe.skipIf(!hasCorpus)('real runs (skipped where ../shared/corpus is absent)', () => {
  it('repeat more than a tenth of their results, and every reference gives back its lines', async () => {
    let [chars, saved] = [0, 0];
    for await (const { messages } of readRuns([CORPUS])) {
      const conversation = new Conversation();
      const calls = new Map(
        messages.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => [call.id, call] as const)),
      );
      for (const { role, content, toolCallId = '' } of messages) {
        if (role !== 'tool') continue;
        const { name, arguments: args = '' } = calls.get(toolCallId) ?? {};
        const sent = conversation.send(content, { kind: 'result', tool: name, subject: subjectOf(args) });
        chars += content.length;
        saved += content.length - sent.length;
      }
    }
    expect(saved / chars).toBeGreaterThan(0.1);
    expect(saved / chars).toBeLessThan(0.25);
  }, 120_000);
});
