import { dispatchBlocks } from '../../laws/idempotent.ts';
import { badOption, count, flag, func, given, positive } from '../../options.ts';
import { maskDispatchObservation } from '../dispatch.ts';
import type { PlaceholderStyle } from '../placeholder.ts';
import { type CommonOptions, createPolicy, type Limit, type Policy, type Reason, type Summarize } from '../policy.ts';

/** The options of `HistoryReducer`, as they are for the policy. */
export interface GraduatedOptions extends CommonOptions {
  readonly maxInputChars?: number;
  readonly maxInputTokens?: number;
  readonly preserveRecentRawTurns?: number;
  readonly summaryMaxChars?: number;
  readonly observationMasking?: boolean;
  readonly maxObservationChars?: number;
  readonly summarize?: Summarize;
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

/** `HistoryReducer` inside `fit`: above its own budget it masks, then summarises, then truncates. */
export function graduated(options: GraduatedOptions): Policy {
  given('graduated', options);
  return createPolicy<undefined>({
    name: 'graduated',
    options,
    rules: GRADUATED_RULES,
    minTokens: 0,
    window: options.preserveRecentRawTurns ?? 4,
    style: graduatedStyle(options.maxObservationChars),
    limit: graduatedLimit(options),
    init: () => undefined,
    step: (state) => ({ state, mask: [], because: WITHIN }),
  });
}

const WITHIN: Reason = { act: 'wait', because: 'within its own budget' };

/** The budget that these options describe. */
export function graduatedLimit(options: GraduatedOptions): Limit {
  const { maxInputChars, maxInputTokens, preserveRecentRawTurns = 4, summaryMaxChars = 1400 } = options;
  const max = maxInputTokens ?? maxInputChars;
  if (max === undefined) throw badOption('graduated option maxInputChars', 'a whole number of 1 or more', max);
  return {
    max,
    measure: maxInputTokens === undefined ? 'chars' : 'tokens',
    window: preserveRecentRawTurns,
    mask: options.observationMasking ?? true,
    summaryMaxChars,
    ...(options.summarize ? { summarize: options.summarize } : {}),
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
