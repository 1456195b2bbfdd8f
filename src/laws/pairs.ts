import type { Format, Violation } from '../message.ts';
import { isStructural, type Law } from './law.ts';

/** Law 1, pairs, and everything else that the provider rejects: a plan must not add violations. */
export const pairs: Law = {
  name: 'pairs',
  check: ({ format, before, after, plan }) => (isStructural(plan) ? addedViolations(format, before, after) : []),
};

/** The facts about a turn that this law needs. */
export interface PairedTurn<T> {
  readonly number: number;
  readonly openCalls: number;
  /** The other turns that hold a call or a result of a pair of its own. */
  readonly linked: readonly T[];
}

/**
 * Splits turns into the smallest groups that may be separated: calls stay with their results, even if those came turns later. A group
 * that reaches beyond the given turns is left out, and so is one with an open call: its result may still come.
 */
export function closedGroups<T extends PairedTurn<T>>(turns: readonly T[]): T[][] {
  const given = new Set(turns);
  const seen = new Set<T>();
  const groups: T[][] = [];
  for (const turn of turns) {
    if (seen.has(turn)) continue;
    const group = [turn];
    seen.add(turn);
    for (const member of group) {
      const fresh = member.linked.filter((other) => !seen.has(other));
      for (const other of fresh) seen.add(other);
      group.push(...fresh);
    }
    const isClosed = group.every((member) => given.has(member) && member.openCalls === 0);
    if (isClosed) groups.push(group.sort((a, b) => a.number - b.number));
  }
  return groups;
}

/** Everything that the provider rejects in the edited list and not in the original. */
export function addedViolations<M>(format: Format<M>, before: readonly M[], after: readonly M[]): Violation[] {
  const known = new Map<string, number>();
  for (const violation of format.check(before)) known.set(keyOf(violation), (known.get(keyOf(violation)) ?? 0) + 1);
  return format.check(after).filter((violation) => {
    const left = known.get(keyOf(violation)) ?? 0;
    known.set(keyOf(violation), left - 1);
    return left <= 0;
  });
}

const keyOf = ({ law, about, text }: Violation): string => `${law} ${about ?? text}`;
