import type { Conversation } from './conversation.ts';
import type { GatewayEvent } from './events.ts';
import type { ReadRequest } from './read-request.ts';

/** An event, and how many messages its request had. */
export interface Found {
  readonly event: GatewayEvent;
  readonly messages: number;
}

/** The events that were recorded on prefixes of a request, in the order of their time. */
export function findEvents({ listed }: ReadRequest, conversation: Conversation): readonly Found[] {
  if (!conversation.hasAnyEvent) return [];
  const found = new Map<GatewayEvent, number>();
  for (const [index, { prefix, prefixes }] of listed.entries()) {
    // A system message has no piece of its own: what stands before it is decided on again.
    for (const piece of prefixes.length > 0 ? prefixes : [prefix])
      for (const event of conversation.eventsAt(piece)) found.set(event, index + 1);
  }
  const list = [...found].map(([event, messages]) => ({ event, messages }));
  return list.sort((a, b) => a.event.order - b.event.order || a.messages - b.messages);
}

/**
 * Those of them that hold for a request to this model. One that came after another on more of the same messages was
 * decided on a late request, such as a retry or a side call: the conversation had gone past it, and was sent without it.
 */
export function replayedEvents(found: readonly Found[], model = ''): readonly Found[] {
  let furthest = 0;
  return found.filter(({ event, messages }) => {
    if (event.kind === 'bound-thinking' || ('model' in event && event.model !== model)) return false;
    if (messages < furthest) return false;
    furthest = messages;
    return true;
  });
}
