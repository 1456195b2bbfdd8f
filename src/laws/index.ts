import type { ReplaceEdit, Segment, Violation } from '../message.ts';
import { boundReasoning } from './bound-reasoning.ts';
import { idempotent } from './idempotent.ts';
import { type Applied, checkReplacements, isReplacementLaw, type Law } from './law.ts';
import { metadata } from './metadata.ts';
import { monotone } from './monotone.ts';
import { noMutation } from './no-mutation.ts';
import { pairs } from './pairs.ts';
import { roles } from './roles.ts';
import { task } from './task.ts';
import { text } from './text.ts';

/** The laws that one plan can break. The stable prefix is about two: see `extendsPlan`. */
export const laws: readonly Law[] = [
  pairs,
  metadata,
  boundReasoning,
  roles,
  task,
  monotone,
  idempotent,
  text,
  noMutation,
];

const replacementLaws = laws.filter(isReplacementLaw);
const otherLaws = laws.filter((law) => !isReplacementLaw(law));

/** How one replacement breaks a law; undefined if it keeps them all. Replacements alone cannot break the other laws. */
export function brokenReplacement(
  edit: ReplaceEdit,
  segment: Segment,
  [old, edited]: readonly [old: unknown, edited: unknown],
): string | undefined {
  for (const { checkOne } of replacementLaws) {
    const text = checkOne(edit, segment, old, edited);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** All violations of a plan. If there are any, the plan is refused and the original is sent. */
export function brokenLaws<M>(applied: Applied<M>): Violation[] {
  if (applied.plan.edits.length === 0) return [];
  return [...checkReplacements(replacementLaws, applied), ...otherLaws.flatMap((law) => law.check(applied))];
}
