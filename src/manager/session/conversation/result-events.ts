import type { MessageWriter } from '../../message-writer.ts';
import { placeResults } from '../../open-calls.ts';
import type { ToolResult } from '../../tool-call.ts';
import type { MessageEvent } from '../session-event.ts';
import type { Conversation } from './conversation.ts';

/** The events that add results to a conversation, each right after the reply that made its call. */
export function resultEvents<M>(
  conversation: Conversation<M>,
  writer: MessageWriter<M>,
  results: readonly ToolResult[],
): MessageEvent<M>[] {
  return placeResults(writer, conversation.messages(), results).flatMap(({ before, messages }) => {
    const key = conversation.keyAt(before);
    const place = key === undefined ? {} : { before: key };
    return messages.map((message) => ({ type: 'message', message, ...place }) as const);
  });
}
