import type { Dialect, ToolResult } from '../dialect.ts';
import { placeResults } from '../open-calls.ts';
import type { Conversation } from './conversation.ts';
import type { MessageEvent } from './session-event.ts';

/** The events that add results to a conversation, each behind the reply that asked for it. */
export function resultEvents<M>(
  conversation: Conversation<M>,
  dialect: Dialect<M>,
  results: readonly ToolResult[],
): MessageEvent<M>[] {
  return placeResults(dialect, conversation.messages(), results).flatMap(({ before, messages }) => {
    const key = conversation.keyAt(before);
    const place = key === undefined ? {} : { before: key };
    return messages.map((message) => ({ type: 'message', message, ...place }) as const);
  });
}
