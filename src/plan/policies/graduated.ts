import { dispatchBlocks } from '../../laws/idempotent.ts';
import { badOption, count, flag, func, given, positive } from '../../options.ts';
import { maskDispatchObservation } from '../dispatch.ts';
import type { PlaceholderStyle } from '../placeholder.ts';
import { type CommonOptions, createPolicy, type Policy, type Reason } from '../policy.ts';
import { type Budget, CLIP_NEWEST, LAST_RESORTS, ROOM, type Stage } from '../stages/stage.ts';
import type { SummaryWriter } from '../summary.ts';

/** The options of `HistoryReducer`, as they are for the policy. */
export interface GraduatedOptions extends CommonOptions {
  /** The budget in characters. Give this or `maxInputTokens`. @default none */
  readonly maxInputChars?: number;
  /** The budget in tokens. It wins over `maxInputChars`. @default none */
  readonly maxInputTokens?: number;
  /** The newest turns, which stay whole as long as they fit. @default 4 */
  readonly preserveRecentRawTurns?: number;
  /** The longest summary. @default 1400 */
  readonly summaryMaxChars?: number;
  /** False: it begins with summaries. @default true */
  readonly observationMasking?: boolean;
  /** Keeps the head of a masked result in this length. @default a placeholder */
  readonly maxObservationChars?: number;
  /**
   * Writes the summary. A promise can be awaited by `fitAndStore`, `openSession` and `runAgent` only. @default the
   * built-in rules
   */
  readonly summarize?: SummaryWriter<string | Promise<string>>;
}

export const GRADUATED_RULES = {
  maxInputChars: positive,
  maxInputTokens: positive,
  preserveRecentRawTurns: count,
  summaryMaxChars: positive,
  observationMasking: flag,
  maxObservationChars: positive,
  summarize: func,
};

/**
 * `HistoryReducer` inside `fit`: above its own budget it masks, then summarises, then truncates.
 *
 * @example
 * ```ts
 * import { fit, graduated } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: graduated({ maxInputTokens: 50_000 }) });
 * ```
 */
export function graduated(options: GraduatedOptions): Policy {
  given('graduated', options);
  return createPolicy<undefined>({
    name: 'graduated',
    options,
    rules: GRADUATED_RULES,
    minTokens: 0,
    window: options.preserveRecentRawTurns ?? 4,
    style: graduatedStyle(options.maxObservationChars),
    limit: graduatedBudget(options),
    summarize: options.summarize,
    init: () => undefined,
    step: (state) => ({ state, mask: [], because: WITHIN }),
  });
}

const WITHIN: Reason = { act: 'wait', because: 'within its own budget' };

export const MASK_OUTSIDE: Stage = { kind: 'mask', which: 'outside' };

const STAGES: readonly Stage[] = [MASK_OUTSIDE, { kind: 'summarise' }, CLIP_NEWEST, ...LAST_RESORTS];

/** The budget that these options describe. */
export function graduatedBudget(options: GraduatedOptions, stages = STAGES): Budget {
  const { maxInputChars, maxInputTokens, preserveRecentRawTurns = 4, summaryMaxChars = 1400 } = options;
  const max = maxInputTokens === undefined ? maxInputChars : maxInputTokens;
  if (max === undefined) throw badOption('graduated option maxInputChars', 'a whole number of 1 or more', max);
  return {
    max,
    measure: maxInputTokens === undefined ? 'chars' : 'tokens',
    // `createPolicy` refuses a value that is not a number.
    target: Math.floor(Number(max) * ROOM),
    stages: options.observationMasking === false ? stages.filter((stage) => stage !== MASK_OUTSIDE) : stages,
    window: preserveRecentRawTurns,
    summaryMaxChars,
  };
}

/** `[observation masked — n chars]`; dispatch results keep their blocks; a length keeps the head instead. */
export function graduatedStyle(maxObservationChars: number | undefined): PlaceholderStyle {
  return {
    write: ({ text }) => maskDispatchObservation(text, maxObservationChars).masked,
    keep: dispatchBlocks,
    known: true,
  };
}
