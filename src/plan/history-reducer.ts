import { chat } from '../formats/chat.ts';
import { isCertain } from '../formats/detect-format.ts';
import type { AnyFormat, ChatMessage, Format, FormatName } from '../message.ts';
import { badOption, checkOptions, defined, flag } from '../options.ts';
import { formatRule } from './fit.ts';
import { Ledger } from './ledger/ledger.ts';
import { GRADUATED_RULES, graduatedBudget, graduatedStyle, MASK_OUTSIDE } from './policies/graduated.ts';
import { reduce } from './reduce.ts';
import { resolveFormat } from './resolve-format.ts';
import { maskAll, segmentsOf } from './stages/mask.ts';
import { type ReductionStage, type Stage, sizeOf } from './stages/stage.ts';
import { summarizeNow } from './summary.ts';

/** Options of `HistoryReducer.reduce`. */
export interface HistoryReducerOptions<M = ChatMessage> {
  /** False: the list comes back as it is. @default true */
  readonly enabled?: boolean;
  /** Compared with the sum of `content.length`. */
  readonly maxInputChars: number;
  /** Replaces `maxInputChars`, and is counted with the default counter. @default none */
  readonly maxInputTokens?: number;
  /** The newest turns, which stay whole as long as they fit. @default 4 */
  readonly preserveRecentRawTurns?: number;
  /** The longest summary. @default 1400 */
  readonly summaryMaxChars?: number;
  /** False: the reducer begins with summaries. @default true */
  readonly observationMasking?: boolean;
  /** Keeps the head of a masked result in this length, in place of a placeholder. @default a placeholder */
  readonly maxObservationChars?: number;
  /** Writes the summary, at once: a promise is refused. @default the built-in rules */
  readonly summarize?: (messages: readonly M[], earlier: string | undefined) => string;
  /** The format of the messages. @default detected; plain text is `chat` */
  readonly format?: AnyFormat | FormatName;
}

/** The result of `HistoryReducer.reduce`. */
export interface HistoryReductionResult<M = ChatMessage> {
  /** The reduced list. */
  messages: M[];
  /** Whether anything was changed. */
  reduced: boolean;
  /** Messages that were left out or summarised. */
  droppedCount: number;
  /** `fallback`: masks and a summary were not enough, so messages were left out or clipped. */
  invariantStatus: 'ok' | 'fallback';
  /** Results that were masked. */
  maskedCount: number;
  /** The characters that masks hide. */
  maskedChars: number;
  /** The last stage that was needed. */
  reductionStage?: ReductionStage;
  /** False: even the last stage was not enough. */
  withinBudget: boolean;
  /** The size of the list that came in. */
  beforeTokens: number;
  /** The size of the reduced list. */
  afterTokens: number;
  /** Why the function `summarize` did not write the summary, if it failed. */
  summaryProblem?: string;
}

const RULES = { enabled: flag, format: formatRule, ...GRADUATED_RULES };

/** Mask, then summarise if that is enough, then truncate: the newest turns stay whole as long as they fit. */
const STAGES: readonly Stage[] = [
  MASK_OUTSIDE,
  { kind: 'summarise', onlyIfEnough: true, takesQuestion: true },
  { kind: 'drop', what: 'turns' },
  { kind: 'clip', what: 'results', to: 'max' },
  { kind: 'drop', what: 'messages' },
  { kind: 'clip', what: 'results', to: 'max' },
  { kind: 'mask', which: 'all' },
  { kind: 'drop', what: 'notes' },
  { kind: 'clip', what: 'results', to: 'max', least: 1, evenMasked: true },
];

/**
 * Mask, then summarise, then truncate, stopping at the first that fits. Without memory: each call sees only its list.
 *
 * @example
 * ```ts
 * import { HistoryReducer } from 'palimpsest';
 *
 * const { messages, reductionStage } = new HistoryReducer().reduce(history, { maxInputChars: 100_000 });
 * ```
 */
export class HistoryReducer {
  /**
   * Reduces one list below `maxInputChars` or `maxInputTokens`, and reports the stage that was enough. The list is not
   * changed.
   */
  reduce<M extends object = ChatMessage>(
    messages: readonly M[],
    options: HistoryReducerOptions<M>,
  ): HistoryReductionResult<M> {
    if (options === undefined)
      throw badOption('the options of reduce', 'given, as in reduce(messages, { maxInputChars: 40_000 })', options);
    checkOptions('HistoryReducer', options, RULES, ['maxInputChars']);
    const graduated = graduatedBudget(options, STAGES);
    const summarize = options.summarize && summarizeNow('HistoryReducer', options.summarize as never);
    const budget = { ...graduated, target: graduated.max, summarize };
    const style = graduatedStyle(options.maxObservationChars);
    const ledger = Ledger.of(messages, formatOf(messages, options.format), { style });
    ledger.beginRequest();
    const stage = options.enabled === false ? undefined : reduce(ledger, budget);
    const problem = ledger.notes.summary === undefined ? undefined : ledger.summaryAuthor?.because;
    return {
      messages: ledger.sent(),
      reduced: stage !== undefined,
      droppedCount: ledger.totals.removedMessages,
      invariantStatus: stage === 'fallback' ? 'fallback' : 'ok',
      maskedCount: ledger.maskedCount,
      maskedChars: ledger.maskedChars,
      ...defined({ reductionStage: stage }),
      withinBudget: sizeOf(ledger, budget) <= budget.max,
      beforeTokens: ledger.totals.tokensBefore,
      afterTokens: ledger.tokens,
      ...defined({ summaryProblem: problem }),
    };
  }
}

/** The format that is named or that the messages have; `chat`, with its pairs, if they are plain text. */
function formatOf<M>(messages: readonly M[], named: AnyFormat | FormatName | undefined): Format<M> {
  if (named !== undefined || !Array.isArray(messages)) return resolveFormat<M>(messages, named);
  return resolveFormat<M>(messages, isCertain(messages) ? undefined : 'chat');
}

/** Masks the results that are not among `keepIndices`. Everything else is shared with the list that came in. */
export function maskObservations(
  messages: readonly ChatMessage[],
  keepIndices: ReadonlySet<number>,
  { maxObservationChars }: { readonly maxObservationChars?: number } = {},
): { messages: ChatMessage[]; maskedCount: number; maskedChars: number } {
  const ledger = Ledger.of(messages, chat, { style: graduatedStyle(maxObservationChars) });
  const outside = ledger.observations.filter((result) => !keepIndices.has(result.original.message));
  maskAll(ledger, segmentsOf(outside));
  return { messages: ledger.sent(), maskedCount: ledger.maskedCount, maskedChars: ledger.maskedChars };
}
