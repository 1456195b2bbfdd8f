import type { Store } from '../../store/store.ts';
import type { GatewayEvent } from './events.ts';
import { eventSessionOf } from './sessions.ts';

/** Events as they are stored, so that every gateway on this store replays them. */
export function toItems(conversation: string, events: readonly GatewayEvent[]): Parameters<Store['putMany']>[0] {
  const about = { session: eventSessionOf(conversation) };
  return events.map((event) => ({ text: JSON.stringify(renamed(event, STORED_NAMES)), about }));
}

/** The events recorded for a conversation, oldest first. */
export async function loadEvents(store: Pick<Store, 'list'>, conversation: string): Promise<GatewayEvent[]> {
  const events: GatewayEvent[] = [];
  for await (const { text } of store.list(eventSessionOf(conversation))) events.push(readEvent(text));
  return events;
}

/** One event as it was stored. */
export const readEvent = (text: string): GatewayEvent =>
  renamed(JSON.parse(text) as Record<string, unknown>, OUR_NAMES) as unknown as GatewayEvent;

/** Gateways of several versions may share a store: the names in it stay as they were first written. */
const STORED_NAMES: Readonly<Record<string, string>> = { laterPrefixes: 'past', overheadTokens: 'besideTokens' };

const OUR_NAMES = Object.fromEntries(Object.entries(STORED_NAMES).map(([ours, stored]) => [stored, ours]));

function renamed(event: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [names[name] ?? name, value]));
}
