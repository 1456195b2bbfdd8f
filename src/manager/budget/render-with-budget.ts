import { PalimpsestError } from '../../errors.ts';
import type { AnyFormat, Format, FormatName } from '../../message.ts';
import { anything, checkOptions, count, flag, func, positive, rule, text } from '../../options.ts';
import { checkedCounter, formatRule, showFor, sizeOfValue, windowsRule } from '../../plan/fit.ts';
import { type Cut, isCut, reduceHeld } from '../../plan/held-cut.ts';
import { impossible } from '../../plan/impossible.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { writeNotice } from '../../plan/notes.ts';
import { resolveFormat } from '../../plan/resolve-format.ts';
import type { Stage } from '../../plan/stages/stage.ts';
import type { SummaryAuthor } from '../../plan/summary.ts';
import { handleOf } from '../../store/handle.ts';
import { countTokens } from '../../tokens/count-tokens.ts';
import type { Counter } from '../../tokens/counter.ts';
import { effectiveLimit } from './effective-limit.ts';
import { leadingSystem, sizeOfMessages } from './sizes.ts';

/** Options of `renderWithBudget`. */
export interface RenderOptions<M = unknown> {
  /** The format of the messages. @default detected */
  readonly format?: Format<M> | AnyFormat | FormatName;
  /** The system prompt, if it is not among the messages. It counts too. @default none */
  readonly system?: unknown;
  /** Instructions that are sent with the system prompt. @default none */
  readonly directives?: unknown;
  /** The tools of the request, as they are sent. @default none */
  readonly tools?: unknown;
  /** The window in tokens (`max_input_tokens`). @default that of the model, 128000 where no model is known */
  readonly window?: number;
  /** Its context window is the window where `window` gives none. @default none */
  readonly model?: string;
  /** Context windows by model name, for models that are not known here. @default none */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** Reserved for the reply. @default 4096 */
  readonly maxOutputTokens?: number;
  /** How much of the window history may take; 0 for all that is left. @default 20000 */
  readonly maxHistoryTokens?: number;
  /** The cut of the last render of this conversation. It stays until history overflows again. @default none */
  readonly cut?: Cut | undefined;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
  /**
   * How many of the first messages are the conversation before the agent's loop. They stay while an iteration of the
   * loop could go. Without it, the oldest turns go first, whatever they are. @default 0
   */
  readonly conversationMessages?: number | undefined;
  /** Shows the handle of the omitted messages in the notice. Needs a store. @default false */
  readonly recall?: boolean;
}

/** The result of `renderWithBudget`. */
export interface Rendered<M> {
  /** The messages to send. */
  readonly messages: M[];
  /** How many older messages were omitted. */
  readonly omitted: number;
  /** The notice about omitted messages, if there are any. It is among the messages. */
  readonly notice?: string;
  /** Pass this to the next render, so that the cut stays. Undefined if nothing was cut. */
  readonly cut: Cut | undefined;
  /** The texts that were taken out, each with its handle. */
  readonly hidden: readonly Hidden[];
  /** The author of the summary among the messages, and why the rules wrote it. Set by sessions. */
  readonly summary?: SummaryAuthor;
  /** Where the tokens go. */
  readonly report: RenderReport;
}

/** Where the tokens of a request go. */
export interface RenderReport {
  /** The whole window. */
  readonly windowTokens: number;
  /** The system prompt and the directives. */
  readonly systemTokens: number;
  /** The tools. */
  readonly toolTokens: number;
  /** Reserved for the reply. */
  readonly outputTokens: number;
  /** Reserved for errors of the estimate. */
  readonly marginTokens: number;
  /** The part of the window that is left for history. */
  readonly availableTokens: number;
  /** The budget of history: `availableTokens`, or `maxHistoryTokens` if that is less. */
  readonly historyBudgetTokens: number;
  /** The size of the messages before and after. */
  readonly historyTokens: { readonly before: number; readonly after: number };
  /** System prompt, tools and history. */
  readonly requestTokens: number;
  /** Older messages that were left out. */
  readonly omitted: number;
  /** How many results and messages were shortened. */
  readonly clipped: number;
  /** All of it fits, an earlier cut is held, or a new one was made. */
  readonly decision: 'fits' | 'held' | 'cut';
}

const RULES = {
  format: formatRule,
  system: anything,
  directives: anything,
  tools: anything,
  window: positive,
  model: text,
  contextWindows: windowsRule,
  maxOutputTokens: count,
  maxHistoryTokens: count,
  cut: rule('what an earlier render answered as cut', isCut),
  counter: func,
  conversationMessages: count,
  recall: flag,
};

/** A cut goes down to this share of the budget, so that it does not move with every message that comes. */
export const ROOM = 0.75;

