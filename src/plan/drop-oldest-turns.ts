import type { AnyFormat, FormatName } from '../message.ts';
import { badOption, checkOptions, func, positive } from '../options.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/counter.ts';
import { formatRule, resolveFormat } from './fit.ts';
import { type Hidden, Ledger } from './ledger.ts';
import { dropTurns } from './squeeze.ts';

/** Options of `dropOldestTurns`. */
export interface DropOptions {
  readonly maxTokens: number;
  readonly format?: AnyFormat | FormatName;
  readonly counter?: Counter;
}

/**
 * Leaves out whole turns, oldest first, until the rest fits or only the last is left. The conversation before the loop,
 * which begins with the first reply that calls a tool, stays.
 */
export function dropOldestTurns<M>(
  messages: readonly M[],
  options: DropOptions,
): { messages: M[]; droppedCount: number; hidden: readonly Hidden[] } {
  checkOptions('dropOldestTurns', options, { maxTokens: positive, format: formatRule, counter: func });
  const { maxTokens, format, counter = countTokens } = options;
  if (maxTokens === undefined)
    throw badOption('dropOldestTurns option maxTokens', 'a whole number of 1 or more', maxTokens);
  const ledger = new Ledger<M>(resolveFormat(messages, format), { counter });
  for (const message of messages) ledger.take(message, ledger.read(message));
  if (ledger.tokens <= maxTokens) return { messages: messages.slice(), droppedCount: 0, hidden: [] };
  const loop = ledger.rows.findIndex((row) => row.hasCalls);
  const droppedCount = dropTurns(ledger, { measure: 'tokens' }, maxTokens, loop < 0 ? 1 : loop);
  return { messages: ledger.sent(), droppedCount, hidden: ledger.hidden };
}
