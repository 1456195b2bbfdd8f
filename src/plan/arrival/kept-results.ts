import { arrivalLimits } from '../../limits.ts';
import type { Segment } from '../../message.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { withoutLastLine } from './last-line.ts';
import { readCall } from './read-call.ts';
import { type About, readReferences } from './reference-line.ts';
import { VisibleLines } from './references.ts';
import { hasLines, resolveReferences, type Visible } from './resolve-references.ts';
import { isShortenedShellOutput } from './shell-output.ts';

/**
 * Results that a later result refers to, and those that leave together with them, in messages as they were sent: the segment of each, and
 * that of the last such later result. None of them can have been masked before that one came: they are whole, so they were whole then.
 */
export function keptResults<M>(ledger: Ledger<M>): ReadonlyMap<number, number> {
  const lines = new VisibleLines();
  const above: Visible[] = [];
  /** The segment of each text above. */
  const segments: number[] = [];
  const kept = new Map<number, number>();
  /** For each segment, those of the results that refer to each other, directly or through others. */
  const groups = new Map<number, Set<number>>();
  const add = (segment: number, text: string, about: About): void => {
    lines.add(above.length, text.length > arrivalLimits.resultChars ? '' : text, about);
    above.push({ text, about });
    segments.push(segment);
  };
  for (const [segment, { kind, tool, text }] of (ledger.segments as readonly Segment[]).entries()) {
    const result = ledger.results[segment];
    if (result) {
      const references = readReferences(text);
      if (references.length > 0 && isWritten(text, lines, above)) {
        const targets = references.map((reference) => segments[lines.find(reference) ?? -1] ?? -1);
        // Results that show an argument of the same call do not leave together.
        const results = targets.filter((target) => ledger.results[target]);
        const group = new Set(results.flatMap((target) => [target, ...(groups.get(target) ?? [])]));
        for (const shown of [...targets, ...group]) kept.set(shown, segment);
        group.add(segment);
        for (const member of group) groups.set(member, group);
      }
      add(segment, text, { kind: 'result', tool, subject: readCall(result.args).subject });
    } else if (kind === 'action') {
      const { subject, texts } = readCall(text);
      for (const { argument, text: part } of texts) add(segment, part, { kind: 'call', tool, subject, argument });
    }
  }
  return kept;
}

/** Whether we wrote the references of a result: any output can quote such a line. */
function isWritten(text: string, lines: VisibleLines, above: readonly Visible[]): boolean {
  // The lines between its first and its last ones are gone, so its text cannot be rebuilt and compared.
  if (isShortenedShellOutput(text))
    return readReferences(text).every((reference) => {
      const target = above[lines.find(reference) ?? -1];
      return target !== undefined && hasLines(reference, target);
    });
  return withoutLastLine(text).some((shaped) => {
    const whole = resolveReferences(shaped, above);
    return whole !== undefined && lines.shapeAgain(whole) === shaped;
  });
}
