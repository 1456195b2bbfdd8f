import { chat } from '../formats/chat.ts';
import type { ChatMessage } from '../message.ts';
import { badOption, checkOptions, flag } from '../options.ts';
import { Ledger } from './ledger.ts';
import { GRADUATED_RULES, graduatedLimit, graduatedStyle } from './policies/graduated.ts';
import type { Limit, Summarize } from './policy.ts';
import { clipResults, dropTurns, maskAll, type Stage, sizeOf, summarizeTurns } from './squeeze.ts';

/** Options of `HistoryReducer.reduce`. */
export interface HistoryReducerOptions {
  readonly enabled?: boolean;
  /** Compared with the sum of `content.length`. */
  readonly maxInputChars: number;
  /** Replaces `maxInputChars`, and is counted with the default counter. */
  readonly maxInputTokens?: number;
  readonly preserveRecentRawTurns?: number;
  readonly summaryMaxChars?: number;
  readonly observationMasking?: boolean;
  /** Keeps the head of a masked result in this length, in place of a placeholder. */
  readonly maxObservationChars?: number;
  readonly summarize?: (messages: readonly ChatMessage[], earlier: string | undefined) => string;
}

/** What `HistoryReducer.reduce` did. */
export interface HistoryReductionResult {
  messages: ChatMessage[];
  reduced: boolean;
  droppedCount: number;
  invariantStatus: 'ok' | 'fallback';
  maskedCount: number;
  maskedChars: number;
  reductionStage?: Stage;
  withinBudget: boolean;
  beforeTokens: number;
  afterTokens: number;
}

/** Mask, then summarise, then truncate, stopping at the first that fits. Without memory: each call sees only its list. */
export class HistoryReducer {
  reduce(messages: readonly ChatMessage[], options: HistoryReducerOptions): HistoryReductionResult {
    checkOptions('HistoryReducer', options, { enabled: flag, ...GRADUATED_RULES });
    if (options.maxInputChars === undefined)
      throw badOption('HistoryReducer option maxInputChars', 'a whole number of 1 or more', undefined);
    const limit = graduatedLimit(options as HistoryReducerOptions & { summarize?: Summarize });
    const ledger = new Ledger(chat, { style: graduatedStyle(options.maxObservationChars) });
    for (const message of messages) ledger.take(message, ledger.read(message));
    const stage = options.enabled === false ? undefined : reduceTo(ledger, limit);
    return {
      messages: ledger.sent(),
      reduced: stage !== undefined,
      droppedCount: ledger.removedMessages,
      invariantStatus: stage === 'fallback' ? 'fallback' : 'ok',
      maskedCount: ledger.maskedCount,
      maskedChars: ledger.maskedChars,
      ...(stage === undefined ? {} : { reductionStage: stage }),
      withinBudget: sizeOf(ledger, limit) <= limit.max,
      beforeTokens: ledger.tokensBefore,
      afterTokens: ledger.tokens,
    };
  }
}

function reduceTo(ledger: Ledger<ChatMessage>, limit: Limit): Stage | undefined {
  const fits = (): boolean => sizeOf(ledger, limit) <= limit.max;
  if (fits()) return undefined;
  ledger.beginRequest();
  const mask = (): number => (limit.mask ? maskAll(ledger, outsideWindow(ledger, limit.window)) : 0);
  mask();
  if (fits()) return 'masking';
  summarizeTurns(ledger, limit, ledger.turns - limit.window);
  if (fits()) return 'summarization';
  ledger.undoRequest();
  mask();
  truncate(ledger, limit);
  return 'fallback';
}

/** Keeps system, task and the newest turns whole where they fit, then clips, then takes the last turns apart. */
function truncate(ledger: Ledger<ChatMessage>, limit: Limit): void {
  const steps: readonly (() => void)[] = [
    () => dropTurns(ledger, limit, limit.max),
    () => clipResults(ledger, limit, limit.max),
    () => ledger.splitTurns(),
    () => dropTurns(ledger, limit, limit.max),
    () => clipResults(ledger, limit, limit.max),
    () => maskAll(ledger, segmentsOf(ledger.observations)),
    () => ledger.setNotes({}),
    () => clipResults(ledger, limit, limit.max, 1),
  ];
  for (const step of steps) if (sizeOf(ledger, limit) > limit.max) step();
}

function outsideWindow(ledger: Ledger<ChatMessage>, window: number): number[] {
  const last = ledger.turns - window;
  return segmentsOf(ledger.observations.filter((result) => result.turn <= last));
}

const segmentsOf = (results: readonly { readonly segment: number }[]): number[] =>
  results.map((result) => result.segment);

/** Masks the results that are not among `keepIndices`. Everything else is shared with the list that came in. */
export function maskObservations(
  messages: readonly ChatMessage[],
  keepIndices: ReadonlySet<number>,
  { maxObservationChars }: { readonly maxObservationChars?: number } = {},
): { messages: ChatMessage[]; maskedCount: number; maskedChars: number } {
  const ledger = new Ledger(chat, { style: graduatedStyle(maxObservationChars) });
  for (const message of messages) ledger.take(message, ledger.read(message));
  const outside = ledger.observations.filter((result) => !keepIndices.has(result.original.message));
  maskAll(ledger, segmentsOf(outside));
  return { messages: ledger.sent(), maskedCount: ledger.maskedCount, maskedChars: ledger.maskedChars };
}
