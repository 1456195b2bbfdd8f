import type { Planner } from './planner.ts';

interface Conversation<M> {
  readonly planner: Planner<M>;
  readonly isSame: (options: unknown, format: unknown) => boolean;
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
  if (
    known?.isSame(key.options, key.format) &&
    beginsWith(messages, known.planner.ledger.messages) &&
    known.seen.isUnchanged()
  ) {
    const fresh = messages.slice(known.planner.ledger.messages.length);
    if (fresh.length === 0) return known.planner;
    // Forgotten until it has gone well: a counter or a policy of the caller's may throw in the middle.
    conversations.delete(first);
    known.planner.take(fresh);
    if (known.seen.addAll(fresh)) conversations.set(first, known);
    return known.planner;
  }
  const planner = planAll(messages, key);
  const seen = new Snapshot();
  const isComparable = seen.addAll(key.beside) && seen.addAll(messages);
  if (isComparable) conversations.set(first, { planner, isSame: key.sameAs(), seen });
  return planner;
}

function planAll<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const planner = key.create();
  planner.take(messages, key);
  return planner;
}

function beginsWith<M>(messages: readonly M[], start: readonly M[]): boolean {
  if (messages.length < start.length) return false;
  for (let i = 0; i < start.length; i++) if (messages[i] !== start[i]) return false;
  return true;
}

type Fields = Readonly<Record<string, unknown>>;
type Owner = Fields | readonly unknown[];

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** A message with more in it is quicker planned than compared; one that holds itself has no end. */
const MOST_VALUES = 2000;

/**
 * Every object in some messages, and every value in them in the order in which it stands, to see whether anything was
 * changed in place. A key that is renamed moves to the end, so the last one tells; not noticed is only an object whose last
 * keys were all deleted and written anew with the same values in the same order, some under other names but not the last.
 */
class Snapshot {
  readonly #owners: Owner[] = [];
  readonly #values: unknown[] = [];

  /** Answers false for values that cannot be compared this way. */
  addAll(roots: readonly unknown[]): boolean {
    try {
      for (const root of roots) if (isObject(root) && !this.#add(root as Owner)) return false;
      return true;
    } catch {
      return false;
    }
  }

  isUnchanged(): boolean {
    const [owners, values] = [this.#owners, this.#values];
    let next = 0;
    for (let i = 0; i < owners.length; i++) {
      next = compareValues(owners[i] as Owner, values, next);
      if (next < 0) return false;
    }
    return next === values.length;
  }

  #add(root: Owner): boolean {
    const owners = this.#owners;
    const limit = this.#values.length + MOST_VALUES;
    // Objects inside an object come behind it, and are taken in turn.
    for (let next = owners.push(root) - 1; next < owners.length; next++) {
      const owner = owners[next] as Owner;
      if (this.#values.length > limit || ArrayBuffer.isView(owner)) return false;
      if (!this.#addValues(owner)) return false;
    }
    return true;
  }

  /**
   * The length of a list or the last key of an object, then its values. A list by index: `for in` makes texts of those.
   * Answers false for what cannot be compared this way.
   */
  #addValues(owner: Owner): boolean {
    const [owners, values] = [this.#owners, this.#values];
    if (Array.isArray(owner)) {
      values.push(owner.length);
      for (let i = 0; i < owner.length; i++) {
        values.push(owner[i]);
        if (isObject(owner[i])) owners.push(owner[i]);
      }
      return true;
    }
    const start = values.push(undefined) - 1;
    for (const key in owner) {
      if (isIndex(key)) return false;
      const value = (owner as Fields)[key];
      values.push(value);
      if (isObject(value)) owners.push(value as Owner);
      values[start] = key;
    }
    return true;
  }
}

/** A key that stands first whenever it was written, so that one that is renamed does not move. */
const isIndex = (key: string): boolean => key.charCodeAt(0) <= 57 && String(Number(key) >>> 0) === key;

/** Answers where in `values` the next object begins, or -1 if this one was changed. */
function compareValues(owner: Owner, values: readonly unknown[], start: number): number {
  const known = values[start];
  let next = start + 1;
  if (Array.isArray(owner)) {
    if (known !== owner.length) return -1;
    for (let i = 0; i < owner.length; i++) if (values[next++] !== owner[i]) return -1;
    return next;
  }
  let last: string | undefined;
  for (const key in owner) {
    if (values[next++] !== (owner as Fields)[key]) return -1;
    last = key;
  }
  return known === last ? next : -1;
}
