import type { Store } from '../store/store.ts';
import type { GatewayEvent } from './events.ts';

/** Under a session of its own, so that no agent finds an event among the texts of its conversation. */
const sessionOf = (conversation: string): string => `ge-${conversation}`;

/** Records events, so that every gateway on this store replays them. */
export async function saveEvents(
  store: Pick<Store, 'putMany'>,
  conversation: string,
  events: readonly GatewayEvent[],
): Promise<void> {
  const about = { session: sessionOf(conversation) };
  if (events.length > 0) await store.putMany(events.map((event) => ({ text: JSON.stringify(event), about })));
}

/** The events recorded for a conversation, oldest first. */
export async function loadEvents(store: Pick<Store, 'list'>, conversation: string): Promise<GatewayEvent[]> {
  const events: GatewayEvent[] = [];
  for await (const { text } of store.list(sessionOf(conversation))) events.push(JSON.parse(text) as GatewayEvent);
  return events;
}
