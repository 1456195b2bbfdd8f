import type { Edit, Format, LawName, Plan, ReplaceEdit, Segment, Violation } from '../message.ts';

/** A plan, and the messages before and after it. */
export interface Applied<M> {
  readonly format: Format<M>;
  readonly before: readonly M[];
  readonly after: readonly M[];
  /** The view of `before`. */
  readonly segments: readonly Segment[];
  readonly plan: Plan;
}

export interface Law {
  readonly name: LawName;
  /** How a plan breaks this law; nothing if it keeps it. */
  check<M>(applied: Applied<M>): Violation[];
}

/** Whether a plan leaves out or inserts messages. Masks alone cannot break pairs, roles or the task. */
export const isStructural = ({ edits }: Plan): boolean => edits.some((edit) => edit.kind !== 'replace');

/** A law about replacements one by one. */
export interface ReplacementLaw extends Law {
  /** The problem with one edit, or undefined; `old` and `edited` are the message before and after it. */
  checkOne(edit: ReplaceEdit, segment: Segment, old: unknown, edited: unknown): string | undefined;
}

export const isReplacementLaw = (law: Law): law is ReplacementLaw => 'checkOne' in law;

/** `checkOne` takes its arguments one by one: a history has thousands of replacements. */
export function replacementLaw(name: LawName, checkOne: ReplacementLaw['checkOne']): ReplacementLaw {
  const law: ReplacementLaw = { name, checkOne, check: (applied) => checkReplacements([law], applied) };
  return law;
}

/** All laws in one walk: a long history does not stay in the processor's caches between two walks. */
export function checkReplacements<M>(laws: readonly ReplacementLaw[], applied: Applied<M>): Violation[] {
  const { before, after, segments, plan } = applied;
  const moved = movedTo(before.length, plan.edits);
  const violations: Violation[] = [];
  for (const edit of plan.edits) {
    const segment = edit.kind === 'replace' ? segments[edit.segment] : undefined;
    if (!segment) continue;
    const { message, callId: about = '' } = segment;
    const [old, edited] = [before[message], after[moved[message] ?? -1]];
    for (const { name, checkOne } of laws) {
      const text = checkOne(edit as ReplaceEdit, segment, old, edited);
      if (text !== undefined) violations.push({ law: name, message, text, about });
    }
  }
  return violations;
}

/** The index of each message in the edited list, or -1 if it is left out. */
export function movedTo(count: number, edits: readonly Edit[]): Int32Array {
  const moved = new Int32Array(count);
  const inserted = new Map<number, number>();
  for (const edit of edits) {
    if (edit.kind === 'drop') moved.fill(-1, edit.from, edit.to);
    if (edit.kind === 'insert') inserted.set(edit.before, (inserted.get(edit.before) ?? 0) + 1);
  }
  let next = 0;
  for (let i = 0; i < count; i++) {
    next += inserted.size > 0 ? (inserted.get(i) ?? 0) : 0;
    if (moved[i] !== -1) moved[i] = next++;
  }
  return moved;
}
