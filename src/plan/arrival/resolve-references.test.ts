import fc from 'fast-check';
import { expect, it } from 'vitest';
import { VisibleLines } from './references.ts';
import { resolveReferences, type Visible } from './resolve-references.ts';

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
        const shaped = lines.shape(original)?.text;
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
