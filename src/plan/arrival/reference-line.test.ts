import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../../test/support/any-character.ts';
import {
  type About,
  countedUnit,
  labelOf,
  type Reference,
  readReference,
  readReferences,
  writeReference,
} from './reference-line.ts';

const about = (tool?: string, subject?: string): About => ({ kind: 'result', tool, subject });

const reference = (of: About, changes: Partial<Reference> = {}): Reference => ({
  lines: { unit: 'file', from: 40, to: 96 },
  kind: of.kind,
  label: labelOf(of),
  newer: 0,
  targetLines: { unit: of.kind === 'call' ? countedUnit(of) : 'file', from: 38, to: 94 },
  ...changes,
});

describe('a reference line', () => {
  it.each([
    [
      reference(about('read_file', 'src/a.ts')),
      '[file lines 40–96: same as lines 38–94 of the last read_file src/a.ts above]',
    ],
    [
      reference(about('bash', 'cat src/a.ts'), { targetLines: { unit: 'output', from: 3, to: 59 }, newer: 1 }),
      '[file lines 40–96: same as output lines 3–59 of the 2nd last bash cat src/a.ts above]',
    ],
    [
      reference({ kind: 'call', tool: 'write_file', subject: 'src/a.ts', argument: 'content' }),
      '[file lines 40–96: same as content lines 38–94 of your last call of write_file src/a.ts above]',
    ],
    [reference(about()), '[file lines 40–96: same as lines 38–94 of the last result above]'],
    [reference({ kind: 'call' }), '[file lines 40–96: same as argument lines 38–94 of your last call of a tool above]'],
    [
      reference(about('bash', 'first\nsecond [x] {y} "z": a, b'), { newer: 10 }),
      '[file lines 40–96: same as lines 38–94 of the 11th last bash first second (x) (y) "z": a, b above]',
    ],
    [
      reference(about('read', '/home/someone/projects/web/packages/agent/src/renderer.ts'), { newer: 22 }),
      '[file lines 40–96: same as lines 38–94 of the 23rd last read /home/someone/…ges/agent/src/renderer.ts above]',
    ],
  ])('of %j reads as words', (written, line) => {
    expect(writeReference(written)).toBe(line);
    expect(readReference(line)).toEqual(written);
  });

  it('names a text by its tool and its subject', () => {
    expect(labelOf(about('read', 'src/a.ts'))).toBe('read src/a.ts');
    expect(labelOf(about('read'))).toBe('read');
    expect(labelOf(about())).toBe('result');
    expect(labelOf({ kind: 'call' })).toBe('a tool');
    expect(labelOf({ kind: 'call', subject: 'src/a.ts' })).toBe('a tool src/a.ts');
  });

  it('shows the beginning and the end of a subject of more than 40 characters', () => {
    const subject = 'packages/agent/src/renderer-of-a-view.ts';
    expect(labelOf(about('read', subject))).toBe(`read ${subject}`);
    expect(labelOf(about('read', `./${subject}`))).toBe('read ./packages/age…src/renderer-of-a-view.ts');
  });

  it('names an argument in one word', () => {
    expect(countedUnit({ kind: 'call', argument: 'new text, all' })).toBe('new_text__all');
    expect(countedUnit({ kind: 'call', argument: '' })).toBe('argument');
    expect(countedUnit({ kind: 'call' })).toBe('argument');
    expect(countedUnit({ kind: 'result', argument: 'content' })).toBe('output');
  });

  it('says which argument it means, also if that is called like the lines left out', () => {
    expect(writeReference(reference({ kind: 'call', tool: 'edit', argument: 'file' }))).toBe(
      '[file lines 40–96: same as file lines 38–94 of your last call of edit above]',
    );
  });

  it('counts in ordinals', () => {
    const ordinals = [1, 2, 3, 9, 10, 11, 12, 20, 21, 22, 110, 111, 112].map(
      (newer) => / the (\w+) last /.exec(writeReference(reference(about(), { newer })))?.[1],
    );
    expect(ordinals.join(' ')).toBe('2nd 3rd 4th 10th 11th 12th 13th 21st 22nd 23rd 111th 112th 113th');
  });

  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 80 }),
    fc.constantFrom(
      'above (#3)',
      ' above]',
      '2nd last x',
      'call of x',
      'lines 1–2 of the last y above (#9)',
      'file',
      'output',
      'a'.repeat(10_000),
      '\n[output lines 1–9: same as lines 1–9 of the last z above]\n',
    ),
  );
  const anyAbout = fc.record({ kind: fc.constantFrom('result', 'call'), tool: text, subject: text, argument: text });
  const range = fc.tuple(fc.nat(1_000_000), fc.nat(100_000)).map(([from, more]) => ({ from, to: from + more }));

  it('is read back as it was written, whatever the tool, the subject and the argument are', () => {
    fc.assert(
      fc.property(anyAbout, range, range, fc.nat(200), fc.boolean(), (of, a, b, newer, isFile) => {
        const unit = of.kind === 'result' && isFile ? 'file' : countedUnit(of as About);
        const written = reference(of as About, {
          lines: { unit: isFile ? 'file' : 'output', ...a },
          targetLines: { unit, ...b },
          newer,
        });
        const line = writeReference(written);
        expect(line).not.toMatch(/[\n\r\u2028\u2029]/);
        expect(line.length).toBeLessThan(240);
        expect(readReference(line)).toEqual(written);
      }),
    );
  });

  it('is a whole line: with anything around it, it is output', () => {
    const line = writeReference(reference(about('read', 'a.ts')));
    for (const around of [
      ` ${line}`,
      `${line} `,
      `${line}\r`,
      `3→${line}`,
      line.replace('–', '-'),
      line.replace('40', '040'),
    ])
      expect(readReferences(`a\n${around}\nb`)).toEqual([]);
    expect(readReferences(`a\n${line}\n${line}`)).toHaveLength(2);
  });
});
