import type { AnyFormat, Format, FormatName } from '../message.ts';
import { badOption, checkOptions, func, oneOf, positive } from '../options.ts';
import { formatRule, resolveFormat } from '../plan/fit.ts';
import type { HandleOptions } from '../plan/handles.ts';
import type { Hidden, Ledger } from '../plan/ledger.ts';
import type { TurnRow } from '../plan/rows.ts';
import { leaveOut, removable } from '../plan/squeeze.ts';
import { ledgerOf } from './sizes.ts';

/** Options of `trimMessages`. */
export interface TrimOptions<M = unknown> extends HandleOptions {
  /** How many messages may stay, such as `actorMessageLimit` says. */
  readonly maxMessages: number;
  readonly format?: Format<M> | AnyFormat | FormatName;
}

/** What `trimMessages` answers. */
export interface Trimmed<M> {
  readonly messages: M[];
  /** How many messages went now. */
  readonly dropped: number;
  readonly hidden: readonly Hidden[];
}

/** A trim goes down to this share, so that it does not move with every message that comes. */
const ROOM = 0.75;

/** Leaves the oldest turns out of a list that is too long: whole turns, never the task, with a notice that counts them. */
export function trimMessages<M>(messages: readonly M[], options: TrimOptions<M>): Trimmed<M> {
  checkOptions('trimMessages', options, RULES);
  const { maxMessages, format, handleOf, show } = options;
  if (maxMessages === undefined) throw badOption('trimMessages option maxMessages', positive.expected, maxMessages);
  if (messages.length <= maxMessages) return { messages: messages.slice(), dropped: 0, hidden: [] };
  // Only whole turns are looked for, not their sizes.
  const counter = (): number => 0;
  const ledger = ledgerOf(messages, resolveFormat<M>(messages, format), { counter, handleOf, show });
  const { rows, texts } = oldestTurns(ledger, messages.length - Math.floor(ROOM * maxMessages));
  if (rows.length === 0) return { messages: messages.slice(), dropped: 0, hidden: [] };
  const dropped = leaveOut(ledger, rows, texts);
  return { messages: ledger.sent(), dropped, hidden: ledger.hidden };
}

const RULES = {
  maxMessages: positive,
  format: formatRule,
  handleOf: func,
  show: oneOf('nothing', 'handle', 'recall'),
};

/** And what they say. Turns that cannot be written down stay: they could not be had again. */
function oldestTurns<M>(ledger: Ledger<M>, excess: number): { readonly rows: TurnRow[]; readonly texts: string[] } {
  const rows: TurnRow[] = [];
  const texts: string[] = [];
  // The notice is a message too.
  let left = excess + 1;
  for (const group of removable(ledger, ledger.turns)) {
    if (left <= 0) break;
    const text = ledger.write(group);
    if (text === undefined) continue;
    rows.push(...group);
    texts.push(text);
    left -= group.reduce((sum, { from, to }) => sum + to - from, 0);
  }
  return { rows, texts };
}
