import { PalimpsestError } from '../../errors.ts';
import { shallowCopy } from '../../formats/lens.ts';
import { isManagerNotice, isPlaceholder, readNotice, summaryHeader } from '../../laws/idempotent.ts';
import type { AnyFormat, Format, FormatName, Segment } from '../../message.ts';
import { checkOptions, count, func, positive } from '../../options.ts';
import { checkedCounter, formatRule } from '../../plan/fit.ts';
import type { HandleOptions } from '../../plan/handles.ts';
import { impossible } from '../../plan/impossible.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { Ledger } from '../../plan/ledger/ledger.ts';
import type { Turn } from '../../plan/ledger/rows.ts';
import { reduce } from '../../plan/reduce.ts';
import { resolveFormat } from '../../plan/resolve-format.ts';
import { removable } from '../../plan/stages/drop.ts';
import { handleOf } from '../../store/handle.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';
import { RENDER_STAGES } from '../budget/render-with-budget.ts';
import { leadingSystem, sizeOfMessages } from '../budget/sizes.ts';
import type { ContextSource } from './context-manager-options.ts';

/** Options of `extractCarryover`. */
export interface CarryoverOptions<M = unknown> {
  /** How many of the last turns go with the task. @default 5 */
  readonly turns?: number;
  /** How large all of it may be, a system prompt among the messages apart. @default no limit */
  readonly maxTokens?: number;
  /** The format of the messages. @default detected */
  readonly format?: Format<M> | AnyFormat | FormatName;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
}

/**
 * The messages with which a new session begins: system prompt and task, always, a summary of earlier turns, and the last
 * turns, whole, as far as the budget goes. Pairs stay together. Notices and turns whose results are masked are not carried over.
 *
 * @example
 * ```ts
 * import { extractCarryover } from 'palimpsest/manager';
 *
 * const messages = extractCarryover(history, { turns: 5, maxTokens: 20_000 });
 * ```
 */
export function extractCarryover<M>(messages: readonly M[], options: CarryoverOptions<M> = {}): M[] {
  checkOptions('extractCarryover', options, { turns: count, maxTokens: positive, format: formatRule, counter: func });
  return carryOver(messages, options).messages;
}

/** The messages that are carried over, and the originals of those that had to be cut. */
export interface Carryover<M> {
  readonly messages: M[];
  readonly hidden: readonly Hidden[];
}

/** The same with handles: a text that is cut shows the handle of its original. */
export function carryOver<M>(
  messages: readonly M[],
  options: CarryoverOptions<M> & Pick<HandleOptions, 'show'>,
): Carryover<M> {
  const { turns = 5, maxTokens = Number.POSITIVE_INFINITY, show = 'nothing' } = options;
  const counter = checkedCounter(options.counter ?? countTokens);
  const format = resolveFormat<M>(messages, options.format);
  const own = withoutNotices(messages, format);
  const fitting = { format, counter, maxTokens, show };
  const carry = (list: readonly M[]): Carryover<M> => {
    const ledger = Ledger.of(list, format, { counter });
    const left = leftBehind(ledger, turns);
    const kept = list.filter((_, i) => !left.some(({ from, to }) => from <= i && i < to));
    return fitCarryover(kept, fitting);
  };
  try {
    const once = carry(own);
    // The budget may mask an image. A turn with a masked result is not carried over.
    const twice = carry(once.messages);
    return { ...twice, hidden: [...once.hidden, ...twice.hidden] };
  } catch (error) {
    // The words of a model cannot be cut: that turn is not carried over.
    if (!(error instanceof PalimpsestError && error.code === 'BUDGET_IMPOSSIBLE')) throw error;
    return fitCarryover(essentials(own, format), fitting);
  }
}

interface Fitting<M> extends Required<Pick<HandleOptions, 'show'>> {
  readonly format: Format<M>;
  readonly counter: Counter;
  readonly maxTokens: number;
}

