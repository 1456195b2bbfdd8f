import type { Violation } from '../message.ts';
import { boundReasoning } from './bound-reasoning.ts';
import { idempotent } from './idempotent.ts';
import type { Applied, Law } from './law.ts';
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

/** Everything a plan breaks: then it is refused, and the original goes out. */
export function brokenLaws<M>(applied: Applied<M>): Violation[] {
  return applied.plan.edits.length === 0 ? [] : laws.flatMap((law) => law.check(applied));
}
