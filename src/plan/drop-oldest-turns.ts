import type { AnyFormat, FormatName } from '../message.ts';
import { anything, checkOptions, func, positive } from '../options.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/text-facts.ts';
import { resolveFormat } from './fit.ts';
import { Ledger } from './ledger.ts';
import { dropTurns } from './squeeze.ts';

export interface DropOptions {
  readonly maxTokens: number;
  readonly format?: AnyFormat | FormatName;
  readonly counter?: Counter;
}

/** Leaves out whole turns, oldest first, never the last one and never the conversation before the first reply. */
export function dropOldestTurns<M>(
  messages: readonly M[],
  options: DropOptions,
): { messages: M[]; droppedCount: number } {
  checkOptions('dropOldestTurns', options, { maxTokens: positive, format: anything, counter: func });
  const { maxTokens, format, counter = countTokens } = options;
  const ledger = new Ledger<M>(resolveFormat(messages, format), { counter });
  for (const message of messages) ledger.take(message, ledger.read(message));
  if (ledger.tokens <= maxTokens) return { messages: messages.slice(), droppedCount: 0 };
  const droppedCount = dropTurns(ledger, { measure: 'tokens' }, maxTokens);
  return { messages: ledger.sent(), droppedCount };
}
