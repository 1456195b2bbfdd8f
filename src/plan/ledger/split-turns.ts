import type { Contents } from './contents.ts';
import { isArguments } from './sizes.ts';
import type { Totals } from './totals.ts';
import { Turn } from './turn.ts';
import { readUsers, type Turns } from './turns.ts';

interface Split {
  readonly contents: Contents<unknown>;
  readonly turns: Turns;
  readonly totals: Totals;
}

/** Makes a turn of every message, so that one can be left out without the others. */
export function splitTurns({ contents, turns, totals }: Split): void {
  const rows = [new Turn(0, 0)];
  const rowOf = new Map<number, Turn>();
  for (const turn of turns.rows) {
    for (let message = turn.from; message < turn.to; message++) {
      const row = toTurn(message, rows.length, { contents, totals });
      row.isHead = turn.number === 0 && !row.hasUser;
      rows.push(row);
      rowOf.set(message, row);
    }
  }
  for (const result of turns.observations) {
    result.row = rowOf.get(result.original.message) ?? result.row;
    if (result.call) rowOf.get(result.call.message)?.link(result.row);
  }
  for (const { message } of turns.openCalls) {
    const row = rowOf.get(message);
    if (row) row.openCalls += 1;
  }
  turns.rows = rows;
}

function toTurn(message: number, number: number, { contents, totals }: Omit<Split, 'turns'>): Turn {
  const row = new Turn(number, message);
  row.to = message + 1;
  row.tokens = totals.ofMessage(message);
  readUsers(row, contents);
  for (const [segment, index] of contents.segmentsOf(row))
    if (!isArguments(segment)) row.chars += contents.charsOf(index);
  return row;
}
