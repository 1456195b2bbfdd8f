import { NumberedLines, Numbering, prefixOf } from './numbered-lines.ts';
import { type About, countedUnit, nameOf, type Reference, readReference, targetName } from './reference-line.ts';

/** The unit of lines that are named by the numbers printed before them. */
export const numberedUnit = 'file';

/** A text that the model can see. */
export interface Visible {
  readonly text: string;
  readonly about: About;
}

/** The original of a result with references, or undefined if a text that it refers to is missing or differs. */
export function resolveReferences(shaped: string, above: readonly Visible[]): string | undefined {
  const found = new Map<Visible, Target>();
  const whole: string[] = [];
  for (const line of shaped.split('\n')) {
    const reference = readReference(line);
    if (!reference) {
      whole.push(line);
      continue;
    }
    const named = above.filter(({ about }) => nameOf(about) === targetName(reference));
    const visible = named.at(-1 - reference.newer);
    if (!visible) return undefined;
    const target = found.get(visible) ?? readTarget(visible);
    found.set(visible, target);
    const first = firstLine(reference, target);
    if (first === undefined) return undefined;
    const lineAbove = prefixOf(whole.at(-1) ?? '', whole.at(-2));
    const leftOut = leftOutLines(reference, { lines: target.lines, first, above: lineAbove });
    if (!leftOut) return undefined;
    for (const one of leftOut) whole.push(one);
  }
  return whole.join('\n');
}

/** Whether a text has the lines that a reference names. */
export function hasLines(reference: Reference, visible: Visible): boolean {
  const target = readTarget(visible);
  const first = firstLine(reference, target) ?? -1;
  const { from, to } = reference.lines;
  return first >= 0 && first + to - from < target.lines.count;
}

/**
 * The lines that a reference leaves out. If they have numbers, these continue from the line above. If that line has none, they are
 * written as in the target.
 */
function leftOutLines(
  { lines: { unit, from, to } }: Reference,
  target: { readonly lines: NumberedLines; readonly first: number; readonly above: string },
): string[] | undefined {
  const { lines, first, above } = target;
  const count = to - from + 1;
  if (count < 1 || first < 0 || first + count > lines.count) return undefined;
  const start = above || lines.prefix(first);
  if (unit === numberedUnit && start === '') return undefined;
  const numbering = unit === numberedUnit ? new Numbering(start) : undefined;
  const leftOut: string[] = [];
  for (let i = 0; i < count; i++) leftOut.push(`${numbering?.prefix(from + i) ?? ''}${lines.body(first + i)}`);
  return leftOut;
}

interface Target extends Visible {
  readonly lines: NumberedLines;
  /** The first line with each number. */
  readonly numbers: ReadonlyMap<number, number>;
}

function readTarget(visible: Visible): Target {
  const lines = new NumberedLines(visible.text);
  const numbers = new Map<number, number>();
  for (let line = lines.count - 1; line >= 0; line--)
    if (lines.isNumbered(line)) numbers.set(lines.numberAt(line), line);
  return { ...visible, lines, numbers };
}

function firstLine({ kind, lines, targetLines }: Reference, { about, numbers }: Target): number | undefined {
  const { unit, from, to } = targetLines;
  if (to - from !== lines.to - lines.from) return undefined;
  if (kind === 'result' && unit === numberedUnit) return numbers.get(from);
  return unit === countedUnit(about) ? from - 1 : undefined;
}

/** Whether the line numbers of a text only rise, so that a number names one line. */
export function numbersRise(lines: NumberedLines): boolean {
  let last = -1;
  for (let line = 0; line < lines.count; line++) {
    if (!lines.isNumbered(line)) continue;
    const number = lines.numberAt(line);
    if (number <= last) return false;
    last = number;
  }
  return true;
}
