import type { Contents } from './contents.ts';
import type { History } from './history.ts';
import { readUsers } from './sent-turns.ts';
import type { Turn } from './turn.ts';

// The words of a user at the end of a turn are the question that the next turn answers. Where only the first of both is
// left out, the question moves to the second, so that an answer never follows the wrong question.

/** The part of a turn that can be left out: all of it, or all but the question that the next reply answers. */
export interface Removal {
  readonly row: Turn;
  /** The first message that stays. */
  readonly to: number;
  readonly messages: number;
  readonly tokens: number;
  readonly chars: number;
}

export function toRemoval<M>(
  { contents, sentTurns, totals, isSplit }: History<M>,
  row: Turn,
  { keepsQuestion }: { readonly keepsQuestion: boolean },
): Removal {
  const next = sentTurns.rows[row.number + 1];
  // Words behind tool results steer a loop, and go with its iteration.
  const mayStay = keepsQuestion && !row.hasCalls && !isSplit;
  const isAnswered = mayStay && next?.from === row.to && isReply(contents, next.from);
  const to = isAnswered ? questionIn(contents, row) : row.to;
  const kept = totals.between(to, row.to);
  return { row, to, messages: to - row.from, tokens: row.tokens - kept.tokens, chars: row.chars - kept.chars };
}

/** The first message of the question at the end of a turn; the end of the turn if there is none. */
export function questionIn<M>(contents: Contents<M>, row: Turn): number {
  let from = row.to;
  while (from > row.from && isQuestion(contents, from - 1)) from -= 1;
  return from;
}

export function isQuestion<M>(contents: Contents<M>, message: number): boolean {
  const kinds = contents.kindsIn(message);
  return kinds.length > 0 && kinds.every((kind) => kind === 'user');
}

const isReply = <M>(contents: Contents<M>, message: number): boolean =>
  contents.kindsIn(message).some((kind) => kind === 'reasoning' || kind === 'action');

/** Moves the border between two turns to a message: a question leaves the first, or comes back to it. */
export function moveQuestion<M>(
  { contents, sentTurns, totals, textSums }: History<M>,
  { row, next, from }: { readonly row: Turn; readonly next: Turn; readonly from: number },
): void {
  const [sign, size] = from < row.to ? [1, totals.between(from, row.to)] : [-1, totals.between(row.to, from)];
  for (const name of ['tokens', 'chars'] as const) {
    row[name] -= sign * size[name];
    next[name] += sign * size[name];
  }
  textSums.resize(row, -sign * size.text);
  textSums.resize(next, sign * size.text);
  row.to = from;
  next.from = from;
  // The task stays in its turn, whatever else moves.
  for (const changed of [row, next]) if (changed !== sentTurns.taskRow) readUsers(changed, contents);
}
