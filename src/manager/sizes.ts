import type { Format } from '../message.ts';
import { badOption } from '../options.ts';
import { Ledger } from '../plan/ledger/ledger.ts';
import type { Counter } from '../tokens/counter.ts';

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

/** The size of a system prompt or of tools: a text, or what can be written as JSON. */
export function sizeOfValue(value: unknown, counter: Counter): number {
  if (value === undefined || value === null) return 0;
  try {
    return counter(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  } catch {
    throw badOption('system prompt, directives or tools', 'a text or what can be written as JSON', value);
  }
}
