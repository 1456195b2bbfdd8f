import type { Format, Kind, Segment, Viewer } from '../../message.ts';
import type { Result } from './result.ts';
import type { Turn } from './turn.ts';

/** The messages as they came, and the segments that the format sees in them. */
export class Contents<M> {
  readonly format: Format<M>;
  readonly messages: M[] = [];
  readonly segments: Segment[] = [];
  /** The size of each segment as it came, without names and ids. */
  readonly tokens: number[] = [];
  /** By segment: the result in it, if it holds one. */
  readonly results: (Result | undefined)[] = [];
  readonly #viewer: Viewer<M>;
  /** The first segment of each message. */
  readonly #starts: number[] = [];

  constructor(format: Format<M>) {
    this.format = format;
    this.#viewer = format.viewer();
  }

  /** Adds the segments of the next message. Answers whether it begins a reply. */
  read(message: M): boolean {
    const { turn } = this.#viewer;
    this.#starts.push(this.segments.length);
    this.#viewer.add(message, this.segments);
    return this.#viewer.turn > turn;
  }

  /** The first segment of a message; for a message that has not come yet, the end of the list. */
  startOf(message: number): number {
    return this.#starts[message] ?? this.segments.length;
  }

  /** The segments of one message. */
  segmentsIn(message: number): Segment[] {
    return this.segments.slice(this.startOf(message), this.startOf(message + 1));
  }

  kindsIn(message: number): Kind[] {
    return this.segmentsIn(message).map(({ kind }) => kind);
  }

  /** The segments of one turn, each with its index. */
  *segmentsOf(row: Turn): Iterable<[Segment, number]> {
    const end = this.startOf(row.to);
    for (let i = this.startOf(row.from); i < end; i++) yield [this.segments[i] as Segment, i];
  }

  /** The length of a segment's text as it is sent. */
  charsOf(index: number): number {
    return (this.results[index] ?? (this.segments[index] as Segment)).text.length;
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
}
