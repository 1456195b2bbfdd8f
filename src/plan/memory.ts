import type { Planner } from './planner.ts';

interface Conversation<M> {
  readonly planner: Planner<M>;
  readonly isSame: (options: unknown, format: unknown) => boolean;
  readonly beside: Snapshot;
  readonly seen: Snapshot;
}

/** By the first message, so that a conversation is forgotten with the caller's own list. */
const conversations = new WeakMap<object, Conversation<unknown>>();

/** What tells one planner from another: its options. */
export interface PlannerKey<M> {
  readonly options: object;
  /** Values beside the messages that must not have changed either. */
  readonly beside: readonly unknown[];
  readonly format: unknown;
  /** Tells whether later options are these. */
  sameAs(): (options: unknown, format: unknown) => boolean;
  create(): Planner<M>;
  /** Whether the cache is known to have died before the request about to be sent. */
  readonly isCold: boolean;
}

/**
 * The planner for a list, with all of it taken in. An agent fits its growing history after every turn: where the list
 * begins with the very objects of the call before and nothing in them has changed, only what is new is planned.
 */
export function plannerFor<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const [first] = messages;
  // What a cold cache made it do, the history does not tell the next call.
  if (!isObject(first) || key.isCold) return planAll(messages, key);
  const known = conversations.get(first) as Conversation<M> | undefined;
  if (known?.isSame(key.options, key.format) && known.beside.isStartOf(key.beside) && known.seen.isStartOf(messages)) {
    const fresh = messages.slice(known.planner.ledger.messages.length);
    if (fresh.length === 0) return known.planner;
    // Forgotten until it has gone well: a counter or a policy of the caller's may throw in the middle.
    conversations.delete(first);
    known.planner.take(fresh);
    if (known.seen.addAll(fresh)) conversations.set(first, known);
    return known.planner;
  }
  const planner = planAll(messages, key);
  const [beside, seen] = [new Snapshot(), new Snapshot()];
  const isComparable = beside.addAll(key.beside) && seen.addAll(messages);
  if (isComparable) conversations.set(first, { planner, isSame: key.sameAs(), beside, seen });
  return planner;
}

function planAll<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const planner = key.create();
  planner.take(messages, key);
  return planner;
}

type Owner = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A message with more in it, or deeper, is quicker planned than compared. */
const MOST_VALUES = 2000;
const DEEPEST = 16;

/**
 * Every value in some messages in the order in which it stands, and the last key of every object, to see whether
 * anything was changed in place. A key that is renamed moves to the end, so the last one tells; only an object of which
 * every key was deleted and written anew under another name, with the same values in the same order, is not noticed.
 */
class Snapshot {
  readonly #roots: unknown[] = [];
  readonly #seen: unknown[] = [];
  #limit = 0;

  /** Answers false for values that cannot be compared this way. */
  addAll(values: readonly unknown[]): boolean {
    try {
      for (const value of values) {
        this.#limit = this.#seen.length + MOST_VALUES;
        this.#roots.push(value);
        if (isObject(value) && !this.#add(value as Owner, 0)) return false;
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Whether a list begins with the very values that were added, and nothing in them has changed since. */
  isStartOf(list: readonly unknown[]): boolean {
    const roots = this.#roots;
    if (list.length < roots.length) return false;
    let next = 0;
    for (let i = 0; i < roots.length; i++) {
      const root = roots[i];
      if (list[i] !== root) return false;
      if (isObject(root)) next = compare(root as Owner, this.#seen, next);
      if (next < 0) return false;
    }
    return true;
  }

  #add(owner: Owner, depth: number): boolean {
    const seen = this.#seen;
    if (depth > DEEPEST || seen.length > this.#limit || ArrayBuffer.isView(owner)) return false;
    // Arrays by index: `for in` would make a text of each.
    if (Array.isArray(owner)) {
      seen.push(owner.length);
      for (let i = 0; i < owner.length; i++) {
        seen.push(owner[i]);
        if (isObject(owner[i]) && !this.#add(owner[i], depth + 1)) return false;
      }
      return true;
    }
    let last: string | undefined;
    for (const key in owner) {
      const value = owner[key];
      seen.push(value);
      if (isObject(value) && !this.#add(value as Owner, depth + 1)) return false;
      last = key;
    }
    seen.push(last);
    return true;
  }
}

/** Answers where in `seen` the next object begins, or -1 if this one was changed. */
function compare(owner: Owner, seen: readonly unknown[], start: number): number {
  let next = start;
  if (Array.isArray(owner)) {
    if (seen[next++] !== owner.length) return -1;
    for (let i = 0; i < owner.length && next >= 0; i++) {
      const value = owner[i];
      if (seen[next++] !== value) return -1;
      if (isObject(value)) next = compare(value as Owner, seen, next);
    }
    return next;
  }
  let last: string | undefined;
  for (const key in owner) {
    const value = owner[key];
    if (seen[next++] !== value) return -1;
    if (isObject(value)) next = compare(value as Owner, seen, next);
    if (next < 0) return -1;
    last = key;
  }
  return seen[next] === last ? next + 1 : -1;
}
