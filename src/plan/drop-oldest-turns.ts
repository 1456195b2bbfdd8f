import type { AnyFormat, FormatName } from '../message.ts';
import { checkOptions, func, positive } from '../options.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/counter.ts';
import { checkedCounter, formatRule } from './fit.ts';
import type { Hidden } from './ledger/hidden.ts';
import { Ledger } from './ledger/ledger.ts';
import { reduce } from './reduce.ts';
import { resolveFormat } from './resolve-format.ts';

/** Options of `dropOldestTurns`. */
export interface DropOptions {
  /** The budget. */
  readonly maxTokens: number;
  /** The format of the messages. @default detected */
  readonly format?: AnyFormat | FormatName;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
}

/** The result of `dropOldestTurns`. */
export interface Dropped<M> {
  /** The messages that are left. */
  readonly messages: M[];
  /** How many messages were left out. */
  readonly droppedCount: number;
  /** The messages that were left out, as texts. */
  readonly hidden: readonly Hidden[];
  /** The size before and after. */
  readonly tokens: { readonly before: number; readonly after: number };
  /** False if the last turn and the conversation before the loop alone are too large. */
  readonly withinBudget: boolean;
}

/**
 * Leaves out whole turns, oldest first, until the rest fits or only the last is left. The conversation before the loop,
 * which begins with the first reply that calls a tool, stays.
 *
 * @example
 * ```ts
 * import { dropOldestTurns } from 'palimpsest';
 *
 * const { messages } = dropOldestTurns(history, { maxTokens: 50_000 });
 * ```
 */
export function dropOldestTurns<M>(messages: readonly M[], options: DropOptions): Dropped<M> {
  checkOptions('dropOldestTurns', options, { maxTokens: positive, format: formatRule, counter: func }, ['maxTokens']);
  const { maxTokens, format } = options;
  const counter = checkedCounter(options.counter ?? countTokens);
  const ledger = Ledger.of(messages, resolveFormat<M>(messages, format), { counter });
  // If only a notice is left of the loop, everything else is the conversation.
  const noLoop = ledger.notes.notice ? messages.length : 0;
  const keepMessages = ledger.rows.find((row) => row.hasCalls)?.from ?? noLoop;
  const stages = [{ kind: 'drop', what: 'turns' }] as const;
  reduce(ledger, { max: maxTokens, measure: 'tokens', target: maxTokens, stages, window: 0, keepMessages });
  return {
    messages: ledger.sent(),
    droppedCount: ledger.totals.removedMessages,
    hidden: ledger.hidden,
    tokens: { before: ledger.totals.tokensBefore, after: ledger.tokens },
    withinBudget: ledger.tokens <= maxTokens,
  };
}
