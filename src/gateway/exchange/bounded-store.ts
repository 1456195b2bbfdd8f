import { PalimpsestError } from '../../errors.ts';
import { checkItem } from '../../store/check-input.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import type { Store } from '../../store/store.ts';

/**
 * A store in memory that holds at most `maxBytes`. To make room it deletes the sessions that were unused for longest. The
 * next request of a conversation carries the originals, and stores again what was deleted.
 */
export function createBoundedStore(maxBytes: number): Store {
  const store = createMemoryStore();
  const putMany = store.putMany.bind(store);
  const touch = store.touch.bind(store);
  const sizes = new SessionSizes();
  const put: Store['putMany'] = async (items) => {
    for (const item of items) checkItem(item);
    const wanted = items.reduce((sum, { text }) => sum + sizeOf(text), 0);
    if (wanted > maxBytes) throw tooLarge(wanted, maxBytes);
    if (sizes.total + wanted > maxBytes) {
      // Each deletion has all conversations stored again, so it makes room for many puts.
      const target = Math.min(maxBytes * KEPT_SHARE, maxBytes - wanted);
      for (const session of sizes.forget(target)) await store.delete(session);
    }
    const handles = await putMany(items);
    for (const [i, { text, about }] of items.entries())
      sizes.add(about.session, { key: `${handles[i]} ${about.turn} ${about.tool}`, bytes: sizeOf(text) });
    return handles;
  };
  let last: Promise<unknown> = Promise.resolve();
  return Object.assign(store, {
    // One after the other: each may have to make room.
    putMany: (items: Parameters<Store['putMany']>[0]) => {
      const putting = last.then(() => put(items));
      last = putting.catch(() => {});
      return putting;
    },
    touch: async (session: string) => {
      sizes.use(session);
      await touch(session);
    },
  });
}

/** The share that is kept when room is made. */
const KEPT_SHARE = 0.75;

/** A reference takes about so many bytes beside its text. */
const REFERENCE_BYTES = 512;

const sizeOf = (text: string): number => Buffer.byteLength(text) + REFERENCE_BYTES;

function tooLarge(wanted: number, maxBytes: number): PalimpsestError {
  return new PalimpsestError(
    'STORE_FAILED',
    `Expected at most ${maxBytes} bytes for the store in memory but found ${wanted} in one request; ` +
      'give createGateway a store, or a larger limits.memoryStoreBytes',
  );
}

/** How much each session holds, the least recently used first. A text counts in each session that refers to it. */
class SessionSizes {
  readonly #sessions = new Map<string, { bytes: number; readonly keys: Set<string> }>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** A text without a session cannot be deleted with one. The gateway stores none. */
  add(session: string | undefined, { key, bytes }: { readonly key: string; readonly bytes: number }): void {
    if (session === undefined) return;
    const known = this.use(session) ?? { bytes: 0, keys: new Set() };
    this.#sessions.set(session, known);
    if (known.keys.has(key)) return;
    known.keys.add(key);
    known.bytes += bytes;
    this.#total += bytes;
  }

  use(session: string): { bytes: number; readonly keys: Set<string> } | undefined {
    const known = this.#sessions.get(session);
    if (!known) return undefined;
    this.#sessions.delete(session);
    this.#sessions.set(session, known);
    return known;
  }

  /** Forgets sessions until the others hold no more than `target` bytes, and returns them. */
  forget(target: number): string[] {
    const forgotten: string[] = [];
    for (const [session, { bytes }] of this.#sessions) {
      if (this.#total <= target) break;
      this.#sessions.delete(session);
      this.#total -= bytes;
      forgotten.push(session);
    }
    return forgotten;
  }
}
