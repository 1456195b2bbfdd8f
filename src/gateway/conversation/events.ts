import type { Arrival } from '../../plan/arrival/options.ts';
import type { PolicySpec } from '../../plan/policy.ts';
import type { CacheLookup } from '../../plan/prices.ts';
import type { Store } from '../../store/store.ts';
import type { Assignment } from './arm.ts';
import type { Listed } from './cached-history.ts';
import type { Conversation } from './conversation.ts';

/**
 * A fact that changes the bytes of a conversation and that its messages do not show. It is recorded with the prefix on which
 * it was decided, and replayed by every later request that begins with that prefix.
 */
export type GatewayEvent =
  | ColdCacheEvent
  | OverLimitEvent
  | SettingsEvent
  | SentWholeEvent
  | HandsOffEvent
  | BoundThinkingEvent
  | ArmEvent
  | BegunEvent;

interface Recorded {
  /** The canonical hash of the messages of the request. */
  readonly prefix: string;
  /** Higher than that of every event of the conversation that was known when it was decided. */
  readonly order: number;
}

/** An event of one model: a provider has a cache for each model. */
interface OfModel extends Recorded {
  readonly model: string;
  /** The next prefixes of longer requests that were sent before without this event: it does not apply to those. */
  readonly laterPrefixes?: readonly string[];
}

/** An epoch that was free, because the provider's cache had expired. */
export interface ColdCacheEvent extends OfModel {
  readonly kind: 'cold-cache';
}

/** An epoch at any price, because the request was too large. */
export interface OverLimitEvent extends OfModel {
  readonly kind: 'over-limit';
}

/** The settings at the time of the first edit, and again whenever prices, the policy or its arrival options change. */
export interface SettingsEvent extends OfModel {
  readonly kind: 'settings';
  readonly prices: RecordedPrices;
  /** Absent if the policy cannot be recorded as data. */
  readonly policy?: RecordedPolicy;
  /** Whether placeholders name the tool `recall`. */
  readonly recall: boolean;
  /** The size of system prompt and tools. */
  readonly overheadTokens: number;
  /** How results are made smaller when they are first sent. Absent if they are not, and in events of older versions. */
  readonly arrival?: Arrival;
}

/** Results that were sent whole, though they could have been made smaller. They stay whole. */
export interface SentWholeEvent extends OfModel {
  readonly kind: 'sent-whole';
  /** Their places in the view of the history. */
  readonly segments: readonly number[];
}

/** A policy as data. */
export interface RecordedPolicy extends PolicySpec {
  /** Whether it is created for the prices of each request. */
  readonly isPriced: boolean;
}

/** The prices that a policy needs. */
export interface RecordedPrices {
  readonly name: string;
  readonly read: number;
  readonly write: number;
  readonly lifeMs: number;
  readonly leastTokens: number;
  readonly lookup: CacheLookup;
  /** Whether a marker can be put before an edit. */
  readonly canMark: boolean;
}

/** The provider refused an edited request and accepted the original: the conversation is no longer edited. */
export interface HandsOffEvent extends Recorded {
  readonly kind: 'hands-off';
  readonly because: string;
  /** Whether thinking in it is bound to masks that were sent before. */
  readonly wasEdited: boolean;
}

/** The provider said that thinking is bound to the messages before it. */
export interface BoundThinkingEvent extends Recorded {
  readonly kind: 'bound-thinking';
}

/** The arm of the session in a comparison. Recorded for the session, and for every request that begins like this one. */
export interface ArmEvent extends Recorded, Assignment {
  readonly kind: 'arm';
}

/** The session began at a gateway without holdout. Recorded only for the session. */
export interface BegunEvent extends Recorded {
  readonly kind: 'begun';
}

/**
 * The session that holds the events of a conversation. It is separate, so that no agent finds events among its texts. Its name has only
 * the hash of the first prefix, so that masks stay when a credential changes.
 */