function fitCarryover<M>(messages: readonly M[], { format, counter, maxTokens, show }: Fitting<M>): Carryover<M> {
  const max = maxTokens + sizeOfMessages(leadingSystem(messages, format), format, counter);
  const ledger = Ledger.of(messages, format, { counter, show, ...(show === 'nothing' ? {} : { handleOf }) });
  reduce(ledger, { max, measure: 'tokens', target: max, stages: RENDER_STAGES, window: 0 });
  if (ledger.tokens > max) throw impossible(ledger, max, 'maxTokens or carryoverTokens');
  const hidden = show === 'nothing' ? [] : ledger.hidden.filter(({ why }) => why === 'clip');
  return { messages: withoutNotices(ledger.sent(), format), hidden };
}

/** System prompt and task, and the newest words of the user. Results in the same message stay behind with their calls. */
function essentials<M>(messages: readonly M[], format: Format<M>): M[] {
  const segments = format.view(messages);
  const users = segments.filter(({ kind }) => kind === 'user');
  const kept = new Set([users[0]?.message, users.at(-1)?.message]);
  const head = leadingSystem(messages, format).length;
  const ofMessage = (i: number): Segment[] => segments.filter(({ message }) => message === i);
  return messages.flatMap((message, i) =>
    i < head ? message : kept.has(i) ? withoutResults(message, ofMessage(i)) : [],
  );
}

/** A copy of a message without the parts that are results. */
function withoutResults<M>(message: M, segments: readonly Segment[]): M {
  const results = segments.filter(({ kind }) => kind === 'observation');
  const [list = ''] = results[0]?.path ?? [];
  const parts = (message as Record<string, unknown>)[list];
  if (!Array.isArray(parts)) return message;
  const answered = new Set(results.map(({ path }) => path[1]));
  return Object.assign(shallowCopy(message) as object, { [list]: parts.filter((_, i) => !answered.has(i)) }) as M;
}

/** The conversation of a session, with the summary of its older turns in the place where the view has it. */
export function withSummaryOf<M>(session: Pick<ContextSource<M>, 'format' | 'messages' | 'view'>): readonly M[] {
  const { format } = session;
  const isSummary = (message: M): boolean => format.view([message]).some(({ text }) => text.startsWith(summaryHeader));
  const view = session.view();
  const at = view.findIndex(isSummary);
  const messages = session.messages();
  if (at < 0) return messages;
  const others = messages.filter((message) => !isSummary(message));
  return [...others.slice(0, at), view[at] as M, ...others.slice(at)];
}

/** Leaves out messages that say nothing but a notice of ours. */
function withoutNotices<M>(messages: readonly M[], format: Format<M>): M[] {
  const segments = format.view(messages);
  const isOurs = ({ kind, text }: Segment): boolean =>
    (kind === 'system' || kind === 'user') && (isManagerNotice(text) || readNotice(text) !== undefined);
  const [said, own] = [new Set<number>(), new Set<number>()];
  for (const segment of segments) (isOurs(segment) ? said : own).add(segment.message);
  return messages.filter((_, i) => own.has(i) || !said.has(i));
}

/** The turns that are too old, or masked. With `turns` 0 the newest goes too, unless it holds the task. */
function leftBehind<M>(ledger: Ledger<M>, turns: number): readonly Turn[] {
  const isLeft = (group: readonly Turn[]): boolean =>
    group.some((row) => row.number <= ledger.turns - turns) || isMasked(group, ledger);
  const rows = removable(ledger, ledger.turns).filter(isLeft).flat();
  const { lastRow } = ledger;
  const isAlone = lastRow.number > 0 && lastRow.linked.every((row) => rows.includes(row)) && lastRow.openCalls === 0;
  return turns === 0 && isAlone && !lastRow.hasUser ? [...rows, lastRow] : rows;
}

const isMasked = <M>(group: readonly Turn[], ledger: Ledger<M>): boolean =>
  ledger.observations.some((result) => group.includes(result.row) && isPlaceholder(result.text));
