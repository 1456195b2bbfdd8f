import { knownContextWindow, UNKNOWN_MODEL_WINDOW } from '../../budget.ts';
import { PalimpsestError } from '../../errors.ts';

/** The options that a limit is computed from. */
export interface LimitOptions {
  readonly maxInputTokens?: number | undefined;
  readonly contextLimit?: number | undefined;
  readonly model?: string | undefined;
  readonly contextWindows?: Readonly<Record<string, number>> | undefined;
  /** Reserved for the answer. If not given, thresholds are plain shares of the limit. */
  readonly maxOutputTokens?: number | undefined;
  /** The cap of history; 20,000 if not given, 0 for none. */
  readonly maxHistoryTokens?: number | undefined;
  readonly softThreshold?: number | undefined;
  readonly hardThreshold?: number | undefined;
}

/** One limit and its layers: `limitTokens = budgetTokens + outputTokens + marginTokens`. */
export interface EffectiveLimit {
  /** 100 % of every share: of thresholds, gauge, pre-flight check and log. */
  readonly limitTokens: number;
  /** The option that sets it, or `model` for its window. 128,000 are assumed for `unknownModel` and, where none is named, `unknown`. */
  readonly source: 'maxInputTokens' | 'contextLimit' | 'model' | 'unknownModel' | 'unknown';
  /** Reserved for the reply. */
  readonly outputTokens: number;
  /** Reserved for errors of the estimate. */
  readonly marginTokens: number;
  /** Room for system prompt, tools and messages of one request; 0 or less if there is none. */
  readonly budgetTokens: number;
  /** How much of the budget the conversation before a run may take. */
  readonly historyTokens: number;
  /** The largest request that fits: the budget, or the whole limit where no `maxOutputTokens` is given. */
  readonly requestTokens: number;
  /** From here on results are masked. */
  readonly soft: Threshold;
  /** From here on the session winds down. */
  readonly hard: Threshold;
}

/** A share of the limit, and the fewest tokens that reach it. */
export interface Threshold {
  /** The share, 0 to 1. */
  readonly share: number;
  /** The same in tokens. */
  readonly tokens: number;
}

export const DEFAULT_OUTPUT_TOKENS = 4096;
export const DEFAULT_HISTORY_TOKENS = 20_000;
export const DEFAULT_SOFT_THRESHOLD = 0.7;
export const DEFAULT_HARD_THRESHOLD = 0.9;

/** This share of the limit stays free, because sizes are estimates. */
const MARGIN = 0.1;

/** The soft threshold is at most this share of the budget: masking begins before the loop must drop. */
const SOFT_OF_BUDGET = 0.9;

/**
 * Computes the limit. The smallest limit that is set counts. The window of the model counts only if none is set: the known
 * window may be smaller than the real one.
 */
export function effectiveLimit(options: LimitOptions): EffectiveLimit {
  const { maxOutputTokens, maxHistoryTokens = DEFAULT_HISTORY_TOKENS } = options;
  const { softThreshold = DEFAULT_SOFT_THRESHOLD, hardThreshold = DEFAULT_HARD_THRESHOLD } = options;
  const { limitTokens, source } = limitOf(options);
  const outputTokens = maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS;
  const marginTokens = Math.floor(limitTokens * MARGIN);
  const budgetTokens = limitTokens - outputTokens - marginTokens;
  const hasBudget = maxOutputTokens !== undefined && budgetTokens > 0;
  const softCap = hasBudget ? (SOFT_OF_BUDGET * budgetTokens) / limitTokens : 1;
  return {
    limitTokens,
    source,
    outputTokens,
    marginTokens,
    budgetTokens,
    historyTokens: maxHistoryTokens === 0 ? budgetTokens : Math.min(budgetTokens, maxHistoryTokens),
    requestTokens: hasBudget ? budgetTokens : limitTokens,
    soft: thresholdOf(limitTokens, Math.min(softThreshold, softCap)),
    hard: thresholdOf(limitTokens, hardThreshold),
  };
}

function limitOf(options: LimitOptions): Pick<EffectiveLimit, 'limitTokens' | 'source'> {
  const { maxInputTokens, contextLimit, model, contextWindows } = options;
  if (maxInputTokens !== undefined && maxInputTokens <= (contextLimit ?? maxInputTokens))
    return { limitTokens: maxInputTokens, source: 'maxInputTokens' };
  if (contextLimit !== undefined) return { limitTokens: contextLimit, source: 'contextLimit' };
  if (model === undefined) return { limitTokens: UNKNOWN_MODEL_WINDOW, source: 'unknown' };
  const window = knownContextWindow(model, contextWindows);
  return window === undefined
    ? { limitTokens: UNKNOWN_MODEL_WINDOW, source: 'unknownModel' }
    : { limitTokens: window, source: 'model' };
}

/** Compared as shares: 55 of 100 tokens reach 0.55, but `0.55 * 100` is more than 55. */
function thresholdOf(limitTokens: number, share: number): Threshold {
  const tokens = Math.ceil(share * limitTokens);
  return { share, tokens: (tokens - 1) / limitTokens < share ? tokens : tokens - 1 };
}

/** The limit that leaves such a budget: the inverse of `effectiveLimit`. */
export function limitForBudget(budgetTokens: number, outputTokens: number): number {
  return Math.floor((budgetTokens + outputTokens) / (1 - MARGIN));
}

/** Throws BAD_OPTION if answer and margin leave nothing for a request. */
export function checkBudget({ limitTokens, source, outputTokens, budgetTokens }: EffectiveLimit): void {
  if (budgetTokens > 0) return;
  const isSet = source === 'maxInputTokens' || source === 'contextLimit';
  const of = isSet ? source : 'the window of the model, as maxInputTokens is not set';
  throw new PalimpsestError(
    'BAD_OPTION',
    `Expected maxOutputTokens to be below nine tenths of ${of} (${limitTokens}) but found ${outputTokens}; ` +
      `lower maxOutputTokens (default: ${DEFAULT_OUTPUT_TOKENS}), or raise ${isSet ? source : 'maxInputTokens'}`,
  );
}
