import type { Store } from '../../store/store.ts';
import type { GatewayEvent } from './events.ts';
import { eventSessionOf } from './sessions.ts';

/** Events as they are stored, so that every gateway on this store replays them. */
export function toItems(conversation: string, events: readonly GatewayEvent[]): Parameters<Store['putMany']>[0] {
  const about = { session: eventSessionOf(conversation) };
  return events.map((event) => ({ text: JSON.stringify(event), about }));
}

/** The events recorded for a conversation, oldest first. */
export async function loadEvents(store: Pick<Store, 'list'>, conversation: string): Promise<GatewayEvent[]> {
  const events: GatewayEvent[] = [];
  for await (const { text } of store.list(eventSessionOf(conversation))) events.push(JSON.parse(text) as GatewayEvent);
  return events;
}
