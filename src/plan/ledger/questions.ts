import { isOurs } from '../../laws/idempotent.ts';
import type { History } from './history.ts';
import { Turn } from './rows.ts';

// The words of a user at the end of a turn are the question that the next turn answers. If only the first turn is left out, the question
// moves to the second, so that an answer never follows the wrong question.

/** The part of a turn that can be left out: all of it, or everything except the question that the next reply answers. */
export interface Removal {
  readonly row: Turn;
  /** The first message that stays. */
  readonly to: number;
  readonly messages: number;
  readonly tokens: number;
  readonly chars: number;
}

/** The part of a turn before a message; the whole turn if none is given. */
export function toRemoval<M>({ totals }: History<M>, row: Turn, to = row.to): Removal {
  const kept = totals.between(to, row.to);
  return {
    row,
    to,
    messages: row.size - (row.to - to),
    tokens: row.tokens - kept.tokens,
    chars: row.chars - kept.chars,
  };
}

/** The messages that are left out with these turns. The question before the first turn that stays is not among them. */
export function removalOf<M>(history: History<M>, rows: Iterable<Turn>): Removal[] {
  const going = new Set(rows);
  const isBehindGap = ({ number }: Turn): boolean => going.has(history.rows[number - 1] as Turn);
  const first = history.rows.find((row) => !going.has(row) && isBehindGap(row));
  const endOf = (row: Turn): number => (row.number + 1 === first?.number ? answeredQuestion(history, row) : row.to);
  return [...going].map((row) => toRemoval(history, row, endOf(row)));
}

/** The first message of the question that the next turn answers; the end of the turn if there is none. */
export function answeredQuestion<M>(history: History<M>, row: Turn): number {
  // User messages after tool results steer a loop, and are left out with their iteration.
  if (row.hasCalls || history.isSplit || !history.isTaskInHead) return row.to;
  const next = history.rows[row.number + 1];
  return next && isReply(history, next.from) ? questionIn(history, row) : row.to;
}

/** The first message of the question at the end of a turn; the end of the turn if there is none. */
export function questionIn<M>(history: History<M>, row: Turn): number {
  let from = row.to;
  while (from > row.from && isQuestion(history, from - 1)) from -= 1;
  return from;
}

export function isQuestion<M>(history: History<M>, message: number): boolean {
  const segments = history.segmentsIn(message);
  return segments.length > 0 && segments.every(({ kind }) => kind === 'user');
}

const isReply = <M>(history: History<M>, message: number): boolean =>
  history.segmentsIn(message).some(({ kind }) => kind === 'reasoning' || kind === 'action');

/** The border between two turns, and the message that it moves to. */
export interface Move {
  readonly row: Turn;
  readonly next: Turn;
  readonly from: number;
}

/** Moves the border between two turns to a message: a question leaves the first turn, or returns to it. */
export function moveQuestion<M>(history: History<M>, { row, next, from }: Move): void {
  history.totals.moveBorder(row, next, from);
  // The task stays in its turn, whatever else moves.
  for (const changed of [row, next]) if (changed !== history.taskRow) readUsers(history, changed);
}

/** Checks whether a turn holds words of a user. */
function readUsers<M>(history: History<M>, row: Turn): void {
  const users = [...history.segmentsOf(row)].filter(([{ kind }]) => kind === 'user');
  row.hasUser = users.length > 0;
  row.hasWords = users.some(([{ text }]) => !isOurs(text));
}

/**
 * Makes a greeting before the task part of turn 0. It is never left out without the task. A notice must come after both: there it
 * separates the task from a question that moves.
 */
export function joinGreeting<M>(history: History<M>): void {
  const [head, greeting] = history.rows as [Turn, Turn];
  history.totals.moveBorder(head, greeting, greeting.to);
  head.lastSigned = greeting.lastSigned;
  history.rows = [head];
}

/** Makes every message a turn, so that each can be left out separately. `undoRequest` does not undo this. */
export function splitTurns<M>(history: History<M>): void {
  const { headNotes, isTaskInHead, taskMessage } = history;
  history.isSplit = true;
  headNotes.splitSlot ??= isTaskInHead ? taskMessage + 1 : headNotes.leadingSystem;
  const rows = [new Turn(0, 0)];
  const rowOf = new Map<number, Turn>();
  for (const turn of history.rows) {
    for (const message of turn.messages()) {
      const row = new Turn(rows.length, message);
      row.to = message + 1;
      Object.assign(row, history.totals.between(message, row.to));
      readUsers(history, row);
      row.isHead = turn.number === 0 && !row.hasUser && !isReply(history, message);
      rows.push(row);
      rowOf.set(message, row);
    }
  }
  for (const result of history.observations) {
    result.row = rowOf.get(result.original.message) ?? result.row;
    if (result.call) rowOf.get(result.call.message)?.link(result.row);
  }
  for (const { message } of history.calls.all()) {
    const row = rowOf.get(message);
    if (row) row.openCalls += 1;
  }
  history.rows = rows;
}
