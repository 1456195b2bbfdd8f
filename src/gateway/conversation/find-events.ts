import type { Listed } from './cached-history.ts';
import type { Conversation } from './conversation.ts';
import type { GatewayEvent } from './events.ts';

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
    if (event.kind === 'bound-thinking' || ('model' in event && event.model !== model)) return false;
    if (pieces < furthest) return false;
    furthest = pieces;
    return true;
  });
}
