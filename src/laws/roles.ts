import type { Format, Segment, Violation } from '../message.ts';

/** Law 4, roles: a note never stands before the system prompt, and has a role the format allows. */
export function checkNotePlace<M>(
  format: Format<M>,
  segments: readonly Segment[],
  before: number,
  role: string,
): Violation[] {
  const system = segments.findLast((segment) => segment.kind === 'system' && isLeading(segments, segment));
  if ((system === undefined || before > system.message) && role === format.noteRole) return [];
  return [
    { law: 'roles', message: before, text: `A ${role} note may not stand before message ${before}.`, about: 'note' },
  ];
}

const isLeading = (segments: readonly Segment[], segment: Segment): boolean =>
  segments.every((other) => other.message >= segment.message || other.kind === 'system');
