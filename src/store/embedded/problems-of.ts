import { handleOfDigest } from '../handle.ts';
import type { Problem } from '../store.ts';
import { type Generation, gapProblem } from './generation.ts';
import { isGap, type LogRecord, NOTE, TEXT } from './log.ts';
import { isIntact, readNoteKey, readText } from './records.ts';

/** Reads everything and reports all damage. Throws `DamagedPage` if the index is damaged. */
export function problemsOf(generation: Generation): Problem[] {
  generation.catalogue.checkIndex();
  const problems = new Map(generation.lost.map((problem) => [problem.what, problem]));
  for (const found of generation.scan()) {
    // Stop at bytes that another process is writing now.
    if (found.position >= generation.end && !(isGap(found) && !found.isCutOff)) break;
    const problem = isGap(found) ? gapProblem(generation.number, found) : problemOf(generation, found);
    if (problem) problems.set(problem.what, problem);
  }
  return [...problems.values()];
}

function problemOf(generation: Generation, record: LogRecord): Problem | undefined {
  const at = record.position;
  if (record.type === NOTE && !isIntact(readText(record.body))) {
    const { session, name } = readNoteKey(record.body);
    return { what: `note ${name} of session ${session} holds another text`, remedy: REPAIR, at };
  }
  if (record.type !== TEXT) return undefined;
  const text = readText(record.body);
  const handle = handleOfDigest(text.digest);
  if (!isIntact(text)) return { what: `${handle} holds another text`, remedy: REPAIR, handle, at };
  if (!generation.catalogue.mustLeadTo(record)) return undefined;
  return { what: `the index does not lead to ${handle}`, remedy: REPAIR, handle, at };
}

const REPAIR = 'palimpsest store gc --repair gives it up; all else is saved';
