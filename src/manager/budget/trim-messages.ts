import type { AnyFormat, Format, FormatName } from '../../message.ts';
import { checkOptions, count, func, oneOf, positive } from '../../options.ts';
import { formatRule } from '../../plan/fit.ts';
import type { HandleOptions } from '../../plan/handles.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { Ledger } from '../../plan/ledger/ledger.ts';
import { reduce } from '../../plan/reduce.ts';
import { resolveFormat } from '../../plan/resolve-format.ts';
import type { Stage } from '../../plan/stages/stage.ts';
import { ROOM } from './render-with-budget.ts';

/** Options of `trimMessages`. */
export interface TrimOptions<M = unknown> extends HandleOptions {
  /** The most messages that stay, such as `actorMessageLimit` computes. */
  readonly maxMessages: number;
  /** The format of the messages. @default detected */
  readonly format?: Format<M> | AnyFormat | FormatName;
  /**
   * How many of the first messages are the conversation before the agent's loop: they go after its iterations.
   * @default 0
   */
  readonly conversationMessages?: number | undefined;
}

/** The result of `trimMessages`. */
export interface Trimmed<M> {
  /** The messages that stay, with a notice that counts those that went. */
  readonly messages: M[];
  /** How many messages went now. */
  readonly dropped: number;
  /** The texts that went, to be stored. */
  readonly hidden: readonly Hidden[];
}

/** Whole turns go, those of the loop first. If there is no reply, the oldest messages after the task go. */
const STAGES: readonly Stage[] = [
  { kind: 'drop', what: 'turns' },
  { kind: 'drop', what: 'conversation' },
  { kind: 'drop', what: 'unanswered' },
];

/**
 * Leaves the oldest turns out of a list that is too long: whole turns, never the task, with a notice that counts them.
 *
 * @example
 * ```ts
 * import { trimMessages } from 'palimpsest/manager';
 *
 * const { messages, dropped } = trimMessages(history, { maxMessages: 200 });
 * ```
 */
export function trimMessages<M>(messages: readonly M[], options: TrimOptions<M>): Trimmed<M> {
  checkOptions('trimMessages', options, RULES, ['maxMessages']);
  const { maxMessages: max, handleOf, show, conversationMessages: keepMessages = 0 } = options;
  const format = resolveFormat<M>(messages, options.format);
  if (messages.length <= max) return { messages: messages.slice(), dropped: 0, hidden: [] };
  // Messages are counted, not their sizes.
  const counter = (): number => 0;
  const ledger = Ledger.of(messages, format, { counter, handleOf, show });
  reduce(ledger, { max, measure: 'messages', target: Math.floor(ROOM * max), stages: STAGES, window: 0, keepMessages });
  return { messages: ledger.sent(), dropped: ledger.totals.removedMessages, hidden: ledger.hidden };
}

const RULES = {
  maxMessages: positive,
  format: formatRule,
  conversationMessages: count,
  handleOf: func,
  show: oneOf('nothing', 'handle', 'recall'),
};
