import type { Format, Segment, Viewer } from '../../message.ts';

/** What the bytes of a message tell that its parsed form does not, for each of its results. */
export interface ByteNotes {
  /** What must be stored for a result, where parsing and writing it again would not give the same text. */
  readonly stored: ReadonlyMap<PlaceKey, string>;
  /** Results that cannot be replaced, such as those with invalid UTF-8. */
  readonly untouchable: ReadonlySet<PlaceKey>;
}

const notesOf = new WeakMap<object, ByteNotes>();

/** Keeps the notes of a message for as long as it lives. */
export function noteBytes(message: object, notes: ByteNotes): void {
  if (notes.stored.size > 0 || notes.untouchable.size > 0) notesOf.set(message, notes);
}

/** Tells the results of one message apart: the part that holds it, or the field where there is only one. */
export type PlaceKey = string | number;

export const placeKey = (path: readonly (string | number)[]): PlaceKey => path[1] ?? path[0] ?? '';

/** A format that minds the notes about its messages. */
export function createGatewayFormat<M extends object>(format: Format<M>): Format<object> {
  const base = format as unknown as Format<object>;
  return {
    ...base,
    viewer: () => new NotingViewer(base.viewer()),
    original: (message, segment) =>
      notesOf.get(message)?.stored.get(placeKey(segment.path)) ?? base.original(message, segment),
  };
}

class NotingViewer implements Viewer<object> {
  readonly #viewer: Viewer<object>;

  constructor(viewer: Viewer<object>) {
    this.#viewer = viewer;
  }

  get turn(): number {
    return this.#viewer.turn;
  }

  add(message: object, into: Segment[]): void {
    const from = into.length;
    this.#viewer.add(message, into);
    const untouchable = notesOf.get(message)?.untouchable;
    if (untouchable) bind(into, from, untouchable);
  }
}

function bind(segments: Segment[], from: number, untouchable: ReadonlySet<PlaceKey>): void {
  for (let i = from; i < segments.length; i++) {
    const segment = segments[i] as Segment;
    if (segment.kind === 'observation' && untouchable.has(placeKey(segment.path)))
      segments[i] = { ...segment, bound: true };
  }
}
