import { PalimpsestError } from '../errors.ts';
import type { AnyFormat, Format, FormatName } from '../message.ts';
import { anything, checkOptions, count, flag, func, positive, rule, text } from '../options.ts';
import { checkedCounter, formatRule, showFor, sizeOfValue, windowsRule } from '../plan/fit.ts';
import { type Cut, isCut, reduceHeld } from '../plan/held-cut.ts';
import { impossible } from '../plan/impossible.ts';
import type { Hidden } from '../plan/ledger/hidden.ts';
import { writeNotice } from '../plan/notes.ts';
import { resolveFormat } from '../plan/resolve-format.ts';
import type { Stage } from '../plan/stages/stage.ts';
import type { SummaryAuthor } from '../plan/summary.ts';
import { handleOf } from '../store/handle.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Counter } from '../tokens/counter.ts';
import { effectiveLimit } from './effective-limit.ts';
import { leadingSystem, sizeOfMessages } from './sizes.ts';

/** Options of `renderWithBudget`. */
export interface RenderOptions<M = unknown> {
  /** Detected if not given. @default detected */
  readonly format?: Format<M> | AnyFormat | FormatName;
  /** Where they do not stand among the messages: they count too. @default none */
  readonly system?: unknown;
  /** Instructions that are sent with the system prompt. @default none */
  readonly directives?: unknown;
  /** The tools of the request, as they are sent. @default none */
  readonly tools?: unknown;
  /** The window in tokens (`max_input_tokens`). That of the model if not given, 128,000 where no model is known. */
  readonly window?: number;
  /** Its context window is the window where `window` gives none. */
  readonly model?: string;
  /** Context windows by model name, for models that are not known here. @default none */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** Reserved for the reply; 4,096 if not given. */
  readonly maxOutputTokens?: number;
  /** What history may take of the window; 20,000 if not given, 0 for all that is left. */
  readonly maxHistoryTokens?: number;
  /** What the last render of this conversation answered: it holds until history overflows again. */
  readonly cut?: Cut | undefined;
  /** Counts the tokens of a text. @default countTokens */
  readonly counter?: Counter;
  /**
   * How many of the first messages are the conversation before the agent's loop. They stay while an iteration of the loop
   * could go. Without it, the oldest turns go first, whatever they are.
   */
  readonly conversationMessages?: number | undefined;
  /** Shows the handle of what was omitted in the notice: where what is hidden is stored. @default false */
  readonly recall?: boolean;
}

/** What `renderWithBudget` answers. */
export interface Rendered<M> {
  /** The messages to send. */
  readonly messages: M[];
  /** How many older messages were omitted. */
  readonly omitted: number;
  /** What the model is told of that, where anything was. It stands among the messages. */
  readonly notice?: string;
  /** To be given to the next render, so that the cut holds still; undefined where nothing was cut. */
  readonly cut: Cut | undefined;
  /** What was taken out, each with its handle. */
  readonly hidden: readonly Hidden[];
  /** The author of the summary among the messages, where a session had one written, and why the rules wrote it. */
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
  /** What is left of the window for history. */
  readonly availableTokens: number;
  /** What history may take: that, or `maxHistoryTokens` where that is less. */
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
 * Fits a conversation into what a request leaves for it: newest turns first, whole, with a notice where older ones are
 * omitted. A cut holds still between overflows, so that the provider's cache is not rewritten on every render.
 */
export function renderWithBudget<M>(messages: readonly M[], options: RenderOptions<M> = {}): Rendered<M> {
  return renderHeld(messages, options).rendered;
}

/** The same, with the results that are masked since the texts that they refer to were left out: segments of the messages. */
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
