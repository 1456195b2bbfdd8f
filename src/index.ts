import type { AnyFormat, Format, FormatName } from './message.ts';
import { badOption, given } from './options.ts';
import { createPlanner as createCorePlanner, type FitOptions, type FitResult, fit as fitCore } from './plan/fit.ts';
import type { Planner } from './plan/planner.ts';
import { resolveFormat } from './plan/resolve-format.ts';
import { handleOf } from './store/handle.ts';

/**
 * Fits a history into its budget: masks old tool output first, and summarises, drops and clips only if that is not enough.
 * Pure: the input is never changed, and messages that no edit names are `===` those that came in.
 *
 * @example
 * ```ts
 * import { fit } from 'palimpsest';
 *
 * const { messages, report } = fit(history, { model: 'claude-sonnet-5', maxTokens: 100_000 });
 * console.log(report.tokens, report.decision.because); // send `messages` in place of `history`
 * ```
 */
export function fit<M>(messages: readonly M[], options: FitOptions = {}): FitResult<M> {
  return fitCore(messages, { handleOf, ...given('fit', options) });
}

/**
 * Plans turn by turn. `add` takes time for new messages only, and the plan is the one `fit` would make of the whole history.
 * Name the type of your messages: `createPlanner<MyMessage>({ format: openaiChat })`.
 *
 * @example
 * ```ts
 * import { type ChatMessage, createPlanner } from 'palimpsest';
 *
 * const planner = createPlanner<ChatMessage>({ format: 'chat', maxTokens: 100_000 });
 * planner.add(...history);
 * const { messages, hidden } = planner.result();
 * ```
 */
export function createPlanner<M>(options: PlannerOptions): Planner<M> {
  const { format: named } = given('createPlanner', options ?? {});
  if (named === undefined) throw badOption('createPlanner option format', 'a format or its name', undefined);
  const format: Format<M> = resolveFormat<M>([], named);
  return createCorePlanner(format, { handleOf, ...options });
}

/** Options of `createPlanner`: those of `fit`, and a format, because there are no messages yet to detect it from. */
export interface PlannerOptions extends FitOptions {
  /** The format of the messages that `add` gets: one of `palimpsest/formats`, or its name. */
  readonly format: AnyFormat | FormatName;
}

export { defaultContextWindow } from './budget.ts';
export { type ErrorCode, PalimpsestError } from './errors.ts';
export * from './formats/index.ts';
export { isPlaceholder } from './laws/idempotent.ts';
export type {
  AnyFormat,
  ChatMessage,
  DropEdit,
  Edit,
  Format,
  FormatName,
  InsertEdit,
  Kind,
  Media,
  NoteRole,
  Plan,
  ReplaceEdit,
  Segment,
  Violation,
} from './message.ts';
export type { ArrivalOptions } from './plan/arrival/options.ts';
export { maskDispatchObservation } from './plan/dispatch.ts';
export { type DropOptions, type Dropped, dropOldestTurns } from './plan/drop-oldest-turns.ts';
export type { CacheFacts, FitOptions, FitResult } from './plan/fit.ts';
export {
  HistoryReducer,
  type HistoryReducerOptions,
  type HistoryReductionResult,
  maskObservations,
} from './plan/history-reducer.ts';
export type { Hidden } from './plan/ledger/hidden.ts';
export {
  ObservationMaskingContextManager,
  type ObservationMaskingOptions,
  type TokenSavings,
} from './plan/observation-masking-context-manager.ts';
export { describeResult, type HiddenResult, type Placeholder } from './plan/placeholder.ts';
export type { Added, Planner } from './plan/planner.ts';
export { type BreakEvenOptions, breakEven } from './plan/policies/break-even.ts';
export { type ClearToolUsesOptions, clearToolUses } from './plan/policies/clear-tool-uses.ts';
export { type FirstAndLastOptions, firstAndLast } from './plan/policies/first-and-last.ts';
export { type GraduatedOptions, graduated } from './plan/policies/graduated.ts';
export { type HybridOptions, hybrid } from './plan/policies/hybrid.ts';
export { parsePolicy } from './plan/policies/index.ts';
export { never } from './plan/policies/never.ts';
export { type OldestBatchOptions, oldestBatch } from './plan/policies/oldest-batch.ts';
export { geminiCli, type ProtectTokensOptions, protectTokens } from './plan/policies/protect-tokens.ts';
export {
  openHands,
  type PollingOptions,
  polling,
  type SlidingWindowOptions,
  slidingWindow,
  sweAgent,
} from './plan/policies/sliding-window.ts';
export {
  type CommonOptions,
  type EpochRecord,
  type Observation,
  type Policy,
  type Reason,
  type RequestView,
  type Step,
  stateless,
} from './plan/policy.ts';
export { type CacheLookup, type OwnPrices, type PriceName, type Prices, priceLists, pricesOf } from './plan/prices.ts';
export type { Decision, Report, Requirement } from './plan/report.ts';
export type { SummaryAuthor, SummaryWriter } from './plan/summary.ts';
export type { ToolKind } from './plan/tool-kind.ts';
export { type TruncateOptions, truncateResult } from './plan/truncate-result.ts';
export type { KindShares } from './plan/window-by-kind.ts';
export { type FitAndStoreOptions, fitAndStore } from './store/fit-and-store.ts';
export { handleOf } from './store/handle.ts';
export type { AsyncSummaryWriter } from './store/summary-log.ts';
export { clipText } from './text.ts';
export { countTokens } from './tokens/count-tokens.ts';
export type { Counter } from './tokens/counter.ts';
export { estimateTokens } from './tokens/estimate-tokens.ts';
