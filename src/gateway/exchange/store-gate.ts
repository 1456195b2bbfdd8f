import { PalimpsestError } from '../../errors.ts';
import { recordLimits, requestLimits } from '../../limits.ts';
import { conversationId, ownerOf, sessionOf } from '../../store/access.ts';
import { handleOf } from '../../store/handle.ts';
import { inTime } from '../../store/in-time.ts';
import { kindOf } from '../../store/kind-of.ts';
import type { Store } from '../../store/store.ts';
import { clipText } from '../../text.ts';
import { type Assignment, chooseArm, drawArm } from '../conversation/arm.ts';
import type { ArmEvent, GatewayEvent } from '../conversation/events.ts';
import {
  armSessionOf,
  eventSessionOf,
  linkedSession,
  linkSessionOf,
  loadEvents,
  toItems,
  toLink,
} from '../conversation/events.ts';
import type { Decision } from '../decide/decision.ts';
import type { StoreTrouble } from '../decide/pass-through.ts';
import type { Status } from '../receipts/receipt.ts';

/** The error text for a store that answered too late. */
export const tooSlow = (ms: number): string => `it took more than ${Math.round(ms)} ms`;

/** The milliseconds that a request waits from now on for an answer of the store. */
export type Patience = () => number;

const BRIEF: Patience = () => requestLimits.storeWaitMs;

/** For a request that may have been masked before a restart: all its queries together may take `storeLoadMs`. */
export function patientFromNow(): Patience {
  const end = performance.now() + requestLimits.storeLoadMs;
  return () => Math.max(requestLimits.storeWaitMs, end - performance.now());
}

interface StoreGateOptions {
  /** Milliseconds; only differences count. */
  readonly now?: () => number;
  /** Called with the sessions of each request, if the store counts uses. */
  readonly use?: (session: string) => void;
}

/** The store as requests see it: it answers in time, or the request continues without it. */
export class StoreGate {
  readonly store: Store;
  readonly #now: () => number;
  readonly #use: (session: string) => void;
  #kind = 'unknown';
  #askingKind: Promise<void> | undefined;
  /** Queries that were not answered in time and still may be. While there are any, few others are sent. */
  readonly #late = new Set<LateQuestion>();
  #trouble: string | undefined;
  /**
   * Whether a request waited long for the store and got no answer. Until the store answers, no other request waits as long: an unreachable
   * store fails each query only after seconds.
   */
  #isUnanswered = false;
  #secret: string | undefined;
  /** The last known number of deletions. */
  #deletions: number | undefined;

  constructor(store: Store, { now = () => performance.now(), use = () => {} }: StoreGateOptions = {}) {
    this.store = store;
    this.#now = now;
    this.#use = use;
    void this.#askKind();
    void this.learnSecret();
  }

