import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Reference, readReference } from './reference-line.ts';
import { VisibleLines } from './references.ts';
import { hasLines, resolveReferences, type Visible } from './resolve-references.ts';

const runs = { numRuns: Number(process.env.PALIMPSEST_RUNS ?? 500) };

const bodies = Array.from({ length: 12 }, (_, i) => `${'field of a table, '.repeat(1 + (i % 4))}${i ** 3}`);

/** Some lines in a row, all with a number in one manner: line numbers, counts, times, ports. */
const stretch = fc
  .record({
    from: fc.integer({ min: 0, max: 11 }),
    count: fc.integer({ min: 1, max: 12 }),
    number: fc.constantFrom(0, 1, 2, 9, 10, 12, 98, 8080),
    step: fc.constantFrom(1, 1, 1, 0, 2, -1),
    prefix: fc.constantFrom<(number: number) => string>(
      () => '',
      (number) => `${number}: `,
      (number) => `${number}:`,
      (number) => `${String(number).padStart(6)}→`,
      (number) => `\t${number}\t`,
      (number) => `${number}| `,
      (number) => `${number}:30 `,
      (number) => `10:${number + 10}:05 `,
      (number) => `${number}:80 `,
    ),
  })
  .map(({ from, count, number, step, prefix }) =>
    Array.from({ length: count }, (_, i) => `${prefix(number + i * step)}${bodies[(from + i) % bodies.length]}`),
  );
const text = fc
  .array(fc.oneof({ weight: 5, arbitrary: stretch }, { weight: 1, arbitrary: fc.constant(['']) }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((stretches) => stretches.flat().join('\n'));

it('gives back the very text where lines begin with numbers of any kind', () => {
  let shapedTexts = 0;
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 5 }), (texts) => {
      const lines = new VisibleLines();
      const visible: Visible[] = [];
      for (const [id, original] of texts.entries()) {
        const shaped = lines.shape(original);
        if (shaped !== undefined) {
          shapedTexts += 1;
          expect(resolveReferences(shaped, visible)).toBe(original);
        }
        const about = { kind: 'result', tool: 'bash', subject: String(id % 2) } as const;
        lines.add(id, shaped ?? original, about);
        visible.push({ text: shaped ?? original, about });
      }
    }),
    runs,
  );
  expect(shapedTexts).toBeGreaterThan(runs.numRuns / 4);
});

describe('a reference that someone wrote', () => {
  const plain: Visible = { text: 'one\ntwo\nthree\n', about: { kind: 'result', tool: 'bash', subject: 'cat a' } };
  const numbered: Visible = { text: '1: one\n2: two\n3: three', about: { kind: 'result', tool: 'read', subject: 'a' } };
  const above = [plain, numbered];

  it.each([
    ['all lines', '[output lines 1–3: same as lines 1–3 of the last bash cat a above]', 'one\ntwo\nthree'],
    ['one line', '[output lines 7–7: same as lines 3–3 of the last bash cat a above]', 'three'],
    ['numbered lines', '[file lines 2–3: same as lines 2–3 of the last read a above]', '2: two\n3: three'],
    ['lines by their numbers', '[output lines 1–2: same as file lines 2–3 of the last read a above]', 'two\nthree'],
  ])('is read as %s', (_, line, lines) => {
    expect(resolveReferences(`above\n${line}\nbelow`, above)).toBe(`above\n${lines}\nbelow`);
    expect(above.some((visible) => hasLines(readReference(line) as Reference, visible))).toBe(true);
  });

  it.each([
    ['more lines than the text has', '[output lines 1–3: same as lines 2–4 of the last bash cat a above]'],
    ['a line above the first', '[output lines 1–2: same as lines 0–1 of the last bash cat a above]'],
    ['a number that no line has', '[file lines 4–5: same as lines 4–5 of the last read a above]'],
    ['numbers that go on after the last line', '[file lines 3–4: same as lines 3–4 of the last read a above]'],
    ['fewer lines than it leaves out', '[output lines 1–3: same as lines 1–2 of the last bash cat a above]'],
    ['lines of an argument', '[output lines 1–3: same as content lines 1–3 of the last bash cat a above]'],
  ])('is wrong if it names %s', (_, line) => {
    expect(resolveReferences(`above\n${line}\nbelow`, above)).toBeUndefined();
    const reference = readReference(line) as Reference;
    expect(hasLines(reference, reference.label === 'read a' ? numbered : plain)).toBe(false);
  });

  it.each([
    ['its last line is before its first', '[output lines 3–1: same as lines 3–1 of the last bash cat a above]'],
    [
      'nothing shows how numbers are written',
      '[file lines 1–3: same as output lines 1–3 of the last bash cat a above]',
    ],
  ])('is wrong if %s', (_, line) => {
    expect(resolveReferences(line, above)).toBeUndefined();
  });
});
