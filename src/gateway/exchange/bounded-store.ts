import { PalimpsestError } from '../../errors.ts';
import { sessionOf } from '../../store/access.ts';
import { checkItem } from '../../store/check-input.ts';
import { handleOf } from '../../store/handle.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import type { Store } from '../../store/store.ts';
import { eventSessionOf, isEventSession } from '../conversation/events.ts';

/** A store in memory that holds at most a number of bytes. */
export interface BoundedStore extends Store {
  /** Counts a session as used. It costs almost nothing: call it for each request. */
  use(session: string): void;
}

/**
 * A store in memory that holds at most `maxBytes`. To make room, a put deletes the least recently used sessions, and never its own: a put
 * that does not fit with the other texts of its conversation is refused. The next request of a conversation carries the originals, and
 * stores deleted texts again.
 */
export function createBoundedStore(maxBytes: number): BoundedStore {
  const store = createMemoryStore();
  const putMany = store.putMany.bind(store);
  const touch = store.touch.bind(store);
  const sizes = new SessionSizes();
  const makeRoom = async (items: Items): Promise<void> => {
    const most = items.reduce((sum, { text }) => sum + MOST_BYTES * text.length + REFERENCE_BYTES, 0);
    if (sizes.total + most <= maxBytes) return;
    const wanted = sizes.missing(items);
    if (sizes.total + wanted <= maxBytes) return;
    const isKept = keptBy(items);
    const kept = sizes.bytesOf(isKept);
    if (kept + wanted > maxBytes) throw fullError(kept + wanted, maxBytes);
    // After a deletion, conversations store their texts again. So this frees room for many puts at once.
    const target = kept + (maxBytes - wanted - kept) * KEPT_SHARE;
    for (const session of sizes.forget(target, isKept)) await store.delete(session, { keepRecords: true });
  };
  const put: Store['putMany'] = async (items) => {
    for (const item of items) checkItem(item);
    for (const session of new Set(items.map(({ about }) => about.session))) sizes.use(session);
    await makeRoom(items);
    const handles = await putMany(items);
    sizes.add(items, handles);
    return handles;
  };
  let last: Promise<unknown> = Promise.resolve();
  return Object.assign(store, {
    // One after the other: each may have to make room.
    putMany: (items: Items) => {
      const putting = last.then(() => put(items));
      last = putting.catch(() => {});
      return putting;
    },
    use: (session: string) => sizes.use(session),
    touch: async (session: string) => {
      sizes.use(session);
      await touch(session);
    },
  });
}

type Items = Parameters<Store['putMany']>[0];

/** The share of the other sessions that is kept when room is made. */
const KEPT_SHARE = 0.75;

/** Estimated bytes of a reference, added to its text. */
const REFERENCE_BYTES = 512;

/** A UTF-16 unit has at most this many bytes in UTF-8. */
const MOST_BYTES = 3;

const sizeOf = (text: string): number => Buffer.byteLength(text) + REFERENCE_BYTES;

function fullError(wanted: number, maxBytes: number): PalimpsestError {
  return new PalimpsestError(
    'STORE_FULL',
    `Expected at most ${maxBytes} bytes of one conversation in the store in memory but found ${wanted}; ` +
      'give createGateway a store, or a larger limits.memoryStoreBytes',
  );
}

/** The sessions that a put must not delete: for texts, the events of the conversation, and for events, its texts. */
function keptBy(items: Items): (session: string) => boolean {
  const written = [...new Set(items.flatMap(({ about }) => about.session ?? []))];
  const kept = new Set([...written, ...written.map((session) => eventSessionOf(prefixIn(session)))]);
  const texts = written.filter(isEventSession).map((session) => sessionOf(prefixIn(session)));
  return (session) => kept.has(session) || texts.some((start) => session.startsWith(start));
}

/** The hash in the name of a session, which may end with an owner. */
const prefixIn = (session: string): string => session.split('-')[1] ?? '';

interface Size {
  bytes: number;
  readonly keys: Set<string>;
}

/** The size of each session, the least recently used first. A text counts in each session that refers to it. */
class SessionSizes {
  readonly #sessions = new Map<string, Size>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  bytesOf(isMeant: (session: string) => boolean): number {
    let sum = 0;
    for (const [session, { bytes }] of this.#sessions) if (isMeant(session)) sum += bytes;
    return sum;
  }

  /** The bytes of the items that their sessions do not hold yet. */
  missing(items: Items): number {
    const fresh = new Map<string, number>();
    for (const { text, about } of items) {
      const key = keyOf(about, handleOf(text));
      if (!this.#sessions.get(about.session ?? '')?.keys.has(key)) fresh.set(`${about.session} ${key}`, sizeOf(text));
    }
    return [...fresh.values()].reduce((sum, bytes) => sum + bytes, 0);
  }

  /** A text without a session cannot be deleted with one. The gateway stores none. */
  add(items: Items, handles: readonly string[]): void {
    for (const [i, { text, about }] of items.entries()) {
      if (about.session === undefined) continue;
      const known = this.#sessions.get(about.session) ?? { bytes: 0, keys: new Set() };
      this.#sessions.set(about.session, known);
      const key = keyOf(about, handles[i]);
      if (known.keys.has(key)) continue;
      known.keys.add(key);
      const bytes = sizeOf(text);
      known.bytes += bytes;
      this.#total += bytes;
    }
  }

  use(session = ''): void {
    const known = this.#sessions.get(session);
    if (!known) return;
    this.#sessions.delete(session);
    this.#sessions.set(session, known);
  }

  /** Forgets sessions until no more than `target` bytes are left, and returns them. */
  forget(target: number, isKept: (session: string) => boolean): string[] {
    const forgotten: string[] = [];
    for (const [session, { bytes }] of this.#sessions) {
      if (this.#total <= target) break;
      if (isKept(session)) continue;
      this.#sessions.delete(session);
      this.#total -= bytes;
      forgotten.push(session);
    }
    return forgotten;
  }
}

/** Joined, because engines keep the parts of a template apart until the text is read. */
const keyOf = ({ turn, tool }: Items[number]['about'], handle: string | undefined): string =>
  [handle, turn, tool].join(' ');
