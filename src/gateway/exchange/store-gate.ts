import { PalimpsestError } from '../../errors.ts';
import { recordLimits, requestLimits } from '../../limits.ts';
import { conversationId, ownerOf, sessionOf } from '../../store/access.ts';
import type { Store } from '../../store/store.ts';
import { clipText } from '../../text.ts';
import { loadEvents, toItems } from '../conversation/event-store.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import { eventSessionOf } from '../conversation/sessions.ts';
import type { Decision } from '../decide/decision.ts';
import type { StoreTrouble } from '../decide/reasons.ts';
import type { Status } from '../receipts/receipt.ts';

/** What stands in the way of a request waits no longer than this. */
export const TOO_SLOW = `it took more than ${requestLimits.storeWaitMs} ms`;

/** The store as requests see it: in time, or not at all. */
export class StoreGate {
  readonly store: Store;
  #kind = 'unknown';
  /** What was asked of the store and did not come in time, and still may. */
  #late = 0;
  #trouble: string | undefined;
  #secret: string | undefined;

  constructor(store: Store) {
    this.store = store;
    void this.#askKind();
    void this.learnSecret();
  }

  async #askKind(): Promise<void> {
    await this.#inTime(async () => {
      this.#kind = (await this.store.stats()).kind;
    });
  }

  /** Learns the secret of the store, once. Answers why that failed. */
  async learnSecret(): Promise<StoreTrouble | undefined> {
    if (this.#secret !== undefined) return undefined;
    const secret = await this.#inTime(async () => ({ value: await this.store.secret() }));
    if (typeof secret === 'string') return secret;
    this.#secret = secret.value;
    return this.#secret === undefined ? 'store-failed' : undefined;
  }

  /** The name of a credential in this store; undefined where there is none, or the secret is not known yet. */
  ownerOf(credential: string | undefined): string | undefined {
    return this.#secret === undefined || credential === undefined ? undefined : ownerOf(this.#secret, credential);
  }

  /** Stores what a decision hides, under the conversation of its owner, and its events, in one batch. */
  keep({ conversation, fresh, events }: Decision, owner: string | undefined): Promise<'stored' | StoreTrouble> {
    const session = sessionOf(conversationId(conversation, owner));
    const texts = fresh.map(({ text, turn, tool }) => ({
      text,
      about: { session, turn, ...(tool === undefined ? {} : { tool: clipText(tool, recordLimits.toolChars) }) },
    }));
    return this.#inTime(async () => {
      await this.store.putMany([...texts, ...toItems(conversation, events)]);
      return 'stored' as const;
    });
  }

  /** The events that this or another gateway recorded. */
  events(conversation: string): Promise<readonly GatewayEvent[] | StoreTrouble> {
    return this.#inTime(() => loadEvents(this.store, conversation));
  }

  /** Changes with every deletion. */
  async deletions(): Promise<number | StoreTrouble> {
    if (this.#late > 0) return 'store-slow';
    // What it answers says nothing about writes: it changes nothing in `health`.
    const count = await inTime(this.store.deletions().catch(() => 'store-failed' as const));
    return count === 'late' ? 'store-slow' : count;
  }

  /** Tells the store that a conversation is in use, also where nothing new of it is stored. Nobody waits for it. */
  touch(conversation: string, owner: string | undefined): void {
    void this.#inTime(async () => {
      await this.store.touch(sessionOf(conversationId(conversation, owner)));
      await this.store.touch(eventSessionOf(conversation));
    });
  }

  /** Behind the answer: nobody waits for it. */
  record(conversation: string, events: readonly GatewayEvent[]): void {
    void this.#inTime(async () => this.store.putMany(toItems(conversation, events)));
  }

  async health(): Promise<Status['store']> {
    if (this.#kind === 'unknown') await this.#askKind();
    const because = this.#trouble;
    return { kind: this.#kind, ok: because === undefined, ...(because === undefined ? {} : { because }) };
  }

  /** Where something already waits for the store too long, the next does not even ask: it would only pile up. */
  async #inTime<T>(work: () => Promise<T>): Promise<T | StoreTrouble> {
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
    this.#trouble ??= TOO_SLOW;
    void working.finally(() => this.#late--);
    return 'store-slow';
  }
}

/** What is asked for, or 'late' where it does not come in time. */
export async function inTime<T>(asked: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, requestLimits.storeWaitMs, 'late');
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Errors of ours say what to do; those of others may say anything. */
export function wordsOf(error: unknown): string {
  return error instanceof PalimpsestError ? `${error.code}: ${error.message}` : 'it failed';
}
