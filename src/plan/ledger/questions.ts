import type { Contents } from './contents.ts';
import type { TextSums } from './text-sums.ts';
import type { Totals } from './totals.ts';
import type { Turn } from './turn.ts';
import { readUsers, type Turns } from './turns.ts';

/** The part of a turn that can be left out: all of it, or all but the question that the next reply answers. */
export interface Removal {
  readonly row: Turn;
  /** The first message that stays. */
  readonly to: number;
  readonly messages: number;
  readonly tokens: number;
  readonly chars: number;
}

interface Parts {
  readonly contents: Contents<unknown>;
  readonly turns: Turns;
  readonly totals: Totals;
  readonly text: TextSums;
}

/**
 * The words of a user at the end of a turn are the question that the next turn answers. Where only the first of both
 * turns is left out, the question moves to the second: an answer never follows the wrong question.
 */
export class Questions {
  readonly #contents: Contents<unknown>;
  readonly #turns: Turns;
  readonly #totals: Totals;
  readonly #text: TextSums;

  constructor({ contents, turns, totals, text }: Parts) {
    this.#contents = contents;
    this.#turns = turns;
    this.#totals = totals;
    this.#text = text;
  }

  /** The messages that are left out with these turns. The question before the first turn that stays is not one of them. */
  removalOf(rows: Iterable<Turn>): Removal[] {
    const going = new Set(rows);
    const first = this.#turns.rows.find((row) => row.number > 0 && !going.has(row));
    return [...going].map((row) => this.removal(row, { keepsQuestion: row.number + 1 === first?.number }));
  }

  removal(row: Turn, { keepsQuestion }: { readonly keepsQuestion: boolean }): Removal {
    const next = this.#turns.rows[row.number + 1];
    const isAnswered = keepsQuestion && next?.from === row.to && this.#isReply(next.from);
    const to = isAnswered ? this.startIn(row) : row.to;
    const kept = this.#totals.between(to, row.to);
    return { row, to, messages: to - row.from, tokens: row.tokens - kept.tokens, chars: row.chars - kept.chars };
  }

  /** The first message of the question at the end of a turn; the end of the turn if there is none. */
  startIn(row: Turn): number {
    let from = row.to;
    while (from > row.from && this.#isQuestion(from - 1)) from -= 1;
    return from;
  }

  #isQuestion(message: number): boolean {
    const kinds = this.#contents.kindsIn(message);
    return kinds.length > 0 && kinds.every((kind) => kind === 'user');
  }

  #isReply(message: number): boolean {
    return this.#contents.kindsIn(message).some((kind) => kind === 'reasoning' || kind === 'action');
  }

  /** Moves the border between two turns, one of which begins or ends with a question. */
  move(row: Turn, next: Turn, from: number): void {
    const [sign, size] =
      from < row.to ? [1, this.#totals.between(from, row.to)] : [-1, this.#totals.between(row.to, from)];
    for (const name of ['tokens', 'chars'] as const) {
      row[name] -= sign * size[name];
      next[name] += sign * size[name];
    }
    this.#text.resize(row, -sign * size.text);
    this.#text.resize(next, sign * size.text);
    row.to = from;
    next.from = from;
    // The task stays in its turn, whatever else moves.
    for (const changed of [row, next]) if (changed !== this.#turns.taskRow) readUsers(changed, this.#contents);
  }
}
