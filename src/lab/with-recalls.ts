import type { ChatMessage } from '../message.ts';
import type { MissedCall } from './evidence.ts';
import type { Context } from './run.ts';

/** The tokens of the reply that calls `recall`. */
export const RECALL_OUTPUT_TOKENS = 60;

/**
 * The context as if the agent had recalled a masked text for every call that misses one. Before the call there is a reply that
 * recalls the text, with the whole text as its result. After that it is a result like any other.
 */
export function withRecalls(context: Context, missed: readonly MissedCall[]): Context {
  const results = context.messages.filter(({ role }) => role === 'tool');
  const messages: ChatMessage[] = [];
  const times: (number | undefined)[] = [];
  let [turn, next] = [0, 0];
  for (const [i, message] of context.messages.entries()) {
    if (message.role === 'assistant') turn += 1;
    for (; message.role === 'assistant' && missed[next]?.turn === turn; next++) {
      const { observation } = missed[next] as MissedCall;
      messages.push(...recallOf(results[observation]?.content ?? '', `recall ${next}`));
      times.push(context.times[i - 1], context.times[i - 1]);
    }
    messages.push(message);
    times.push(context.times[i]);
  }
  return { ...context, messages, times };
}

/** Arguments with the size at which the reply is counted: four characters are about a token. */
const ARGUMENTS = JSON.stringify({ handle: 'x'.repeat(4 * RECALL_OUTPUT_TOKENS - '{"handle":""}recall'.length) });

const recallOf = (content: string, id: string): ChatMessage[] => [
  { role: 'assistant', content: '', toolCalls: [{ id, name: 'recall', arguments: ARGUMENTS }] },
  { role: 'tool', name: 'recall', content, toolCallId: id },
];
