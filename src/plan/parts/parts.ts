import type { PalimpsestError } from '../../errors.ts';
import type { Arrivals, ArrivalsOptions } from '../arrival/arrivals.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Policy } from '../policy.ts';
import type { MaskCandidates } from '../stages/mask.ts';
import type { Budget, ReductionStage } from '../stages/stage.ts';
import type { SummaryBudget, SummaryRange } from '../stages/summarise.ts';
import type { Summarize, SummaryWriter } from '../summary.ts';

/** Parts of a planner that not every conversation needs. They are passed in, so that a bundle has only those that it names. */
export interface PlannerParts {
  /** Needed for `maxTokens`, and for policies with a budget or a summary. */
  readonly budget?: BudgetPart;
  /** Needed for `clean`, `references`, `shellOutput` and `truncate`. */
  readonly arrival?: ArrivalPart;
  /** Needed for policies with `oldTexts`. */
  readonly oldTexts?: OldTextsPart;
}

/** Brings a request below a budget, and writes the summaries that a policy asks for. */
export interface BudgetPart {
  /** The context window of a model. */
  windowOf(model: string, windows: Readonly<Record<string, number>> | undefined): number;
  /** The policy's own budget, and that of the request. */
  budgetsOf(policy: Policy, maxTokens: number | undefined): Budget[];
  /** Edits the history until it fits. Returns the stage that was enough, or undefined if it fitted already. */
  reduce<M>(ledger: Ledger<M>, budget: Budget, candidates: MaskCandidates): ReductionStage | undefined;
  /** Replaces a range of turns by one summary. False if there is nothing to replace. */
  summariseTurns<M>(ledger: Ledger<M>, budget: SummaryBudget, range: SummaryRange): boolean;
  /** The error for a history that is too large after everything possible was cut. */
  impossible<M>(ledger: Ledger<M>, budget: number, settings: string): PalimpsestError;
  /** Wraps the caller's own function, which must be synchronous. */
  summarizeNow(of: string, writer: SummaryWriter<unknown>): Summarize;
}

/** Makes results smaller when they are first sent. */
export interface ArrivalPart {
  /** Creates the rules that make new results of one conversation smaller. */
  createArrivals<M>(ledger: Ledger<M>, options: ArrivalsOptions<M>): Arrivals<M>;
}

/** Shortens the old texts of edits. */
export interface OldTextsPart {
  /** Shortens the old texts of edits after the first change of a request: there the cache is written again anyway. */
  shortenCalls<M>(ledger: Ledger<M>, toolUse: Policy['toolUse']): void;
}
