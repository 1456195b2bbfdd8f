import type { Format, Segment, Viewer } from '../../message.ts';
import { bindFixed, placeKey, type ReadMessage } from './read-message.ts';

/** A format for messages that were read from bytes: their originals and fixed results are known from the bytes. */
export function createReadFormat(format: Format<object>): Format<ReadMessage> {
  return {
    name: format.name,
    noteRole: format.noteRole,
    viewer: () => new ReadViewer(format.viewer()),
    view: (messages) => format.view(messages.map(toMessage)),
    apply: (messages, plan) => format.apply(messages.map(toMessage), plan).map(toRead),
    check: (messages) => format.check(messages.map(toMessage)),
    edit: (read, segment, text) => ({ ...read, message: format.edit(read.message, segment, text) }),
    note: (role, text, messages) => toRead(format.note(role, text, messages.map(toMessage))),
    original: (read, segment) => read.originals.get(placeKey(segment.path)) ?? format.original(read.message, segment),
  };
}

const toMessage = ({ message }: ReadMessage): object => message;

const toRead = (message: object): ReadMessage => ({ ...NOTHING_READ, message });

const NOTHING_READ = {
  title: '',
  said: 'nothing' as const,
  results: new Map(),
  fixed: new Set<never>(),
  originals: new Map(),
  blocks: undefined,
  isReply: false,
  share: { read: 0, unknown: 0, pairs: 0 },
  hasRecall: false,
};

/** A viewer of read messages, around one that has viewed the messages before. */
export class ReadViewer implements Viewer<ReadMessage> {
  readonly #viewer: Viewer<object>;

  constructor(viewer: Viewer<object>) {
    this.#viewer = viewer;
  }

  get turn(): number {
    return this.#viewer.turn;
  }
  get isReply(): boolean {
    return this.#viewer.isReply;
  }

  add({ message, fixed }: ReadMessage, into: Segment[]): void {
    const from = into.length;
    this.#viewer.add(message, into);
    bindFixed(into, fixed, from);
  }
}
