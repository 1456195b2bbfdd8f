import { PalimpsestError } from '../../../errors.ts';
import { isRecord } from '../../../formats/lens.ts';
import { kindOfValue } from '../../../options.ts';
import type { MessageEvent } from '../session-event.ts';

/** The events that add messages to a conversation. Throws if one is no message in any format. */
export function messageEvents<M>(messages: readonly M[]): MessageEvent<M>[] {
  for (const message of messages) checkMessage(message);
  return messages.map((message) => ({ type: 'message', message }));
}

function checkMessage(message: unknown): void {
  if (isRecord(message) && !Array.isArray(message)) return;
  const advice = Array.isArray(message)
    ? 'add(...messages) takes them one by one'
    : 'add one such as { role, content }';
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected a message to be an object but found ${kindOfValue(message)}; ${advice}`,
  );
}
