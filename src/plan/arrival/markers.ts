import { isPlaceholder } from '../../laws/idempotent.ts';
import { readNote } from '../notes.ts';
import { isTruncated } from '../truncate-result.ts';
import { readReference } from './reference-line.ts';

const GAP = /^\[… \d+ lines?\]$/;
const FOLD = /^\[the (?:([2-8]) lines|line) above \d+ more times\]$/;

/** Whether a line is one of ours, not output. */
export function isMarker(line: string): boolean {
  if (!line.startsWith('[') || line.length > 400) return false;
  const isKnown = readReference(line) !== undefined || isPlaceholder(line) || isTruncated(line);
  return isKnown || readNote(line) !== undefined || GAP.test(line) || FOLD.test(line);
}

/** The number of lines above a marker that it refers to: `[the 2 lines above 5 more times]`. */
export function linesSpokenOf(marker: string): number {
  const match = FOLD.exec(marker);
  return match ? Number(match[1] ?? 1) : 0;
}
