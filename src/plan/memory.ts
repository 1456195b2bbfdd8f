import type { Planner } from './planner.ts';

interface Conversation<M> {
  readonly planner: Planner<M>;
  readonly isSame: (other: unknown) => boolean;
  readonly seen: Snapshot;
}

/** By the first message, so that a conversation is forgotten with the caller's own list. */
const conversations = new WeakMap<object, Conversation<unknown>>();
/** First messages seen once. Only what comes back is worth remembering. */
const seenOnce = new WeakSet<object>();

/** What tells one planner from another: its options. */
export interface PlannerKey<M> {
  readonly options: object;
  /** Values beside the messages that must not have changed either. */
  readonly beside: readonly unknown[];
  isSame(options: unknown): boolean;
  create(): Planner<M>;
}

/**
 * The planner for a list, with all of it taken in. An agent fits its growing history after every turn: from the third
 * call on, where the list begins with the very objects of the one before and nothing in them has changed, only what is
 * new is planned.
 */
export function plannerFor<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const [first] = messages;
  if (!isObject(first)) return planAll(messages, key);
  const known = conversations.get(first) as Conversation<M> | undefined;
  if (known?.isSame(key.options) && known.seen.isUnchanged() && beginsWith(messages, known.planner.ledger.messages)) {
    const fresh = messages.slice(known.planner.ledger.messages.length);
    if (fresh.length === 0) return known.planner;
    // Forgotten until it has gone well: a counter or a policy of the caller's may throw in the middle.
    conversations.delete(first);
    known.planner.take(fresh);
    if (known.seen.addAll(fresh)) conversations.set(first, known);
    return known.planner;
  }
  const planner = planAll(messages, key);
  if (seenOnce.has(first)) remember(first, messages, planner, key);
  else seenOnce.add(first);
  return planner;
}

function remember<M>(first: object, messages: readonly M[], planner: Planner<M>, key: PlannerKey<M>): void {
  const seen = new Snapshot();
  const isComparable = seen.addAll(key.beside) && seen.addAll(messages);
  if (isComparable) conversations.set(first, { planner, isSame: key.isSame, seen });
}

function planAll<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const planner = key.create();
  planner.take(messages);
  return planner;
}

function beginsWith<M>(messages: readonly M[], start: readonly M[]): boolean {
  if (messages.length < start.length) return false;
  for (let i = 0; i < start.length; i++) if (messages[i] !== start[i]) return false;
  return true;
}

type Owner = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A message with more in it, or deeper, is quicker planned than compared. */
const MOST_VALUES = 2000;
const DEEPEST = 16;

/** Every value in some messages and the place where it stood, to see whether anything was changed in place. */
class Snapshot {
  /** Owner, key and value in turn: side by side they are read most quickly. */
  readonly #places: unknown[] = [];
  /** Objects and how many keys they had, in turn. */
  readonly #owners: unknown[] = [];
  #limit = 0;

  /** Answers false for values that cannot be compared this way. */
  addAll(values: readonly unknown[]): boolean {
    try {
      return values.every((value) => {
        this.#limit = this.#places.length + 3 * MOST_VALUES;
        return !isObject(value) || this.#add(value as Owner, 0);
      });
    } catch {
      return false;
    }
  }

  #add(owner: Owner, depth: number): boolean {
    if (depth > DEEPEST || this.#places.length > this.#limit || ArrayBuffer.isView(owner)) return false;
    if (Array.isArray(owner)) this.#places.push(owner, 'length', owner.length);
    else this.#owners.push(owner, countKeys(owner));
    for (const key in owner) {
      const value = owner[key];
      this.#places.push(owner, key, value);
      if (isObject(value) && !this.#add(value as Owner, depth + 1)) return false;
    }
    return true;
  }

  isUnchanged(): boolean {
    const places = this.#places;
    for (let i = 0; i < places.length; i += 3) {
      if ((places[i] as Owner)[places[i + 1] as string] !== places[i + 2]) return false;
    }
    const owners = this.#owners;
    for (let i = 0; i < owners.length; i += 2) {
      if (countKeys(owners[i] as Owner) !== owners[i + 1]) return false;
    }
    return true;
  }
}

function countKeys(owner: Owner): number {
  let count = 0;
  for (const _ in owner) count += 1;
  return count;
}
