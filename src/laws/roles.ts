import type { Segment, Violation } from '../message.ts';
import { isNote } from './idempotent.ts';
import type { Law } from './law.ts';

/** Law 4, roles: a note never comes before the system prompt, and has a role that the format allows. */
export const roles: Law = {
  name: 'roles',
  check({ format, segments, plan }) {
    const violations: Violation[] = [];
    for (const edit of plan.edits) {
      if (edit.kind !== 'insert') continue;
      if (edit.before > lastPrompt(segments) && edit.role === format.noteRole) continue;
      const text = `A note with the role ${edit.role} may not come before message ${edit.before}.`;
      violations.push({ law: 'roles', message: edit.before, text, about: 'note' });
    }
    return violations;
  },
};

/** The last message of the system prompt at the start of a list, without our notes; -1 if there is none. */
function lastPrompt(segments: readonly Segment[]): number {
  let last = -1;
  let next = 0;
  for (const segment of segments) {
    if (isNote(segment.text)) {
      next = segment.message + 1;
      continue;
    }
    if (segment.kind !== 'system' || segment.message > next) break;
    next = segment.message + 1;
    last = segment.message;
  }
  return last;
}
