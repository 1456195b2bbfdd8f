import type { Planner } from './planner.ts';
import { isObject, Snapshot } from './snapshot.ts';

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
  for (let i = 0; i < start.length; i++) if (!Object.is(messages[i], start[i])) return false;
  return true;
}
