import type { Format, Violation } from '../message.ts';

/** What this law needs to know of a turn. */
export interface PairedTurn<T> {
  readonly number: number;
  readonly openCalls: number;
  /** The latest turn in which one of its calls was answered. */
  readonly answeredIn: T | undefined;
}

/**
 * Law 1, pairs. Splits turns into the smallest groups that may be cut apart: calls stay with their results,
 * also where those came turns later. A group with an open call is left out: its result may still come.
 */
export function closedGroups<T extends PairedTurn<T>>(turns: readonly T[]): T[][] {
  const groups: T[][] = [];
  for (let start = 0; start < turns.length; ) {
    let end = start;
    for (let i = start; i <= end && i < turns.length; i++) {
      const answered = turns[i]?.answeredIn;
      if (answered) end = Math.max(end, start + answered.number - (turns[start] as T).number);
    }
    const group = turns.slice(start, end + 1);
    if (end < turns.length && group.every((turn) => turn.openCalls === 0)) groups.push(group);
    start = end + 1;
  }
  return groups;
}

/** Whatever the provider rejects in the edited list and did not reject in the original. */
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
