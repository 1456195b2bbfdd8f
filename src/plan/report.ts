import type { Kind } from '../message.ts';
import type { Ledger } from './ledger/ledger.ts';
import type { Sizes } from './ledger/totals.ts';
import type { EpochRecord } from './policy.ts';
import type { ReductionStage } from './stages/stage.ts';
import type { SummaryAuthor } from './summary.ts';

/** The decision about a request, with its numbers and a one-line reason. */
export interface Decision {
  /** The decision. */
  readonly act: 'mask' | 'wait' | 'over-limit' | 'cold-cache' | 'off';
  /** One line for people. */
  readonly because: string;
  /** The numbers behind the decision, by name, such as `rent` and `price`. */
  readonly [detail: string]: unknown;
}

/** A field and a header that the caller's request must carry. */
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

/** The effect of a plan, and the reason if there is none. Sizes are estimates of the counter in use. */
export interface Report {
  /** The size of the list that came in, and of the list to send. */
  readonly tokens: { readonly before: number; readonly after: number };
  /** The same in characters. */
  readonly chars: { readonly before: number; readonly after: number };
  /** The same for each kind of content. */
  readonly byKind: Readonly<Record<Kind, { readonly before: Sizes; readonly after: Sizes }>>;
  /** The number of edits of each kind. */
  readonly edits: {
    /** Results that are masked. */
    readonly mask: number;
    /** Results that are cut, and calls with shortened old texts. */
    readonly clip: number;
    /** Results that were made smaller when they were first sent: cleaned, with references, or the output of a shell. */
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
  /** The author of the summary that is sent, if this conversation wrote one. */
  readonly summary?: SummaryAuthor;
  /** The number of requests that changed earlier messages. */
  readonly epoch: number;
  /** Set if this request took an epoch because the cache was cold. Keep it, and pass it in `facts.epochs` from now on. */
  readonly record?: EpochRecord;
  /** The message of the first result that could be masked and is not. */
  readonly frontier?: number;
  /** The tokens of this request that a prompt cache has, and those of the last one that it must write again. */
  readonly cache: { readonly cached: number; readonly rewritten: number };
  /** The message of the list that came in before which a cache marker lets the unedited prefix be found. */
  readonly cacheMarkers: readonly number[];
  /** Options that the request must set before the provider accepts it. */
  readonly requires: readonly Requirement[];
  /** False if a budget could not be met. `fit` throws then; a planner reports it here. */
  readonly withinBudget: boolean;
  /** About this request. */
  readonly decision: Decision;
  /** About the last request that changed earlier messages, if that was not this one. */
  readonly lastChange?: Decision;
}

/** The state of the fold over the requests. */
export interface Progress {
  readonly decision: Decision;
  readonly epoch: number;
  readonly stage: ReductionStage | undefined;
  /** The size of the previous request. */
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
