import { isPlaceholder } from '../../laws/idempotent.ts';
import { readNote } from '../notes.ts';
import { isTruncated } from '../truncate-result.ts';
import { readReference } from './reference-line.ts';

/** A line that says what was done to the lines around it, as shapers of results write it. */
const SHAPED = [/^\[… \d+ lines?\]$/, /^\[the (?:\d+ lines|line) above \d+ more times?\]$/];

/** Whether a line is one of ours and no output. */
export function isMarker(line: string): boolean {
  if (!line.startsWith('[') || line.length > 400) return false;
  const isKnown = readReference(line) !== undefined || isPlaceholder(line) || isTruncated(line);
  return isKnown || readNote(line) !== undefined || SHAPED.some((shaped) => shaped.test(line));
}
