import type { ReplayResult, RunResult } from './replay-result.ts';

/** Sending everything: all policies are compared with it. */
export const NOTHING_MASKED = 'none';

/** The column of costs in which each run has the prices of its own model. */
export const BY_MODEL = 'by model';

/** The column of tokens, if the prices of no run are known. */
export const TOKENS = 'tokens';

/** Whether a policy knows the future. Such a policy is a bound for the others, not one to use. */
export const isHindsight = (policy: string): boolean => /^optimum\b/.test(policy);

/** Less than half a percent does not count. */
export const isSaving = (change: number): boolean => change <= -0.005;

/** The policy that costs least and could be used. Undefined for tokens alone: without prices of the cache they do not show the cost. */
export function bestPolicy({ policies, total }: ReplayResult, prices: string): string | undefined {
  if (prices === TOKENS) return undefined;
  const change = (policy: string): number => total[policy]?.saving[prices] ?? Number.POSITIVE_INFINITY;
  const usable = policies.filter((policy) => policy !== NOTHING_MASKED && !isHindsight(policy));
  return usable.sort((a, b) => change(a) - change(b))[0];
}

/** Calls in 100 that quote text which only a masked result held. Undefined if there were no calls. */
export function missRate(runs: readonly RunResult[], policy: string): number | undefined {
  let [missed, calls] = [0, 0];
  for (const { results } of runs) {
    missed += results[policy]?.misses.any ?? 0;
    calls += results[policy]?.misses.calls ?? 0;
  }
  return calls === 0 ? undefined : (100 * missed) / calls;
}
