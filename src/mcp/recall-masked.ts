import { setImmediate } from 'node:timers/promises';
import { answerRecall } from '../store/recall-tool/answer-recall.ts';
import type { RecallInput } from '../store/recall-tool/recall-input.ts';
import { recalls, walks } from '../store/slots.ts';
import type { TextWithImages } from '../store/stored-images.ts';
import type { McpContext } from './create-mcp-server.ts';

/** Answers a call of `recall`. Calls wait for their turn. */
export function recallMasked(context: McpContext, input: RecallInput): Promise<string | TextWithImages> {
  const slots = input.grep === undefined ? recalls : walks;
  return slots.run(async () => {
    // A large text takes long to read: other work may run between two calls.
    await setImmediate();
    return answerRecall(context.store, input, context);
  }, context);
}
