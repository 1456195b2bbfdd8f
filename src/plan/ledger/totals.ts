import type { Kind, Segment } from '../../message.ts';
import type { NoteSizes } from './head-notes.ts';
import type { History } from './history.ts';
import { NO_GAP, type Result, type ResultState, type Turn, type Why } from './rows.ts';
import type { ShortCall } from './short-call.ts';

export interface Sizes {
  tokens: number;
  chars: number;
}

/** The framing of a message costs this much on top of its text. */
export const MESSAGE_TOKENS = 4;

/** Arguments of a call that are not part of the text of its message. */
export const isArguments = ({ kind, path }: Segment): boolean =>
  kind === 'action' && !(path.length === 1 && path[0] === 'content');

/** The sizes of the request as it is sent: in total, and by kind, turn and message. */
export class Totals {
  /** The whole request. */
  tokens: number;
  /** The whole request as it came. */
  tokensBefore: number;
  /** Characters of text, without the arguments of calls. */
  chars = 0;
  readonly before = emptySizes();
  readonly after = emptySizes();
  removedMessages = 0;
  /** The number of replaced texts that are sent, by reason. */
  readonly replaced: Record<Why, number> = {
    mask: 0,
    clip: 0,
    truncate: 0,
    clean: 0,
    references: 0,
    'shell-output': 0,
    'old-text': 0,
  };
  readonly #history: History<unknown>;
  readonly #messageTokens: number[] = [];
  /** The sizes of the names of tools. */
  readonly #tools = new Map<string, number>();
  /** The text before each turn, as far as computed. Policies ask for it on every request. */
  readonly #textBefore: number[] = [0];
  /** The sums of those: the text that all requests up to each turn carried. */
  readonly #carried: number[] = [0];

  constructor(history: History<unknown>) {
    this.#history = history;
    this.tokens = history.overheadTokens;
    this.tokensBefore = history.overheadTokens;
  }

  /** Counts the framing of the next message. */
  addMessage(message: number, row: Turn): void {
    this.#messageTokens.push(0);
    this.#resize(message, row, MESSAGE_TOKENS, 0);
    this.tokensBefore += MESSAGE_TOKENS;
  }

