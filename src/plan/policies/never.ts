import type { Policy } from '../policy.ts';

/** Masks nothing. Only a budget can make `fit` cut. */
export function never(): Policy {
  return { name: 'never', key: 'never', init: () => undefined, step: (state) => ({ state, mask: [], because: NEVER }) };
}

const NEVER = { act: 'off', because: 'the policy never masks' } as const;
