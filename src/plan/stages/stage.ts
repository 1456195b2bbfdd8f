import type { Ledger } from '../ledger/ledger.ts';
import type { Prices } from '../prices.ts';
import type { Summarize } from '../summary.ts';

/**
 * Masks results: all that are outside the policy's window; then those inside it, oldest first, except in the newest turn; or, as a last
 * resort, every result, whatever the policy protects.
 */
export interface MaskStage {
  readonly kind: 'mask';
  readonly which: 'outside' | 'inside' | 'all';
}

/** Replaces the turns outside the window by one summary, if that is smaller. The first reply that stays keeps its question. */
export interface SummariseStage {
  readonly kind: 'summarise';
  /** The question of the first reply that stays is summarised too. */
  readonly takesQuestion?: true;
  /** Undone if the history is still too large. */
  readonly onlyIfEnough?: true;
}

/**
 * Leaves messages out, oldest first, with a notice that counts them. `what` is one of: whole turns of the loop; turns of the
 * conversation before it; turns split into their messages, or only messages that were never answered; the summary, or every note.
 */
export interface DropStage {
  readonly kind: 'drop';
  readonly what: 'turns' | 'conversation' | 'messages' | 'unanswered' | 'summary' | 'notes';
}

/** Shortens the largest results to one common size, or, if nothing else is left, the users' own words. */
export interface ClipStage {
  readonly kind: 'clip';
  readonly what: 'results' | 'words';
  readonly to: 'target' | 'max';
  /** The smallest size of a clipped result. */
  readonly least?: number;
  /** Whether placeholders are shortened too, if not even they fit. */
  readonly evenMasked?: true;
  /** Only if the newest turn alone is too large: dropping all others would not help. */
  readonly ifNewestIsTooLarge?: true;
}

/**
 * One step of a reduction, as data. A caller has a list of stages, run in order until the history fits. Masking inside the window
 * continues down to the target.
 */
export type Stage = MaskStage | SummariseStage | DropStage | ClipStage;

/** If the newest turn alone is too large, dropping others would not help: it is clipped first. */
export const CLIP_NEWEST: Stage = { kind: 'clip', what: 'results', to: 'target', ifNewestIsTooLarge: true };

/** Stages for histories that masks and a summary cannot make small enough. */
export const LAST_RESORTS: readonly Stage[] = [
  { kind: 'drop', what: 'turns' },
  { kind: 'clip', what: 'results', to: 'target' },
  { kind: 'clip', what: 'results', to: 'max' },
  { kind: 'mask', which: 'all' },
  { kind: 'drop', what: 'summary' },
];

/** A cut goes down to this share of a budget, so that the next turn does not cut again. */
export const ROOM = 0.8;

/** The last stage that a reduction needed. */
export type ReductionStage = 'masking' | 'summarization' | 'fallback';

export type Measure = 'tokens' | 'chars' | 'messages';

/** The size that a history must reach, what it keeps, and the stages. */
export interface Budget {
  readonly max: number;
  readonly measure: Measure;
  /** A cut goes down to this size, so that the next turn does not cut again. */
  readonly target: number;
  readonly stages: readonly Stage[];
  /** The number of last turns that a summary keeps. */
  readonly window: number;
  /** The number of messages of the conversation before the loop: they are left out last. */
  readonly keepMessages?: number;
  readonly summaryMaxChars?: number;
  readonly summarize?: Summarize | undefined;
  /** With prices, a cut that rewrites the provider's cache goes deeper if that pays. */
  readonly prices?: Pick<Prices, 'read' | 'write'> | undefined;
}

export function sizeOf<M>(ledger: Ledger<M>, { measure }: Budget): number {
  return measure === 'messages' ? ledger.sentMessages : ledger.totals[measure];
}
