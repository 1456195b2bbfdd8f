import { growingCoverage, readsTooLittle } from './formats/coverage.ts';
import { isRecord } from './formats/lens.ts';
import type { AnyFormat, Format } from './message.ts';
import { badOption, checkOptions, given, rule } from './options.ts';
import { checkFitOptions, type FitOptions, type FitResult, fitInFormat } from './plan/fit.ts';
import type { PlannerParts } from './plan/parts/parts.ts';
import type { Policy } from './plan/policy.ts';
import { readsLittle } from './plan/unknown-format.ts';
import { handleOf } from './store/handle.ts';

/** Options of `fit` of `palimpsest/core`. The caller imports format, policy and parts, so a bundle has no others. */
export interface CoreFitOptions extends FitOptions {
  /** The format of the messages, imported by name, such as `anthropic`. */
  readonly format: AnyFormat;
  /** The rule that chooses what is masked, such as `slidingWindow()`. */
  readonly policy: Policy;
  /**
   * Parts that only some options and policies need, such as `{ budget }` for `maxTokens`. A missing part is refused.
   * @default none
   */
  readonly parts?: PlannerParts;
}

/**
 * `fit` for small bundles: it detects no format, and has no policy and no parts of its own.
 *
 * @example
 * ```ts
 * import { slidingWindow } from 'palimpsest';
 * import { budget, fit } from 'palimpsest/core';
 * import { chat } from 'palimpsest/formats';
 *
 * const { messages } = fit(history, { format: chat, policy: slidingWindow(), parts: { budget }, maxTokens: 100_000 });
 * ```
 */
export function fit<M>(messages: readonly M[], options: CoreFitOptions): FitResult<M> {
  const { parts = {}, ...rest } = given('fit', options ?? {});
  const { format } = rest;
  if (typeof format !== 'object') throw badOption('fit option format', 'a format, such as anthropic', format);
  checkFitOptions(rest, ['policy']);
  checkOptions('fit option parts', parts, PART_RULES);
  const own = format as unknown as Format<M>;
  const coverage = growingCoverage(own, messages);
  const known = { ...coverage, read: coverage.read + coverage.unknown };
  if (readsTooLittle(known)) throw readsLittle(messages, format, { coverage, isNamed: true });
  return fitInFormat(messages, own, { handleOf, ...rest, parts });
}

const part = rule('a part of palimpsest/core', isRecord);
const PART_RULES = { budget: part, arrival: part, oldTexts: part };

export type { FitOptions, FitResult } from './plan/fit.ts';
export { arrival } from './plan/parts/arrival.ts';
export { budget } from './plan/parts/budget.ts';
export { oldTexts } from './plan/parts/old-texts.ts';
export type { ArrivalPart, BudgetPart, OldTextsPart, PlannerParts } from './plan/parts/parts.ts';
