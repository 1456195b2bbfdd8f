import type { Segment } from '../../message.ts';
import type { Counter } from '../../tokens/counter.ts';
import type { Contents } from './contents.ts';
import type { HeadNotes } from './head-notes.ts';
import type { Turn } from './turn.ts';
import type { Turns } from './turns.ts';

/** The parts of the ledger that hold text. */
interface Texts {
  readonly contents: Contents<unknown>;
  readonly turns: Turns;
  readonly notes: HeadNotes;
}

/**
 * How much text is sent, in tokens, framing and ids apart: of a turn, and before a place in the history. The sums up to
 * each turn are kept, so that a policy can ask for them on every request.
 */
export class TextSums {
  readonly #contents: Contents<unknown>;
  readonly #turns: Turns;
  readonly #notes: HeadNotes;
  readonly #counter: Counter;
  readonly #overheadTokens: number;
  /** The text before each turn, as far as it is known. */
  readonly #known: number[] = [0];
  /** The sizes of the names of tools. */
  readonly #tools = new Map<string, number>();

  constructor({ contents, turns, notes }: Texts, counter: Counter, overheadTokens: number) {
    this.#contents = contents;
    this.#turns = turns;
    this.#notes = notes;
    this.#counter = counter;
    this.#overheadTokens = overheadTokens;
  }

  ofTurn(turn: number): number {
    const text = this.#turns.rows[turn]?.text ?? 0;
    return turn === 0 ? text + this.#overheadTokens + this.#notes.addedText() : text;
  }

  /** The text of one segment as it is sent. The name of a tool is part of what the model said. */
  ofSegment(index: number): number {
    const { results, tokens, segments } = this.#contents;
    const { kind, tool } = segments[index] as Segment;
    const content = results[index]?.tokens ?? (tokens[index] as number);
    return kind === 'action' && tool !== undefined ? content + this.#ofTool(tool) : content;
  }

  #ofTool(tool: string): number {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const tokens = this.#counter(tool);
    this.#tools.set(tool, tokens);
    return tokens;
  }

  /** The text of the turns before this one. */
  beforeTurn(turn: number): number {
    const known = this.#known;
    for (let i = known.length; i <= turn; i++) known.push((known[i - 1] as number) + this.ofTurn(i - 1));
    return known[turn] as number;
  }

  /** The text before a segment of a turn. */
  beforeSegment(row: Turn, end: number): number {
    let text = row.number === 0 ? this.#overheadTokens : this.beforeTurn(row.number);
    for (let i = this.#contents.startOf(row.from); i < end; i++) text += this.ofSegment(i);
    return text;
  }

  /** The text before a message. For one that is left out: the text before the gap. */
  beforeMessage(message: number): number {
    // A message that begins a turn counts from the turn before it: notes are between turns 0 and 1, and not before themselves.
    const { rows } = this.#turns;
    const row = rows[lastIndex(rows, ({ from }) => from < message)] as Turn;
    return this.beforeSegment(row, this.#contents.startOf(Math.min(message, row.to)));
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
