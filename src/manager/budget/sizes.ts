import type { Format } from '../../message.ts';
import { Ledger } from '../../plan/ledger/ledger.ts';
import type { Counter } from '../../tokens/counter.ts';

/** The messages before all others that only hold a system prompt. */
export function leadingSystem<M>(messages: readonly M[], format: Format<M>): readonly M[] {
  const viewer = format.viewer();
  const end = messages.findIndex((message) => {
    const segments: Parameters<typeof viewer.add>[1] = [];
    viewer.add(message, segments);
    return segments.length === 0 || segments.some(({ kind }) => kind !== 'system');
  });
  return end < 0 ? messages : messages.slice(0, end);
}

/** The size of messages as a provider counts them: texts, names, ids, arguments, framing. */
export function sizeOfMessages<M>(messages: readonly M[], format: Format<M>, counter: Counter): number {
  return Ledger.of(messages, format, { counter }).tokens;
}