/** Whole turns of the loop go first, then those of the conversation, then whatever else can be cut. */
export const RENDER_STAGES: readonly Stage[] = [
  { kind: 'drop', what: 'turns' },
  { kind: 'clip', what: 'results', to: 'target' },
  { kind: 'drop', what: 'conversation' },
  { kind: 'clip', what: 'results', to: 'max', least: 1 },
  { kind: 'drop', what: 'messages' },
  { kind: 'clip', what: 'words', to: 'target' },
];

/**
 * Fits a conversation into the room that a request leaves for it. The newest turns stay whole, with a notice in place of
 * omitted ones. A cut stays until the next overflow, so that not every render rewrites the provider's cache.
 *
 * @example
 * ```ts
 * import { renderWithBudget } from 'palimpsest/manager';
 *
 * const { messages, report } = renderWithBudget(history, { model: 'gpt-5', maxHistoryTokens: 20_000 });
 * ```
 */
export function renderWithBudget<M>(messages: readonly M[], options: RenderOptions<M> = {}): Rendered<M> {
  return renderHeld(messages, options).rendered;
}

/** Also answers which results are masked because the texts that they refer to were left out: segments of the messages. */
export function renderHeld<M>(
  messages: readonly M[],
  options: RenderOptions<M> = {},
): { readonly rendered: Rendered<M>; readonly lost: readonly number[] } {
  checkOptions('renderWithBudget', options, RULES);
  const { recall = false, cut, conversationMessages } = options;
  const counter = checkedCounter(options.counter ?? countTokens);
  const format = resolveFormat<M>(messages, options.format);
  const head = sizeOfMessages(leadingSystem(messages, format), format, counter);
  const budget = budgetOf(options, head, counter);
  const max = head + budget.historyBudgetTokens;
  const target = head + Math.floor(ROOM * budget.historyBudgetTokens);
  const keepMessages = conversationMessages ?? 0;
  const held = reduceHeld(
    messages,
    { max, target, measure: 'tokens', stages: RENDER_STAGES, window: 0, keepMessages },
    { format, counter, cut, handleOf, show: showFor(recall, options.tools) },
  );
  const { ledger, decision } = held;
  if (ledger.tokens > max) throw impossible(ledger, max, 'window or maxHistoryTokens');
  const { notice } = ledger.notes;
  const [omitted, clipped] = [notice?.omitted ?? 0, ledger.totals.replaced.clip];
  const historyTokens = { before: ledger.totals.tokensBefore - head, after: ledger.tokens - head };
  const requestTokens = budget.systemTokens + budget.toolTokens + historyTokens.after;
  const rendered: Rendered<M> = {
    messages: ledger.sent(),
    omitted,
    ...(notice === undefined ? {} : { notice: writeNotice(notice) }),
    cut: held.cut,
    hidden: ledger.hidden,
    report: { ...budget, historyTokens, requestTokens, omitted, clipped, decision },
  };
  return { rendered, lost: held.lost };
}

type Budget = Omit<RenderReport, 'historyTokens' | 'requestTokens' | 'omitted' | 'clipped' | 'decision'>;

/** `available = window - system and directives - tools - output - 10 %`, of which history gets at most its cap. */
function budgetOf<M>(options: RenderOptions<M>, headTokens: number, counter: Counter): Budget {
  const { system, directives, tools, window, ...limits } = options;
  const limit = effectiveLimit({ ...limits, maxInputTokens: window });
  const sizeOf = (name: string, value: unknown): number =>
    sizeOfValue(`renderWithBudget option ${name}`, value, counter);
  const systemTokens = headTokens + sizeOf('system', system) + sizeOf('directives', directives);
  const toolTokens = sizeOf('tools', tools);
  const { limitTokens: windowTokens, outputTokens, marginTokens } = limit;
  const availableTokens = limit.budgetTokens - systemTokens - toolTokens;
  const parts = { windowTokens, systemTokens, toolTokens, outputTokens, marginTokens, availableTokens };
  if (availableTokens < 1) throw noRoom(parts);
  return { ...parts, historyBudgetTokens: Math.min(availableTokens, limit.historyTokens) };
}

function noRoom(parts: Omit<Budget, 'historyBudgetTokens'>): PalimpsestError {
  const { windowTokens, systemTokens, toolTokens, outputTokens, marginTokens } = parts;
  return new PalimpsestError(
    'BUDGET_IMPOSSIBLE',
    `Expected room for history in a window of ${windowTokens} tokens but system prompt and directives take ` +
      `${systemTokens}, tools ${toolTokens}, the reply ${outputTokens} and the margin ${marginTokens}; raise window, or ` +
      'shorten what only you can shorten',
  );
}