  /** No time limit: some stores read every row for it. Only one call at a time, because a hung one holds a connection. */
  #askKind(): Promise<void> {
    this.#askingKind ??= kindOf(this.store)
      .then(
        (kind) => {
          this.#kind = kind;
        },
        () => {},
      )
      .finally(() => {
        this.#askingKind = undefined;
      });
    return this.#askingKind;
  }

  /** Reads the secret of the store, once. Returns the reason if that failed. */
  async learnSecret(patience = BRIEF): Promise<StoreTrouble | undefined> {
    if (this.#secret !== undefined) return undefined;
    const secret = await this.#inTime(async () => ({ value: await this.store.secret() }), patience);
    if (typeof secret === 'string') return secret;
    this.#secret = secret.value;
    return this.#secret === undefined ? 'store-failed' : undefined;
  }

  /** The name of a credential in this store; undefined if there is none, or the secret is not yet known. */
  ownerOf(credential: string | undefined): string | undefined {
    return this.#secret === undefined || credential === undefined ? undefined : ownerOf(this.#secret, credential);
  }

  /** Stores the hidden texts of a decision, under the session of its owner, and its events, in one batch. */
  keep(
    { conversation, session: name, fresh, events }: Decision,
    owner: string | undefined,
    patience = BRIEF,
  ): Promise<Kept> {
    const session = sessionOf(conversationId(name, owner));
    const texts = fresh.map(({ handle, text, turn, tool }) => ({
      text,
      // Only the store in memory uses it.
      handle,
      about: { session, turn, ...(tool === undefined ? {} : { tool: clipText(tool, recordLimits.toolChars) }) },
    }));
    return this.#inTime(async () => {
      await this.store.putMany([...texts, ...toItems(eventSessionOf(conversation), events)]);
      return 'stored' as const;
    }, patience);
  }

  /** Draws the arm of a session. Undefined if the secret is not known. */
  drawArm(session: string, share: number): Assignment | undefined {
    return this.#secret === undefined ? undefined : drawArm(this.#secret, session, share);
  }

  /** The records of a session by this or another gateway. */
  session(session: string, patience = BRIEF): Promise<KnownSession | StoreTrouble> {
    return this.#inTime(async () => {
      const events = await loadEvents(this.store, armSessionOf(session));
      return { assignment: chooseArm(events.filter((event) => event.kind === 'arm')), hasBegun: events.length > 0 };
    }, patience);
  }

  recordArm(session: string, event: ArmEvent): Promise<Kept> {
    return this.#inTime(async () => {
      await this.store.putMany(toItems(armSessionOf(session), [event]));
      return 'stored' as const;
    });
  }

  /** Records that a session began while none was held out. Does not wait. */
  recordBegun(session: string): true {
    const event = { kind: 'begun', prefix: session, order: 0 } as const;
    void this.#inTime(async () => this.store.putMany(toItems(armSessionOf(session), [event])));
    return true;
  }

  /** Marks the records of a session as used. Does not wait. */
  touchArm(session: string): void {
    void this.#inTime(async () => {
      await this.store.touch(armSessionOf(session));
      await this.store.touch(linkSessionOf(session));
    });
  }

  /** The session that one of these links was recorded for. Undefined if there is none, or if there are several. */
  linked(links: readonly string[]): Promise<Linked | undefined | StoreTrouble> {
    return this.#inTime(async () => {
      const found = await this.store.getMany(links.map((link) => handleOf(toLink(link))));
      const sessions = found.map((link) => new Set(link?.refs.flatMap((ref) => linkedSession(ref.session) ?? [])));
      const [session] = sessions.find(({ size }) => size === 1) ?? [];
      return session === undefined ? undefined : { session };
    });
  }

  /** Records links to a session. Does not wait. */
  recordLinks(session: string, links: readonly string[]): void {
    const about = { session: linkSessionOf(session) };
    void this.#inTime(async () => this.store.putMany(links.map((link) => ({ text: toLink(link), about }))));
  }

  /** Whether texts of the session of an owner are stored. */
  hasTexts(conversation: string, patience = BRIEF): Promise<boolean | StoreTrouble> {
    return this.#inTime(async () => {
      for await (const _ of this.store.list(sessionOf(conversation))) return true;
      return false;
    }, patience);
  }

  /** The events that this or another gateway recorded. */
  events(conversation: string, patience = BRIEF): Promise<readonly GatewayEvent[] | StoreTrouble> {
    return this.#inTime(() => loadEvents(this.store, eventSessionOf(conversation)), patience);
  }

  /** Changes with every deletion. */
  async deletions(): Promise<number | StoreTrouble> {
    const waitMs = BRIEF();
    if (this.#isLate(waitMs)) return 'store-slow';
    // Its answer says nothing about writes, so it changes nothing in `health`.
    const asked = (async () => this.store.deletions())().catch(() => 'store-failed' as const);
    const count = await inTime(asked, waitMs, () => this.#setLate(asked, waitMs));
    if (typeof count === 'number') this.#noteDeletions(count);
    return count;
  }

  /** A store that was removed and made again has another secret, by which readers of the store find the texts of a user. Does not wait. */
  #noteDeletions(count: number): void {
    const isChanged = this.#deletions !== undefined && this.#deletions !== count;
    this.#deletions = count;
    if (!isChanged) return;
    void this.#inTime(async () => {
      this.#secret = (await this.store.secret()) ?? this.#secret;
    });
  }

  /** Counts a request of a conversation as use. */
  use({ conversation, session }: Names, owner: string | undefined): void {
    this.#use(sessionOf(conversationId(session, owner)));
    this.#use(eventSessionOf(conversation));
    this.#use(armSessionOf(session));
    this.#use(linkSessionOf(session));
  }

  /** Marks a conversation as used, even if nothing new of it is stored. Does not wait. */
  touch({ conversation, session }: Names, owner: string | undefined): void {
    void this.#inTime(async () => {
      await this.store.touch(sessionOf(conversationId(session, owner)));
      await this.store.touch(eventSessionOf(conversation));
    });
  }

  /** Records events after the answer. Does not wait. */
  record(conversation: string, events: readonly GatewayEvent[]): void {
    void this.#inTime(async () => this.store.putMany(toItems(eventSessionOf(conversation), events)));
  }

  /** Records events of a request that did not wait for the store, after all open queries. Does not wait. */
  recordLater(conversation: string, events: readonly GatewayEvent[]): void {
    if (events.length === 0) return;
    void Promise.allSettled([...this.#late].map(({ working }) => working)).then(() =>
      this.record(conversation, events),
    );
  }

  async health(): Promise<Status['store']> {
    // Before its first answer, nothing is known of the store.
    await Promise.all([this.#kind === 'unknown' && inTime(this.#askKind(), BRIEF(), () => {}), this.learnSecret()]);
    const because = this.#trouble;
    return { kind: this.#kind, ok: because === undefined, ...(because === undefined ? {} : { because }) };
  }

  /** Asks nothing while an earlier query has waited longer than this one may: the queries would only accumulate. */
  async #inTime<T>(work: () => Promise<T>, patience = BRIEF): Promise<T | StoreTrouble> {
    const waitMs = this.#isUnanswered ? BRIEF() : patience();
    if (this.#isLate(waitMs)) return 'store-slow';
    const began = this.#now();
    const working = work().then(
      (value) => {
        this.#trouble = undefined;
        this.#isUnanswered = false;
        return { value };
      },
      (error: unknown) => {
        this.#trouble = wordsOf(error);
        return isFull(error) ? ('store-full' as const) : ('store-failed' as const);
      },
    );
    const done = await inTime(working, waitMs, () => 'late' as const);
    const hasWaited = this.#now() - began > BRIEF() || done === 'late';
    if (typeof done === 'string' && waitMs > BRIEF() && hasWaited) this.#isUnanswered = true;
    if (done === 'store-failed' || done === 'store-full') return done;
    if (done !== 'late') return done.value;
    this.#trouble ??= tooSlow(waitMs);
    return this.#setLate(working, waitMs);
  }

  #setLate(working: Promise<unknown>, waitedMs: number): 'store-slow' {
    const question = { since: this.#now(), waitedMs, working };
    this.#late.add(question);
    void working.finally(() => this.#late.delete(question));
    return 'store-slow';
  }

  /** A query that is never answered must not block the store forever: after a while the next one is sent. */
  #isLate(waitMs: number): boolean {
    const now = this.#now();
    const givenUp = now - requestLimits.storeGiveUpMs;
    for (const question of this.#late) if (question.since <= givenUp) this.#late.delete(question);
    for (const { since, waitedMs } of this.#late) if (now - since + waitedMs >= waitMs) return true;
    return false;
  }
}

type Kept = 'stored' | StoreTrouble;

/** A session as it is recorded. */
export interface KnownSession {
  readonly assignment: Assignment | undefined;
  /** Whether there is a record of any kind. */
  readonly hasBegun: boolean;
}

interface Linked {
  readonly session: string;
}

/** The names of a request. */
export interface Names {
  /** The hash of its first prefix. */
  readonly conversation: string;
  readonly session: string;
}

interface LateQuestion {
  /** The time when it became late, and how long it had waited until then. */
  readonly since: number;
  readonly waitedMs: number;
  readonly working: Promise<unknown>;
}

const isFull = (error: unknown): boolean => error instanceof PalimpsestError && error.code === 'STORE_FULL';

/** The text of our own errors says what to do; that of other errors may say anything. */
export function wordsOf(error: unknown): string {
  return error instanceof PalimpsestError ? `${error.code}: ${error.message}` : 'it failed';
}
