import type { Format, Kind, Segment, Viewer } from '../../message.ts';
import type { Counter } from '../../tokens/counter.ts';
import type { Result } from './result.ts';
import type { Turn } from './turn.ts';

/** The first messages of a history, viewed before they are appended. The same viewer views the messages that follow. */
export interface Viewed<M> {
  readonly viewer: Viewer<M>;
  readonly messages: readonly ViewedMessage[];
}

export interface ViewedMessage {
  readonly segments: readonly Segment[];
  /** The viewer's turn after this message. */
  readonly turn: number;
}

/** A message as it came. */
interface Whole<M> {
  readonly message: M;
  readonly segments: readonly Segment[];
}

/** The messages, the segments that the format sees in them, and their sizes as they came. */
export class Contents<M> {
  readonly format: Format<M>;
  readonly counter: Counter;
  readonly messages: M[] = [];
  readonly segments: Segment[] = [];
  /** The size of each segment, without names and ids. */
  readonly tokens: number[] = [];
  /** By segment: the result in it, if it holds one. */
  readonly results: (Result | undefined)[] = [];
  readonly #viewer: Viewer<M>;
  readonly #viewed: Viewed<M> | undefined;
  #turn = 0;
  /** The first segment of each message. */
  readonly #starts: number[] = [];
  /** The sizes of the names of tools. */
  readonly #tools = new Map<string, number>();
  readonly #whole = new Map<number, Whole<M>>();

  constructor(format: Format<M>, counter: Counter, viewed?: Viewed<M>) {
    this.format = format;
    this.counter = counter;
    this.#viewed = viewed;
    this.#viewer = viewed?.viewer ?? format.viewer();
  }

  /** Adds the segments of the next message. Answers whether it begins a reply. */
  read(message: M): boolean {
    const before = this.#turn;
    const viewed = this.#viewed?.messages[this.#starts.length];
    this.#starts.push(this.segments.length);
    if (viewed) for (const segment of viewed.segments) this.segments.push(segment);
    else this.#viewer.add(message, this.segments);
    this.#turn = viewed?.turn ?? this.#viewer.turn;
    return this.#turn > before;
  }

  /** The first segment of a message; for a message that has not come yet, the end of the list. */
  startOf(message: number): number {
    return this.#starts[message] ?? this.segments.length;
  }

  segmentsIn(message: number): Segment[] {
    return this.segments.slice(this.startOf(message), this.startOf(message + 1));
  }

  kindsIn(message: number): Kind[] {
    return this.segmentsIn(message).map(({ kind }) => kind);
  }

  /** The segments of a turn, each with its index. */
  *segmentsOf(row: Turn): Iterable<[Segment, number]> {
    const end = this.startOf(row.to);
    for (let i = this.startOf(row.from); i < end; i++) yield [this.segments[i] as Segment, i];
  }

  /** The length of a segment's text as it is sent. */
  charsOf(index: number): number {
    return (this.results[index] ?? (this.segments[index] as Segment)).text.length;
  }

  /** The text of a segment as it is sent, in tokens. The name of a tool is part of what the model said. */
  textOf(index: number): number {
    const { kind, tool } = this.segments[index] as Segment;
    const content = this.results[index]?.tokens ?? (this.tokens[index] as number);
    return kind === 'action' && tool !== undefined ? content + this.#toolTokens(tool) : content;
  }

  #toolTokens(tool: string): number {
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    const tokens = this.counter(tool);
    this.#tools.set(tool, tokens);
    return tokens;
  }

  /** A message as it is sent. */
  sent(message: number): M {
    let sent = this.messages[message] as M;
    const end = this.startOf(message + 1);
    for (let i = this.startOf(message); i < end; i++) {
      const result = this.results[i];
      if (result?.why !== undefined) sent = this.format.edit(sent, result.original, result.text);
    }
    return sent;
  }

  /** A message as it came. Asked for before its words are shortened for the first time, and kept from then on. */
  whole(message: number): Whole<M> {
    const known = this.#whole.get(message);
    if (known) return known;
    const whole = { message: this.messages[message] as M, segments: this.segmentsIn(message) };
    this.#whole.set(message, whole);
    return whole;
  }
}