  /** Counts a segment. Returns the size of its content. */
  addSegment(index: number, segment: Segment, row: Turn): number {
    const content = contentTokens(segment, this.#history.counter(segment.text));
    this.#history.segmentTokens[index] = content;
    const tokens = content + nameTokens(segment);
    const { length } = segment.text;
    const before = this.before[segment.kind];
    const after = this.after[segment.kind];
    before.tokens += tokens;
    before.chars += length;
    after.tokens += tokens;
    after.chars += length;
    this.tokensBefore += tokens;
    this.#resizeText(row, this.#textAt(index));
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
    this.#resizeText(row, tokens);
    const after = this.after[segment.kind];
    after.tokens += tokens;
    after.chars += chars;
  }

  /** Counts the next state of a result in place of its current one. */
  changeResult(result: Result, next: ResultState): void {
    const tokens = next.tokens - result.tokens;
    const chars = next.text.length - result.text.length;
    this.resize(result.original, result.row, { tokens, chars });
    this.countReplaced(result.why, -1);
    this.countReplaced(next.why, 1);
  }

  /** Counts the shorter arguments of a call in place of the original ones, or the reverse. */
  changeCall({ call: { segment, row }, original, text, tokens, why }: ShortCall, sign: 1 | -1): void {
    const delta = sign * (tokens - (this.#history.segmentTokens[segment] as number));
    this.#resize((this.#history.segments[segment] as Segment).message, row, delta, 0);
    this.#resizeText(row, delta);
    this.after.action.tokens += delta;
    this.after.action.chars += sign * (text.length - original.length);
    this.countReplaced(why, sign);
  }

  /** Counts other notes in place of those that were sent. */
  changeNotes(old: NoteSizes, next: NoteSizes): void {
    this.forgetTextAfter(0);
    this.tokens += next.tokens - old.tokens;
    this.chars += next.chars - old.chars;
    this.after.system.tokens += next.tokens - old.tokens - MESSAGE_TOKENS * (next.count - old.count);
    this.after.system.chars += next.chars - old.chars;
  }

  /** Counts a turn that is left out, or one that is sent again. */
  countTurn(row: Turn, sign: 1 | -1): void {
    this.tokens += sign * row.tokens;
    this.chars += sign * row.chars;
    this.removedMessages -= sign * row.size;
    const { results, shortCalls, segmentTokens } = this.#history;
    for (const [segment, index] of this.#history.segmentsOf(row)) {
      const edited = results[index] ?? shortCalls.get(index);
      this.countReplaced(edited?.why, sign);
      const after = this.after[segment.kind];
      after.tokens += sign * ((edited?.tokens ?? (segmentTokens[index] as number)) + nameTokens(segment));
      after.chars += sign * (edited ?? segment).text.length;
    }
  }

  countReplaced(why: Why | undefined, sign: 1 | -1): void {
    if (why !== undefined) this.replaced[why] += sign;
  }

  /** Moves the border between two turns to a message. Messages between them stay left out. */
  moveBorder(row: Turn, next: Turn, border: number): void {
    const isForward = border < row.to;
    const [sign, size] = isForward ? [1, this.between(border, row.to)] : [-1, this.between(row.to, border)];
    for (const name of ['tokens', 'chars', 'text'] as const) {
      row[name] -= sign * size[name];
      next[name] += sign * size[name];
    }
    this.forgetTextAfter(row.number);
    const gap = isForward && row.to < next.from ? { from: row.to, to: next.from } : NO_GAP;
    next.from = isForward || next.gap === NO_GAP ? border : next.gap.to;
    next.gap = gap;
    row.to = border;
  }

  ofMessage(message: number): number {
    return this.#messageTokens[message] ?? 0;
  }

  /** The messages from one up to another, not including it. */
  between(from: number, to: number): Sizes & { text: number } {
    const { segments, results } = this.#history;
    const [start, end] = [this.#history.startOf(from), this.#history.startOf(to)];
    let chars = 0;
    for (let i = start; i < end; i++) {
      const segment = segments[i] as Segment;
      if (!isArguments(segment)) chars += (results[i] ?? segment).text.length;
    }
    return { tokens: this.#tokensIn(from, to), text: this.#textIn(start, end), chars };
  }

  /** The messages that are sent from this one on, without notes. */
  from(message: number): number {
    const { rows } = this.#history;
    let tokens = 0;
    for (let r = rows.length - 1; r >= 0; r--) {
      const row = rows[r] as Turn;
      tokens += this.#tokensIn(Math.max(row.from, message), row.to);
      tokens -= this.#tokensIn(Math.max(row.gap.from, message), row.gap.to);
      if (row.from <= message) break;
    }
    return tokens;
  }

  #tokensIn(from: number, to: number): number {
    let tokens = 0;
    for (let i = from; i < to; i++) tokens += this.ofMessage(i);
    return tokens;
  }

  // The text that is sent, in tokens, without framing and ids.

  textOf(turn: number): number {
    const { rows, headNotes, overheadTokens } = this.#history;
    const text = rows[turn]?.text ?? 0;
    return turn === 0 ? text + overheadTokens + headNotes.addedText() : text;
  }

  /** The text of the turns before this one. */
  textBeforeTurn(turn: number): number {
    const known = this.#textBefore;
    for (let i = known.length; i <= turn; i++) known.push((known[i - 1] as number) + this.textOf(i - 1));
    return known[turn] as number;
  }

  /** The text of the requests that the turns from 1 to this one answered, together. */
  carriedUpTo(turn: number): number {
    const known = this.#carried;
    for (let i = known.length; i <= turn; i++) known.push((known[i - 1] as number) + this.textBeforeTurn(i));
    return known[turn] as number;
  }

  /** The text before a segment of a turn. */
  textBeforeSegment(row: Turn, end: number): number {
    let text = row.number === 0 ? this.#history.overheadTokens : this.textBeforeTurn(row.number);
    text += this.#textIn(this.#history.startOf(row.from), end);
    if (row.gap === NO_GAP) return text;
    return text - this.#textIn(this.#history.startOf(row.gap.from), Math.min(this.#history.startOf(row.gap.to), end));
  }

  #textIn(from: number, to: number): number {
    let text = 0;
    for (let i = from; i < to; i++) text += this.#textAt(i);
    return text;
  }

  /** The text before a message. For one that is left out: the text before the gap. */
  textBeforeMessage(message: number): number {
    // Notes are between turns 0 and 1. So the first message of a turn counts from the end of the turn before it.
    const { rows } = this.#history;
    const row = rows[lastIndex(rows, ({ from }) => from < message)] as Turn;
    return this.textBeforeSegment(row, this.#history.startOf(Math.min(message, row.to)));
  }

  /** The text of a segment as it is sent. The name of a tool is part of the model's words. */
  #textAt(index: number): number {
    const { segments, results, shortCalls, segmentTokens } = this.#history;
    const { kind, tool } = segments[index] as Segment;
    const edited = results[index] ?? (shortCalls.size > 0 ? shortCalls.get(index) : undefined);
    const content = edited?.tokens ?? (segmentTokens[index] as number);
    return kind === 'action' && tool !== undefined ? content + this.#toolTokens(tool) : content;
  }

  #toolTokens(tool: string): number {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const tokens = this.#history.counter(tool);
    this.#tools.set(tool, tokens);
    return tokens;
  }

  #resizeText(row: Turn, tokens: number): void {
    row.text += tokens;
    this.forgetTextAfter(row.number);
  }

  /** Forgets the sums after this turn. */
  forgetTextAfter(turn: number): void {
    if (this.#textBefore.length > turn + 1) this.#textBefore.length = turn + 1;
    if (this.#carried.length > turn + 1) this.#carried.length = turn + 1;
  }
}

function emptySizes(): Record<Kind, Sizes> {
  const none = (): Sizes => ({ tokens: 0, chars: 0 });
  return { system: none(), user: none(), reasoning: none(), action: none(), observation: none() };
}

/** The text of a segment and its images and files. */
export function contentTokens(segment: Segment, textTokens: number): number {
  return segment.media ? segment.media.reduce((sum, item) => sum + item.tokens, textTokens) : textTokens;
}

/** Ids are random letters and digits, about two to a token; names are words. */
function nameTokens({ tool, callId }: Segment): number {
  return (
    (callId === undefined ? 0 : Math.ceil(callId.length / 2)) + (tool === undefined ? 0 : Math.ceil(tool.length / 4))
  );
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
