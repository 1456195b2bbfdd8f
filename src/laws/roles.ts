import type { Format, Segment, Violation } from '../message.ts';
import { isNote } from './idempotent.ts';

/** Law 4, roles: a note never stands before the system prompt, and has a role the format allows. */
export function checkNotePlace<M>(
  format: Format<M>,
  segments: readonly Segment[],
  before: number,
  role: string,
): Violation[] {
  const prompts = segments.filter((segment) => !isNote(segment.text));
  const other = prompts.findIndex((segment) => segment.kind !== 'system');
  const lastPrompt = prompts[(other < 0 ? prompts.length : other) - 1];
  if ((lastPrompt === undefined || before > lastPrompt.message) && role === format.noteRole) return [];
  const text = `A note with the role ${role} may not stand before message ${before}.`;
  return [{ law: 'roles', message: before, text, about: 'note' }];
}
