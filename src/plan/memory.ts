import type { Planner } from './planner.ts';

interface Conversation<M> {
  readonly planner: Planner<M>;
  readonly isSame: (other: unknown) => boolean;
  readonly seen: Snapshot;
}

/** By the first message, so that a conversation is forgotten with the caller's own list. */
const conversations = new WeakMap<object, Conversation<unknown>>();

/** What tells one planner from another: its options. */
export interface PlannerKey<M> {
  readonly options: object;
  /** Values beside the messages that must not have changed either. */
  readonly beside: readonly unknown[];
  isSame(options: unknown): boolean;
  create(): Planner<M>;
}

/**
 * The planner for a list, with all of it taken in. An agent fits its growing history after every turn: where the list
 * begins with the very objects of an earlier call, and nothing in them has changed, only what is new is planned.
 */
export function plannerFor<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const [first] = messages;
  if (!isObject(first)) return planAll(messages, key);
  const known = conversations.get(first) as Conversation<M> | undefined;
  if (known?.isSame(key.options) && known.seen.isUnchanged() && beginsWith(messages, known.planner.ledger.messages)) {
    const fresh = messages.slice(known.planner.ledger.messages.length);
    if (fresh.length === 0) return known.planner;
    known.planner.take(fresh);
    if (!known.seen.addAll(fresh)) conversations.delete(first);
    return known.planner;
  }
  const seen = new Snapshot();
  const planner = planAll(messages, key);
  if (seen.addAll(key.beside) && seen.addAll(messages)) conversations.set(first, { planner, isSame: key.isSame, seen });
  return planner;
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
  readonly #owners: Owner[] = [];
  readonly #keys: string[] = [];
  readonly #values: unknown[] = [];
  #limit = 0;

  /** Answers false for values that cannot be compared this way. */
  addAll(values: readonly unknown[]): boolean {
    try {
      return values.every((value) => {
        this.#limit = this.#owners.length + MOST_VALUES;
        return !isObject(value) || this.#add(value as Owner, 0);
      });
    } catch {
      return false;
    }
  }

  #add(owner: Owner, depth: number): boolean {
    if (depth > DEEPEST || this.#owners.length > this.#limit || ArrayBuffer.isView(owner)) return false;
    if (Array.isArray(owner)) this.#record(owner as unknown as Owner, 'length', owner.length);
    for (const key in owner) {
      const value = owner[key];
      this.#record(owner, key, value);
      if (isObject(value) && !this.#add(value as Owner, depth + 1)) return false;
    }
    return true;
  }

  #record(owner: Owner, key: string, value: unknown): void {
    this.#owners.push(owner);
    this.#keys.push(key);
    this.#values.push(value);
  }

  isUnchanged(): boolean {
    const [owners, keys, values] = [this.#owners, this.#keys, this.#values];
    for (let i = 0; i < owners.length; i++) {
      if ((owners[i] as Owner)[keys[i] as string] !== values[i]) return false;
    }
    return true;
  }
}