export const eventSessionOf = (prefix: string): string => `ge-${prefix}`;

/** The session that holds the arm of an agent's session, whatever its conversations begin with. */
export const armSessionOf = (session: string): string => `ga-${session}`;

/** The session that holds the links to an agent's session: hashes of tool calls and results by which a later conversation may be recognised. */
export const linkSessionOf = (session: string): string => `gl-${session}`;

/** The agent's session that a session of the store links to. */
export const linkedSession = (session = ''): string | undefined => /^gl-(.+)$/.exec(session)?.[1];

/** A link as it is stored. */
export const toLink = (result: string): string => JSON.stringify({ kind: 'link', result });

export const isEventSession = (session: string | undefined): boolean => /^g[ael]-/.test(session ?? '');

/** Events as they are stored, so that every gateway on this store replays them. */
export function toItems(session: string, events: readonly GatewayEvent[]): Parameters<Store['putMany']>[0] {
  const about = { session };
  return events.map((event) => ({ text: JSON.stringify(renamed(event, STORED_NAMES)), about }));
}

/** The events recorded in a session of the store, oldest first. */
export async function loadEvents(store: Pick<Store, 'list'>, session: string): Promise<GatewayEvent[]> {
  const events: GatewayEvent[] = [];
  for await (const { text } of store.list(session)) events.push(readEvent(text));
  return events;
}

/** One event as it was stored. */
const readEvent = (text: string): GatewayEvent =>
  renamed(JSON.parse(text) as Record<string, unknown>, OUR_NAMES) as unknown as GatewayEvent;

/** Gateways of several versions may share a store: stored names never change. */
const STORED_NAMES: Readonly<Record<string, string>> = { laterPrefixes: 'past', overheadTokens: 'besideTokens' };

const OUR_NAMES = Object.fromEntries(Object.entries(STORED_NAMES).map(([ours, stored]) => [stored, ours]));

function renamed(event: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [names[name] ?? name, value]));
}

/** An event, and how many messages and pieces its request had in common with this one. */
export interface Found {
  readonly event: GatewayEvent;
  readonly messages: number;
  /** The pieces of all those messages: of two requests that end in the same message, one may have fewer pieces in it. */
  readonly pieces: number;
}

/**
 * The events that were recorded on prefixes of a request, oldest first. An event is left out if longer requests of this
 * history had been sent before it was decided.
 */
export function findEvents(listed: readonly Listed[], conversation: Conversation): readonly Found[] {
  if (!conversation.hasAnyEvent) return [];
  const found = new Map<GatewayEvent, Found>();
  let last: readonly GatewayEvent[] = [];
  let pieces = 0;
  for (const [index, { prefix, prefixes }] of listed.entries()) {
    // A system message has no piece of its own, so the prefix before it is looked up again.
    for (const piece of prefixes.length > 0 ? prefixes : [prefix]) {
      pieces += 1;
      for (const event of last)
        if ('laterPrefixes' in event && event.laterPrefixes.includes(piece)) found.delete(event);
      last = conversation.eventsAt(piece);
      for (const event of last) found.set(event, { event, messages: index + 1, pieces });
    }
  }
  return [...found.values()].sort((a, b) => a.event.order - b.event.order || a.pieces - b.pieces);
}

/**
 * The events that apply to a request to this model. An event that is newer than another one on more messages was decided
 * on a late request, such as a retry or a side call. The longer requests were sent without it, so it is left out.
 */
export function replayedEvents(found: readonly Found[], model = ''): readonly Found[] {
  let furthest = 0;
  return found.filter(({ event, pieces }) => {
    if (event.kind === 'bound-thinking' || event.kind === 'arm' || ('model' in event && event.model !== model))
      return false;
    // A gateway that could not reach the store may have decided it: its order means nothing.
    if (event.kind === 'sent-whole') return true;
    if (pieces < furthest) return false;
    furthest = pieces;
    return true;
  });
}
