import type { ReplayResult, RunResult } from './replay-result.ts';

/** Sending everything: what all policies are compared with. */
export const NOTHING_MASKED = 'none';

/** The column of costs in which each run has the prices of its own model. */
export const BY_MODEL = 'by model';

/** The column of tokens, where the prices of no run are known. */
export const TOKENS = 'tokens';

/** Whether a policy knows the future. Such a policy is a bound for the others, not one to use. */
export const isHindsight = (policy: string): boolean => /^optimum\b/.test(policy);

/** Less than half a percent is nothing to act on. */
export const isSaving = (change: number): boolean => change <= -0.005;

/** The policy that costs least, of those that could be used. Tokens alone tell nothing: the cache decides. */
export function bestPolicy({ policies, total }: ReplayResult, prices: string): string | undefined {
  if (prices === TOKENS) return undefined;
  const change = (policy: string): number => total[policy]?.saving[prices] ?? Number.POSITIVE_INFINITY;
  const usable = policies.filter((policy) => policy !== NOTHING_MASKED && !isHindsight(policy));
  return usable.sort((a, b) => change(a) - change(b))[0];
}

/** Calls that quote what only a masked result held, in 100 calls; undefined where there were none. */
export function missRate(runs: readonly RunResult[], policy: string): number | undefined {
  let [missed, calls] = [0, 0];
  for (const { results } of runs) {
    missed += results[policy]?.misses.any ?? 0;
    calls += results[policy]?.misses.calls ?? 0;
  }
  return calls === 0 ? undefined : (100 * missed) / calls;
}
