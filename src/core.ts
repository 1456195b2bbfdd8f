import { growingCoverage, readsTooLittle } from './formats/coverage.ts';
import type { AnyFormat, Format } from './message.ts';
import { badOption, given } from './options.ts';
import { checkFitOptions, type FitOptions, type FitResult, fitInFormat } from './plan/fit.ts';
import type { Policy } from './plan/policy.ts';
import { readsLittle } from './plan/unknown-format.ts';
import { handleOf } from './store/handle.ts';

/** Options of `fit` at this door: both are imported by the caller, so that a bundle has no others. */
export interface CoreFitOptions extends FitOptions {
  readonly format: AnyFormat;
  readonly policy: Policy;
}

/** `fit` for small bundles: it detects no format and has no policy of its own. */
export function fit<M>(messages: readonly M[], options: CoreFitOptions): FitResult<M> {
  const { format, policy } = given('fit', options ?? {});
  if (typeof format !== 'object') throw badOption('fit option format', 'a format, such as anthropic', format);
  if (policy === undefined) throw badOption('fit option policy', 'a policy, such as slidingWindow()', policy);
  checkFitOptions(options);
  const own = format as unknown as Format<M>;
  const coverage = growingCoverage(own, messages);
  const known = { ...coverage, read: coverage.read + coverage.unknown };
  if (readsTooLittle(known)) throw readsLittle(messages, format, { coverage, isNamed: true });
  return fitInFormat(messages, own, { handleOf, ...options });
}

export type { FitOptions, FitResult } from './plan/fit.ts';
