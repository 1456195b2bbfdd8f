import type { History } from './history.ts';
import { readUsers } from './sent-turns.ts';
import { isArguments } from './sizes.ts';
import { Turn } from './turn.ts';

/** Makes a turn of every message, so that one can be left out without the others. */
export function splitTurns<M>(history: History<M>): void {
  const { sentTurns } = history;
  const rows = [new Turn(0, 0)];
  const rowOf = new Map<number, Turn>();
  for (const turn of sentTurns.rows) {
    for (let message = turn.from; message < turn.to; message++) {
      const row = toTurn(history, message, rows.length);
      row.isHead = turn.number === 0 && !row.hasUser;
      rows.push(row);
      rowOf.set(message, row);
    }
  }
  for (const result of sentTurns.observations) {
    result.row = rowOf.get(result.original.message) ?? result.row;
    if (result.call) rowOf.get(result.call.message)?.link(result.row);
  }
  for (const { message } of sentTurns.openCalls) {
    const row = rowOf.get(message);
    if (row) row.openCalls += 1;
  }
  sentTurns.rows = rows;
}

function toTurn<M>({ contents, totals }: History<M>, message: number, number: number): Turn {
  const row = new Turn(number, message);
  row.to = message + 1;
  row.tokens = totals.ofMessage(message);
  readUsers(row, contents);
  for (const [segment, index] of contents.segmentsOf(row))
    if (!isArguments(segment)) row.chars += contents.charsOf(index);
  return row;
}
