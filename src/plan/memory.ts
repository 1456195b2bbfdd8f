import { isRecord } from '../formats/lens.ts';
import type { Planner } from './planner.ts';
import { Snapshot } from './snapshot.ts';

interface Conversation<M> {
  readonly planner: Planner<M>;
  readonly isSame: (options: unknown, format: unknown) => boolean;
  readonly seen: Snapshot;
}

/** Keyed by the first message, so that a conversation is released with the caller's own list. */
const conversations = new WeakMap<object, Conversation<unknown>>();

/** The options that distinguish one planner from another. */
export interface PlannerKey<M> {
  readonly options: object;
  /** Other values that must not have changed either. */
  readonly beside: readonly unknown[];
  readonly format: unknown;
  /** Returns a function that compares later options with these. */
  sameAs(): (options: unknown, format: unknown) => boolean;
  create(): Planner<M>;
  /** Called if a list is not what it was in the previous call, which may have read other texts in the same messages. */
  checkAgain?(): void;
  /** Whether the cache is known to have expired before the next request. */
  readonly isCold: boolean;
}

/**
 * The planner for a list, with all messages added. An agent fits its growing history after every turn. If the list begins with the same
 * objects as in the previous call and nothing in them has changed, only new messages are planned.
 */
export function plannerFor<M>(messages: readonly M[], key: PlannerKey<M>): Planner<M> {
  const [first] = messages;
  const { isCold } = key;
  // The history does not show the next call what was masked because of a cold cache.
  if (!isRecord(first) || isCold) {
    const planner = key.create();
    planner.take(messages, { isCold });
    return planner;
  }
  const known = conversations.get(first) as Conversation<M> | undefined;
  const isKnown = known !== undefined && goesOn(known, messages, key);
  if (known && !isKnown) key.checkAgain?.();
  const conversation = isKnown ? known : begin(key);
  const { planner, seen } = conversation;
  const fresh = messages.slice(planner.ledger.messages.length);
  if (fresh.length === 0) return planner;
  // Removed until this call succeeds: a counter or a policy of the caller may throw in the middle.
  conversations.delete(first);
  planner.take(fresh, { seen });
  if (seen.isComparable) conversations.set(first, conversation);
  return planner;
}

function begin<M>(key: PlannerKey<M>): Conversation<M> {
  const seen = new Snapshot();
  for (const value of key.beside) seen.add(value);
  return { planner: key.create(), isSame: key.sameAs(), seen };
}

function goesOn<M>({ planner, isSame, seen }: Conversation<M>, messages: readonly M[], key: PlannerKey<M>): boolean {
  return isSame(key.options, key.format) && beginsWith(messages, planner.ledger.messages) && seen.isUnchanged();
}

function beginsWith<M>(messages: readonly M[], start: readonly M[]): boolean {
  if (messages.length < start.length) return false;
  for (let i = 0; i < start.length; i++) if (!Object.is(messages[i], start[i])) return false;
  return true;
}
