import { PalimpsestError } from '../../../errors.ts';
import { kindOfValue } from '../../../options.ts';
import type { MessageWriter } from '../../message-writer.ts';
import { placeResults } from '../../open-calls.ts';
import type { ToolResult } from '../../tool-call.ts';
import type { MessageEvent } from '../session-event.ts';
import type { Conversation } from './conversation.ts';

/** The events that add messages to a conversation. Throws if one is no message in any format. */
export function messageEvents<M>(messages: readonly M[]): MessageEvent<M>[] {
  for (const message of messages) checkMessage(message);
  return messages.map((message) => ({ type: 'message', message }));
}

function checkMessage(message: unknown): void {
  const kind = kindOfValue(message);
  if (kind === 'object') return;
  const advice = Array.isArray(message)
    ? 'add(...messages) takes them one by one'
    : 'add one such as { role, content }';
  throw new PalimpsestError('BAD_INPUT', `Expected a message to be an object but found ${kind}; ${advice}`);
}

/** The events that add results to a conversation, each right after the reply that made its call. */
export function resultEvents<M>(
  conversation: Conversation<M>,
  writer: MessageWriter<M>,
  results: readonly ToolResult[],
): MessageEvent<M>[] {
  for (const result of results) checkResult(result);
  return placeResults(writer, conversation.messages(), results).flatMap(({ before, messages }) => {
    const key = conversation.keyAt(before);
    const place = key === undefined ? {} : { before: key };
    return messages.map((message) => ({ type: 'message', message, ...place }) as const);
  });
}

function checkResult(result: ToolResult): void {
  const { call, text } = (result ?? {}) as Partial<ToolResult>;
  const isComplete = typeof call?.id === 'string' && typeof call.name === 'string' && typeof text === 'string';
  if (isComplete) return;
  const missing = call === undefined ? 'no call' : typeof text === 'string' ? 'a call without id or name' : 'no text';
  throw new PalimpsestError('BAD_INPUT', `Expected a result { call, text, isError } but found one with ${missing}`);
}
