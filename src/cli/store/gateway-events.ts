import { isEventSession } from '../../gateway/conversation/events.ts';
import type { Store, StoreStats } from '../../store/store.ts';

/** What a gateway recorded for itself: masks that were sent, arms of sessions, and links between conversations. */
export type GatewayEvents = Pick<StoreStats, 'sessions' | 'texts' | 'textBytes'>;

/** The size of a store, and of the gateway's part of it. */
export interface GatewayStats extends StoreStats {
  /** Of the texts and sessions: those that hold no text of an agent. */
  readonly gateway: GatewayEvents;
}

export async function statsOf(store: Store): Promise<GatewayStats> {
  return { ...(await store.stats()), gateway: await eventsIn(store) };
}

async function eventsIn(store: Store): Promise<GatewayEvents> {
  const sum = { sessions: 0, texts: 0, textBytes: 0 };
  for await (const { session, texts, textBytes } of store.sessions()) {
    if (!isEventSession(session)) continue;
    sum.sessions += 1;
    sum.texts += texts;
    sum.textBytes += textBytes;
  }
  return sum;
}

export function sumOfEvents(all: readonly GatewayStats[]): GatewayEvents {
  const sum = (pick: (events: GatewayEvents) => number): number =>
    all.reduce((total, { gateway }) => total + pick(gateway), 0);
  return {
    sessions: sum(({ sessions }) => sessions),
    texts: sum(({ texts }) => texts),
    textBytes: sum(({ textBytes }) => textBytes),
  };
}

/** The size without the gateway's part. Sessions may share an event, which the store counts once. */
export function withoutEvents(stats: GatewayStats): GatewayStats {
  const less = (field: keyof GatewayEvents): number => Math.max(0, stats[field] - stats.gateway[field]);
  return { ...stats, sessions: less('sessions'), texts: less('texts'), textBytes: less('textBytes') };
}
