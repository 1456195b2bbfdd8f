import { checkOptions } from '../../options.ts';
import { type Policy, withSpec } from '../policy.ts';

/** Masks nothing. Only a budget can make `fit` cut; thresholds of a session mask nothing either. */
export function never(options: Readonly<Record<string, never>> = {}): Policy {
  checkOptions('never', options, {});
  const policy: Policy = {
    name: 'never',
    ignoresThresholds: true,
    init: () => undefined,
    step: (state) => ({ state, mask: [], because: NEVER }),
  };
  return withSpec(policy, { name: 'never', options });
}

const NEVER = { act: 'off', because: 'the policy never masks' } as const;
