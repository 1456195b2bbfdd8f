import type { Format, Plan, Segment, Violation } from '../message.ts';
import { checkBound } from './bound-reasoning.ts';
import { checkMetadata } from './metadata.ts';
import { isSmaller } from './monotone.ts';
import { addedViolations } from './pairs.ts';
import { checkNotePlace } from './roles.ts';
import { checkTask } from './task.ts';
import { isWholeText } from './text.ts';

/** A plan, what it was made for and what it makes of it. */
export interface Applied<M> {
  readonly format: Format<M>;
  readonly before: readonly M[];
  readonly after: readonly M[];
  /** The view of `before`. */
  readonly segments: readonly Segment[];
  readonly plan: Plan;
}

/** The laws that a plan breaks. Masks alone cannot break pairs or roles, so only a plan that drops or inserts is viewed again. */
export function brokenLaws<M>(applied: Applied<M>): Violation[] {
  const { format, before, after, segments, plan } = applied;
  const violations = checkBound(segments, plan);
  let isStructural = false;
  for (const edit of plan.edits) if (edit.kind !== 'replace') isStructural = true;
  for (const edit of plan.edits) {
    if (edit.kind === 'insert') violations.push(...checkNotePlace(format, segments, edit.before, edit.role));
    if (edit.kind !== 'replace') continue;
    const segment = segments[edit.segment] as Segment;
    if (!isSmaller(edit.text, segment))
      violations.push(broken('monotone', segment, 'A replacement is larger than what it hides.'));
    if (!isWholeText(edit.text, segment.text))
      violations.push(broken('text', segment, 'A replacement is empty or splits a character.'));
    if (!isStructural) violations.push(...checkMetadata(segment, before[segment.message], after[segment.message]));
  }
  return isStructural
    ? [...violations, ...addedViolations(format, before, after), ...checkTask(segments, format.view(after))]
    : violations;
}

function broken(law: Violation['law'], segment: Segment, text: string): Violation {
  return { law, message: segment.message, text, about: segment.callId ?? '' };
}
