import type { Segment } from '../../message.ts';
import type { Contents } from './contents.ts';
import type { NoteSizes } from './head-notes.ts';
import type { Result, ResultState, Why } from './result.ts';
import {
  type ByKind,
  contentTokens,
  emptySizes,
  isArguments,
  MESSAGE_TOKENS,
  nameTokens,
  type Sizes,
} from './sizes.ts';
import type { TextSums } from './text-sums.ts';
import type { Turn } from './turn.ts';

interface Parts {
  readonly contents: Contents<unknown>;
  readonly textSums: TextSums;
  readonly overheadTokens: number;
}

/** The sizes of what is sent: of the whole request, of each kind, turn and message. */
export class Totals {
  /** The whole request. */
  tokens: number;
  /** The whole request as it came. */
  tokensBefore: number;
  /** Characters of text, without the arguments of calls. */
  chars = 0;
  readonly before: ByKind = emptySizes();
  readonly after: ByKind = emptySizes();
  removedMessages = 0;
  /** How many of the texts that are sent are replaced, and why. */
  readonly replaced: Record<Why, number> = { mask: 0, truncate: 0, clip: 0 };
  readonly #contents: Contents<unknown>;
  readonly #text: TextSums;
  readonly #messageTokens: number[] = [];

  constructor({ contents, textSums, overheadTokens }: Parts) {
    this.#contents = contents;
    this.#text = textSums;
    this.tokens = overheadTokens;
    this.tokensBefore = overheadTokens;
  }

  /** Counts the framing of the next message. */
  addMessage(message: number, row: Turn): void {
    this.#messageTokens.push(0);
    this.#resize(message, row, MESSAGE_TOKENS, 0);
    this.tokensBefore += MESSAGE_TOKENS;
  }

  /** Counts a segment. Answers the size of its content. */
  addSegment(index: number, segment: Segment, row: Turn): number {
    const content = contentTokens(segment, this.#contents.counter(segment.text));
    this.#contents.tokens[index] = content;
    const tokens = content + nameTokens(segment);
    const { length } = segment.text;
    const before = this.before[segment.kind];
    const after = this.after[segment.kind];
    before.tokens += tokens;
    before.chars += length;
    after.tokens += tokens;
    after.chars += length;
    this.tokensBefore += tokens;
    this.#text.resize(row, this.#contents.textOf(index));
    this.#resize(segment.message, row, tokens, isArguments(segment) ? 0 : length);
    return content;
  }

  #resize(message: number, row: Turn, tokens: number, chars: number): void {
    this.#messageTokens[message] = (this.#messageTokens[message] ?? 0) + tokens;
    row.tokens += tokens;
    row.chars += chars;
    this.tokens += tokens;
    this.chars += chars;
  }

  /** Counts a change of a text that is sent. */
  resize(segment: Segment, row: Turn, { tokens, chars }: Sizes): void {
    this.#resize(segment.message, row, tokens, chars);
    this.#text.resize(row, tokens);
    const after = this.after[segment.kind];
    after.tokens += tokens;
    after.chars += chars;
  }

  /** Counts the next state of a result in place of its present one. */
  changeResult(result: Result, next: ResultState): void {
    const tokens = next.tokens - result.tokens;
    const chars = next.text.length - result.text.length;
    this.resize(result.original, result.row, { tokens, chars });
    this.countReplaced(result.why, -1);
    this.countReplaced(next.why, 1);
  }

  /** Counts other notes in place of those that were sent. */
  resizeNotes(old: NoteSizes, next: NoteSizes): void {
    this.#text.forgetAfter(0);
    this.tokens += next.tokens - old.tokens;
    this.chars += next.chars - old.chars;
    this.after.system.tokens += next.tokens - old.tokens - MESSAGE_TOKENS * (next.count - old.count);
    this.after.system.chars += next.chars - old.chars;
  }

  /** Counts a turn that is left out, or one that is sent again. */
  countTurn(row: Turn, sign: 1 | -1): void {
    this.tokens += sign * row.tokens;
    this.chars += sign * row.chars;
    this.removedMessages -= sign * (row.to - row.from);
    const { results, tokens } = this.#contents;
    for (const [segment, index] of this.#contents.segmentsOf(row)) {
      const result = results[index];
      this.countReplaced(result?.why, sign);
      const after = this.after[segment.kind];
      after.tokens += sign * ((result?.tokens ?? (tokens[index] as number)) + nameTokens(segment));
      after.chars += sign * this.#contents.charsOf(index);
    }
  }

  countReplaced(why: Why | undefined, sign: 1 | -1): void {
    if (why !== undefined) this.replaced[why] += sign;
  }

  ofMessage(message: number): number {
    return this.#messageTokens[message] ?? 0;
  }

  /** The messages from one up to another, not including it. */
  between(from: number, to: number): Sizes & { text: number } {
    const size = { tokens: 0, text: 0, chars: 0 };
    for (let i = from; i < to; i++) size.tokens += this.ofMessage(i);
    const end = this.#contents.startOf(to);
    for (let i = this.#contents.startOf(from); i < end; i++) {
      size.text += this.#contents.textOf(i);
      if (!isArguments(this.#contents.segments[i] as Segment)) size.chars += this.#contents.charsOf(i);
    }
    return size;
  }

  /** The messages of these turns from one on, notes apart. */
  tokensFrom(message: number, rows: readonly Turn[]): number {
    let tokens = 0;
    for (let r = rows.length - 1; r >= 0; r--) {
      const row = rows[r] as Turn;
      for (let i = row.to - 1; i >= Math.max(row.from, message); i--) tokens += this.ofMessage(i);
      if (row.from <= message) break;
    }
    return tokens;
  }
}
