import { checkOptions } from '../../options.ts';
import { type ArrivalOptions, arrivalRules } from '../arrival/options.ts';
import { type Policy, withSpec } from '../policy.ts';

/** Options of `never`. */
export type NeverOptions = Pick<ArrivalOptions, 'clean' | 'references' | 'shellOutput'>;

/**
 * Masks nothing. Only a budget can make `fit` cut; thresholds of a session mask nothing either.
 *
 * @example
 * ```ts
 * import { fit, never } from 'palimpsest';
 *
 * const { messages } = fit(history, { policy: never(), maxTokens: 100_000 }); // masks only what the budget forces
 * ```
 */
export function never(options: NeverOptions = {}): Policy {
  const { truncate: _truncate, ...rules } = arrivalRules;
  checkOptions('never', options, rules);
  const policy: Policy = {
    name: 'never',
    ignoresThresholds: true,
    arrival: { ...options },
    init: () => undefined,
    step: (state) => ({ state, mask: [], because: NEVER }),
  };
  return withSpec(policy, { name: 'never', options: { ...options } });
}

const NEVER = { act: 'off', because: 'the policy never masks' } as const;
