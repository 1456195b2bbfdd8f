import type { Ledger } from '../ledger/ledger.ts';
import type { Prices } from '../prices.ts';
import type { Summarize } from '../summary.ts';

/**
 * Masks results: all that are outside the policy's window; then those inside it, oldest first, but never the newest turn's;
 * or, as a last resort, every result whatever the policy protects.
 */
export interface MaskStage {
  readonly kind: 'mask';
  readonly which: 'outside' | 'inside' | 'all';
}

/** Replaces the turns outside the window by one summary, where that is smaller. */
export interface SummariseStage {
  readonly kind: 'summarise';
  /** The question of the first reply that stays is not summarised. */
  readonly keepsQuestion?: true;
  /** Taken back where the history is still too large. */
  readonly onlyIfEnough?: true;
}

/**
 * Leaves messages out, oldest first, behind a notice that counts them: whole turns of the loop; turns of the conversation
 * before it; turns taken apart into their messages, or only words that were never answered; the summary, or every note.
 */
export interface DropStage {
  readonly kind: 'drop';
  readonly what: 'turns' | 'conversation' | 'messages' | 'unanswered' | 'summary' | 'notes';
}

/** Shortens the largest results to one common size, or, where nothing else is left, the users' own words. */
export interface ClipStage {
  readonly kind: 'clip';
  readonly what: 'results' | 'words';
  readonly to: 'target' | 'max';
  /** The shortest that a result becomes. */
  readonly least?: number;
  /** Placeholders are shortened too: where not even they fit, a few characters are all there is room for. */
  readonly evenMasked?: true;
  /** Only where the newest turn alone is too large: dropping all others would not help then. */
  readonly ifNewestIsTooLarge?: true;
}

/** One step of a reduction, as data. A door is a list of these, run in order until the history fits; a mask
 * inside the window goes on to the target. */
export type Stage = MaskStage | SummariseStage | DropStage | ClipStage;

/** Dropping the other turns would not help where the newest alone is too large: it is clipped before any of them goes. */
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

/** How far a reduction had to go. */
export type ReductionStage = 'masking' | 'summarization' | 'fallback';

export type Measure = 'tokens' | 'chars' | 'messages';

/** How small a history must become, what it keeps, and by which stages. */
export interface Budget {
  readonly max: number;
  readonly measure: Measure;
  /** A cut goes down to this, so that the next turn does not cut again. */
  readonly target: number;
  readonly stages: readonly Stage[];
  /** How many of the last turns a summary keeps. */
  readonly window: number;
  /** The conversation before the loop, in messages: it goes last. */
  readonly keepMessages?: number;
  readonly summaryMaxChars?: number;
  readonly summarize?: Summarize | undefined;
  /** A cut that rewrites a provider's cache goes deeper where that pays. */
  readonly prices?: Pick<Prices, 'read' | 'write'> | undefined;
}

export function sizeOf<M>(ledger: Ledger<M>, { measure }: Budget): number {
  return measure === 'messages' ? ledger.sentMessages : ledger.totals[measure];
}
