import { readSpec } from '../plan/policies/index.ts';
import { isHindsight, NOTHING_MASKED } from './compare.ts';
import type { ReplayResult } from './replay-result.ts';

/** Sentences on the policies of a table: the options of arrival, and why a policy may cost less than an optimum. */
export function aboutPolicies({ policies, prices, total }: ReplayResult): string[] {
  const cost = (policy: string, list: string): number => total[policy]?.saving[list] ?? 0;
  const others = policies.filter((policy) => policy !== NOTHING_MASKED && !isHindsight(policy));
  const isBeaten = (optimum: string): boolean =>
    prices.some((list) => others.some((policy) => cost(policy, list) < cost(optimum, list)));
  const arrival = policies.some(namesArrival) ? [ARRIVAL] : [];
  return policies.some((policy) => isHindsight(policy) && !namesArrival(policy) && isBeaten(policy))
    ? [...arrival, HINDSIGHT]
    : arrival;
}

const namesArrival = (policy: string): boolean => {
  const { options } = readSpec(policy);
  return ['clean', 'references', 'shellOutput'].some((name) => options[name] !== undefined);
};

const ARRIVAL =
  'clean, references: results are made smaller when they are first sent, which costs no rewrite of the cache. break-even has both by default.';

const HINDSIGHT =
  'optimum knows the future of masking only. A policy can cost less: it may also make results smaller when they are first sent, or mask some kinds of results sooner.';
