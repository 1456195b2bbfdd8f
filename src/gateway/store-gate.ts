import { PalimpsestError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import type { Decided } from './decide.ts';
import { loadEvents, saveEvents } from './event-store.ts';
import type { GatewayEvent } from './events.ts';
import { sessionOf } from './own-api.ts';
import type { Status } from './receipt.ts';

/** What stands in the way of a request waits no longer than this. */
const MOST_WAIT_MS = 250;

/** The store as requests see it: in time, or not at all. */
export class StoreGate {
  readonly store: Store;
  #kind = 'unknown';
  /** What was asked of the store and did not come in time, and still may. */
  #late = 0;
  #trouble: string | undefined;

  constructor(store: Store) {
    this.store = store;
    void this.#inTime(async () => {
      this.#kind = (await store.stats()).kind;
    });
  }

  /** Stores what a decision hides, and its events, in one batch. */
  async keep(decided: Decided): Promise<'stored' | 'store-slow' | 'store-failed'> {
    const session = sessionOf(decided.conversation);
    const items = decided.fresh.map(({ text, turn, tool }) => ({
      text,
      about: { session, turn, ...(tool === undefined ? {} : { tool }) },
    }));
    const kept = await this.#inTime(async () => {
      const texts = items.length > 0 ? this.store.putMany(items) : undefined;
      await Promise.all([texts, saveEvents(this.store, decided.conversation, decided.events)]);
      return 'stored' as const;
    });
    return kept;
  }

  /** The events that this or another gateway recorded; undefined where the store does not answer. */
  async events(conversation: string): Promise<readonly GatewayEvent[] | undefined> {
    const events = await this.#inTime(() => loadEvents(this.store, conversation));
    return typeof events === 'string' ? undefined : events;
  }

  /** Behind the answer: nobody waits for it. */
  record(conversation: string, events: readonly GatewayEvent[]): void {
    if (events.length > 0) void this.#inTime(() => saveEvents(this.store, conversation, events));
  }

  get health(): Status['store'] {
    const because = this.#trouble;
    return { kind: this.#kind, ok: because === undefined, ...(because === undefined ? {} : { because }) };
  }

  /** Where something already waits for the store too long, the next does not even ask: it would only pile up. */
  async #inTime<T>(work: () => Promise<T>): Promise<T | 'store-slow' | 'store-failed'> {
    if (this.#late > 0) return 'store-slow';
    const working = work().then(
      (value) => {
        this.#trouble = undefined;
        return { value };
      },
      (error: unknown) => {
        this.#trouble = wordsOf(error);
        return 'store-failed' as const;
      },
    );
    const done = await inTime(working);
    if (done === 'store-failed') return done;
    if (done !== 'late') return done.value;
    this.#late++;
    this.#trouble ??= `it took more than ${MOST_WAIT_MS} ms`;
    void working.finally(() => this.#late--);
    return 'store-slow';
  }
}

/** What is asked for, or 'late' where it does not come in time. */
export async function inTime<T>(asked: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, MOST_WAIT_MS, 'late');
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Errors of ours say what to do; those of others may say anything. */
function wordsOf(error: unknown): string {
  return error instanceof PalimpsestError ? `${error.code}: ${error.message}` : 'it failed';
}
