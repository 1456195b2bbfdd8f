import type { ProviderState } from '../exchange.ts';
import { asText, type Fields, fieldsOf, isFields } from '../json.ts';
import { Rejection } from '../rejection.ts';

/** A request with all that its thread said before: the client sends only what is new. */
export function withThread(body: Fields, { threads }: Pick<ProviderState, 'threads'>): Fields {
  const { thread } = body;
  if (!isFields(thread) || thread.type !== 'continue') return body;
  const before = threads.get(asText(thread.previous_message_id));
  if (!before) {
    const text = `thread.continue.previous_message_id: message ${thread.previous_message_id} not found`;
    throw new Rejection(text, { status: 404 });
  }
  return { ...body, messages: [...before, ...fieldsOf(body.messages)] };
}

/** Keeps a conversation under the id of its answer. */
export function keepThread(body: Fields, reply: Fields, { threads }: Pick<ProviderState, 'threads'>): void {
  if (!isFields(body.thread)) return;
  const said = { role: 'assistant', content: reply.content };
  threads.set(asText(reply.id), [...fieldsOf(body.messages), said]);
}
