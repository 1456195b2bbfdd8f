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
 * The segment of the last result that refers to others in our words, or -1. Such a result was sent before, with all that is above it now: no
 * result that is still whole there was masked by then.
 */
export function lastReferrer<M>(ledger: Ledger<M>): number {
  const lines = new VisibleLines();
  const above: Visible[] = [];
  let last = -1;
  const add = (text: string, about: About): void => {
    lines.add(above.length, text.length > arrivalLimits.resultChars ? '' : text, about);
    above.push({ text, about });
  };
  for (const [segment, { kind, tool, text }] of (ledger.segments as readonly Segment[]).entries()) {
    const result = ledger.results[segment];
    if (result) {
      if (readReferences(text).length > 0 && isWritten(text, lines, above)) last = segment;
      add(text, { kind: 'result', tool, subject: readCall(result.args).subject });
    } else if (kind === 'action') {
      const { subject, texts } = readCall(text);
      for (const { argument, text: part } of texts) add(part, { kind: 'call', tool, subject, argument });
    }
  }
  return last;
}

/** Whether we wrote the references of a result: any output can quote such a line. */
function isWritten(text: string, lines: VisibleLines, above: readonly Visible[]): boolean {
  // What was left out between its first and last lines cannot be restored.
  if (isShortenedShellOutput(text))
    return readReferences(text).every((reference) => {
      const target = above[lines.find(reference) ?? -1];
      return target !== undefined && hasLines(reference, target);
    });
  return withoutLastLine(text).some((shaped) => {
    const whole = resolveReferences(shaped, above);
    return whole !== undefined && lines.shapeAgain(whole)?.text === shaped;
  });
}
