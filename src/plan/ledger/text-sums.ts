import type { Contents } from './contents.ts';
import type { HeadNotes } from './head-notes.ts';
import type { SentTurns } from './sent-turns.ts';
import type { Turn } from './turn.ts';

interface Parts {
  readonly contents: Contents<unknown>;
  readonly sentTurns: SentTurns;
  readonly headNotes: HeadNotes;
  readonly overheadTokens: number;
}

/**
 * The text that is sent, in tokens, framing and ids apart: of a turn, and before a place in the history. The sums up to
 * each turn are kept, since policies ask for them on every request.
 */
export class TextSums {
  readonly #parts: Parts;
  /** The text before each turn, as far as it is known. */
  readonly #known: number[] = [0];

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  ofTurn(turn: number): number {
    const { sentTurns, headNotes, overheadTokens } = this.#parts;
    const text = sentTurns.rows[turn]?.text ?? 0;
    return turn === 0 ? text + overheadTokens + headNotes.addedText() : text;
  }

  /** The text of the turns before this one. */
  beforeTurn(turn: number): number {
    const known = this.#known;
    for (let i = known.length; i <= turn; i++) known.push((known[i - 1] as number) + this.ofTurn(i - 1));
    return known[turn] as number;
  }

  /** The text before a segment of a turn. */
  beforeSegment(row: Turn, end: number): number {
    const { contents, overheadTokens } = this.#parts;
    let text = row.number === 0 ? overheadTokens : this.beforeTurn(row.number);
    for (let i = contents.startOf(row.from); i < end; i++) text += contents.textOf(i);
    return text;
  }

  /** The text before a message. For one that is left out: the text before the gap. */
  beforeMessage(message: number): number {
    // Notes are between turns 0 and 1 and not before themselves: the first message of a turn counts from the turn before it.
    const { contents, sentTurns } = this.#parts;
    const row = sentTurns.rows[lastIndex(sentTurns.rows, ({ from }) => from < message)] as Turn;
    return this.beforeSegment(row, contents.startOf(Math.min(message, row.to)));
  }

  /** Every change of a turn's text goes through here. */
  resize(row: Turn, tokens: number): void {
    row.text += tokens;
    this.forgetAfter(row.number);
  }

  /** The sums behind this turn are no longer known. */
  forgetAfter(turn: number): void {
    if (this.#known.length > turn + 1) this.#known.length = turn + 1;
  }
}

/** The last index for which a test holds that holds for all before it; 0 if there is none. */
function lastIndex<T>(list: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, list.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (holds(list[middle] as T)) low = middle;
    else high = middle - 1;
  }
  return low;
}
