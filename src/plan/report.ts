import type { Kind } from '../message.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Sizes } from './ledger/totals.ts';
import type { EpochRecord } from './policy.ts';
import type { ReductionStage } from './stages/stage.ts';
import type { SummaryAuthor } from './summary.ts';

/** What was decided about the request, with its numbers and a one-line reason. */
export interface Decision {
  /** The decision. */
  readonly act: 'mask' | 'wait' | 'over-limit' | 'cold-cache' | 'off';
  /** One line for people. */
  readonly because: string;
  readonly [detail: string]: unknown;
}

/** Something the caller's request must carry besides the messages. */
export interface Requirement {
  /** A field of the request's body. */
  readonly field: string;
  /** The value of that field. */
  readonly value: string;
  /** A header of the request. */
  readonly header: string;
  /** The value of that header. */
  readonly headerValue: string;
}

/** What a plan did, and why it did nothing. Sizes are estimates of the counter in use. */
export interface Report {
  /** The size of the list that came in, and of the list to send. */
  readonly tokens: { readonly before: number; readonly after: number };
  /** The same in characters. */
  readonly chars: { readonly before: number; readonly after: number };
  /** The same for each sort of content. */
  readonly byKind: Readonly<Record<Kind, { readonly before: Sizes; readonly after: Sizes }>>;
  /** The number of edits of each sort. */
  readonly edits: {
    /** Results that are masked. */
    readonly mask: number;
    /** Results that are cut, and calls whose old text is. */
    readonly clip: number;
    /** Results that were made smaller when they first went out: cleaned, with references, or the output of a shell. */
    readonly shape: number;
    /** Messages that are left out. */
    readonly drop: number;
    /** Notes that are put in. */
    readonly insert: number;
  };
  /** Results that are masked. */
  readonly maskedCount: number;
  /** The characters that masks hide. */
  readonly maskedChars: number;
  /** The last stage that the budget needed. */
  readonly reductionStage?: ReductionStage;
  /** The author of the summary that is sent, where this conversation wrote one. */
  readonly summary?: SummaryAuthor;
  /** How many requests changed what earlier ones had sent. */
  readonly epoch: number;
  /** Where this request took an epoch because the cache was cold: keep it, and give it in `facts.epochs` from now on. */
  readonly record?: EpochRecord;
  /** The message of the first result that could be masked and is not. */
  readonly frontier?: number;
  /** What a prompt cache would hold of this request, and what it must write again of the last one. */
  readonly cache: { readonly cached: number; readonly rewritten: number };
  /** The message of the list that came in before which a cache marker lets the unedited prefix be found. */
  readonly cacheMarkers: readonly number[];
  /** Options that the request must set before the provider accepts it. */
  readonly requires: readonly Requirement[];
  /** False where a budget could not be met: `fit` throws then, a planner tells. */
  readonly withinBudget: boolean;
  /** About this request. */
  readonly decision: Decision;
  /** About the last request that changed what earlier ones had sent, if that was not this one. */
  readonly lastChange?: Decision;
}

/** Facts that only the fold over the requests knows. */
export interface Progress {
  readonly decision: Decision;
  readonly epoch: number;
  readonly stage: ReductionStage | undefined;
  /** The size of the request before this one. */
  readonly previousTokens: number;
  readonly requires: readonly Requirement[];
  readonly withinBudget: boolean;
  readonly record: EpochRecord | undefined;
  readonly lastChange: Decision | undefined;
}

export function createReport<M>(ledger: Ledger<M>, progress: Progress): Report {
  const { before, after, tokensBefore, replaced, removedMessages } = ledger.totals;
  const both = (kind: Kind) => ({ before: { ...before[kind] }, after: { ...after[kind] } });
  const byKind = {
    system: both('system'),
    user: both('user'),
    reasoning: both('reasoning'),
    action: both('action'),
    observation: both('observation'),
  };
  const chars = (sizes: Readonly<Record<Kind, Sizes>>): number =>
    sizes.system.chars + sizes.user.chars + sizes.reasoning.chars + sizes.action.chars + sizes.observation.chars;
  const change = ledger.firstChange();
  const frontier = ledger.observations[ledger.frontier]?.original.message;
  const report: WritableReport = {
    tokens: { before: tokensBefore, after: ledger.tokens },
    chars: { before: chars(before), after: chars(after) },
    byKind,
    edits: {
      mask: replaced.mask,
      clip: replaced.truncate + replaced.clip + replaced['old-text'],
      shape: replaced.clean + replaced.references + replaced['shell-output'],
      drop: removedMessages,
      insert: ledger.headNotes.inserted,
    },
    maskedCount: ledger.maskedCount,
    maskedChars: ledger.maskedChars,
    epoch: progress.epoch,
    cache: cacheOf(ledger, change, progress.previousTokens),
    cacheMarkers: change === undefined || change === 0 ? [] : [change],
    requires: progress.requires,
    withinBudget: progress.withinBudget,
    decision: progress.decision,
  };
  if (progress.stage !== undefined) report.reductionStage = progress.stage;
  if (ledger.summaryAuthor && ledger.notes.summary !== undefined) report.summary = ledger.summaryAuthor;
  if (progress.record) report.record = progress.record;
  if (frontier !== undefined) report.frontier = frontier;
  if (change === undefined && progress.lastChange) report.lastChange = progress.lastChange;
  return report;
}

type WritableReport = { -readonly [Name in keyof Report]: Report[Name] };

function cacheOf<M>(ledger: Ledger<M>, change: number | undefined, previous: number): Report['cache'] {
  if (change === undefined) return { cached: Math.min(previous, ledger.tokens), rewritten: 0 };
  const cached = Math.min(previous, ledger.tokens - ledger.tokensFrom(change));
  return { cached, rewritten: Math.max(0, previous - cached) };
}
