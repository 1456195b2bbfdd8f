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
  readonly budget?: BudgetPart;
  readonly arrival?: ArrivalPart;
  readonly oldTexts?: OldTextsPart;
}

/** Brings a request below a budget, and writes the summaries that a policy asks for. */
export interface BudgetPart {
  /** The policy's own budget, and that of the request. */
  budgetsOf(policy: Policy, maxTokens: number | undefined): Budget[];
  reduce<M>(ledger: Ledger<M>, budget: Budget, candidates: MaskCandidates): ReductionStage | undefined;
  summariseTurns<M>(ledger: Ledger<M>, budget: SummaryBudget, range: SummaryRange): boolean;
  /** The error for a history that is too large when all that may go has gone. */
  impossible<M>(ledger: Ledger<M>, budget: number, settings: string): PalimpsestError;
  summarizeNow(of: string, writer: SummaryWriter<unknown>): Summarize;
}

/** Makes results smaller when they first go out. */
export interface ArrivalPart {
  createArrivals<M>(ledger: Ledger<M>, options: ArrivalsOptions<M>): Arrivals<M>;
}

/** Shortens the old texts of edits. */
export interface OldTextsPart {
  shortenCalls<M>(ledger: Ledger<M>, toolUse: Policy['toolUse']): void;
}
