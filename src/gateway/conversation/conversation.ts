import { memoryLimits } from '../../limits.ts';
import { USE_EVERY_MS } from '../../store/prune.ts';
import { CacheUse } from './cache-use.ts';
import type { CachedHistory } from './cached-history.ts';
import type { GatewayEvent } from './events.ts';
import { LruMap } from './lru-map.ts';

/** All requests that begin with the same message. */
export class Conversation {
  readonly histories: CachedHistory[] = [];
  hasEvents = false;
  /** The times of the last `touch` of the store, by session and owner. */
  readonly #touchedAt = new LruMap<string, number>(memoryLimits.ownersPerConversation);
  /** The deletions in the store when its texts were stored. */
  #deletions: number | undefined;
  readonly cacheUse = new CacheUse();
  readonly #events = new Map<string, GatewayEvent[]>();
  /** Decided events that may not be recorded yet. */
  readonly #pending = new Set<GatewayEvent>();
  /** Keys of texts that the store is known to have, in any session. */
  readonly #stored = new Set<string>();
  /** The same by session and owner: a credential that is refreshed every hour makes a new one. */
  #storedFor = new LruMap<string, Set<string>>(memoryLimits.ownersPerConversation);
  #lastOrder = 0;
  #eventCount = 0;

  /** The order of an event that is decided now. */
  get nextOrder(): number {
    return this.#lastOrder + 1;
  }

  get hasAnyEvent(): boolean {
    return this.#events.size > 0;
  }

  /** Clears the known stored texts if the store has deleted something since the last call. Returns whether it has. */
  forgetStoredIfDeleted(deletions: number): boolean {
    const isChanged = this.#deletions !== undefined && this.#deletions !== deletions;
    this.#deletions = deletions;
    if (isChanged) {
      this.#stored.clear();
      this.#storedFor = new LruMap(memoryLimits.ownersPerConversation);
    }
    return isChanged;
  }

  /** Marks a session as touched, at most once an hour. Returns whether the store must be told. */
  markTouched(session: string, now: number): boolean {
    const isTold = now - (this.#touchedAt.get(session) ?? Number.NEGATIVE_INFINITY) < USE_EVERY_MS;
    if (isTold || !this.#storedFor.get(session)) return false;
    this.#touchedAt.set(session, now);
    return true;
  }

  /** Events decide bytes that were sent, so none is forgotten: a full conversation gets no new ones. */
  get isFull(): boolean {
    return this.#eventCount >= memoryLimits.eventsPerConversation;
  }

  /** Events that were recorded, as far as is known. */
  get recorded(): readonly GatewayEvent[] {
    return [...this.#events.values()].flat().filter((event) => !this.#pending.has(event));
  }

  eventsAt(prefix: string): readonly GatewayEvent[] {
    return this.#events.get(prefix) ?? NO_EVENTS;
  }

  isPending(event: GatewayEvent): boolean {
    return this.#pending.has(event);
  }

  /** Adds recorded events. If two gateways decided the same at once, all gateways choose the same one. */
  learn(events: readonly GatewayEvent[]): void {
    for (const event of events) {
      this.#lastOrder = Math.max(this.#lastOrder, event.order);
      const known = this.eventsAt(event.prefix).find((other) => isSameCase(other, event));
      const order = known ? compare(event, known) : -1;
      // Our own event that still applies must still be recorded.
      if (known && order <= 0) this.#pending.delete(known);
      if (order >= 0) continue;
      const others = this.eventsAt(event.prefix).filter((other) => other !== known);
      this.#events.set(event.prefix, [...others, event]);
      if (!known) this.#eventCount += 1;
    }
  }

  /** Adds events that were just decided and must be recorded. */
  decide(events: readonly GatewayEvent[]): void {
    this.learn(events);
    for (const event of events) this.#pending.add(event);
  }

  /** Removes events of a decision that was not sent. */
  takeBack(events: readonly GatewayEvent[]): void {
    for (const event of events) {
      if (!this.#pending.delete(event)) continue;
      const all = this.eventsAt(event.prefix);
      const others = all.filter((other) => other !== event);
      this.#eventCount -= all.length - others.length;
      if (others.length > 0) this.#events.set(event.prefix, others);
      else this.#events.delete(event.prefix);
    }
  }

  isStored(key: string): boolean {
    return this.#stored.has(key);
  }

  /** Whether the store has a reference to the text in the user's own session. */
  isStoredFor(session: string, key: string): boolean {
    return this.#storedFor.get(session)?.has(key) === true;
  }

  setStored(session: string, keys: readonly string[]): void {
    const known = this.#storedFor.get(session) ?? new Set();
    for (const all of [known, this.#stored]) if (all.size > memoryLimits.storedPerConversation) all.clear();
    this.#storedFor.set(session, known);
    for (const key of keys) {
      known.add(key);
      this.#stored.add(key);
    }
  }
}

const NO_EVENTS: readonly GatewayEvent[] = [];

const modelOf = (event: GatewayEvent): string => ('model' in event ? event.model : '');

const isSameCase = (a: GatewayEvent, b: GatewayEvent): boolean => a.kind === b.kind && modelOf(a) === modelOf(b);

/** Below zero if `a` applies. */
function compare(a: GatewayEvent, b: GatewayEvent): number {
  if (a === b || a.order !== b.order) return a.order - b.order;
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)];
  return one === other ? 0 : one < other ? -1 : 1;
}
