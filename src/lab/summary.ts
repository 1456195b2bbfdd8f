import { BY_MODEL, bestPolicy, NOTHING_MASKED, TOKENS } from './compare.ts';
import { nextStep } from './next-step.ts';
import type { DollarTotal, InferredTotal, ModelRuns, PolicyTotal, ReplayResult, RunResult } from './replay-result.ts';

/** Totals and advice from the runs of a replay. `prices` is empty if each run has the prices of its model. */
export function summarise(given: Pick<ReplayResult, 'prices' | 'policies' | 'runs' | 'skipped'>): ReplayResult {
  const isPriced = given.runs.some(({ results }) => results[NOTHING_MASKED]?.cost[BY_MODEL] !== undefined);
  const prices = given.prices.length > 0 ? given.prices : [isPriced ? BY_MODEL : TOKENS];
  const runs = prices[0] === TOKENS ? given.runs.map(inTokens) : given.runs;
  const { policies, skipped } = given;
  const total = Object.fromEntries(policies.map((name) => [name, totalOf(name, runs, prices)]));
  const inferred = inferredIn(runs);
  const result: ReplayResult = {
    version: 1,
    prices,
    policies,
    runs,
    total,
    models: modelsOf(runs),
    ...(inferred ? { inferred } : {}),
    skipped,
  };
  const dollars = dollarsOf(result);
  const priced = dollars ? { ...result, dollars } : result;
  const next = nextStep(priced);
  return next ? { ...priced, next } : priced;
}

/** If no price is known, all tokens cost the same. */
function inTokens(run: RunResult): RunResult {
  const results = Object.entries(run.results).map(([name, result]) => [
    name,
    { ...result, cost: { [TOKENS]: result.tokensSent } },
  ]);
  return { ...run, results: Object.fromEntries(results) };
}

function totalOf(name: string, runs: readonly RunResult[], prices: readonly string[]): PolicyTotal {
  const sum = (pick: (run: RunResult) => number | undefined): number =>
    runs.reduce((all, run) => all + (pick(run) ?? 0), 0);
  const byList = (value: (list: string) => number): Record<string, number> =>
    Object.fromEntries(prices.map((list) => [list, value(list)]));
  const of = (run: RunResult) => run.results[name];
  const change = (cost: number, list: string): number => {
    const all = sum((run) => run.results[NOTHING_MASKED]?.cost[list]);
    return all === 0 ? 0 : cost / all - 1;
  };
  const cost = byList((list) => sum((run) => of(run)?.cost[list]));
  const costWithRecalls = byList((list) => sum((run) => of(run)?.costWithRecalls?.[list]));
  const hasRecalls = runs.some((run) => of(run)?.costWithRecalls);
  const hasDollars = runs.some((run) => of(run)?.dollars);
  return {
    tokensSent: sum((run) => of(run)?.tokensSent),
    cost,
    saving: byList((list) => change(cost[list] as number, list)),
    ...(hasRecalls
      ? { costWithRecalls, savingWithRecalls: byList((list) => change(costWithRecalls[list] as number, list)) }
      : {}),
    ...(hasDollars ? { dollars: byList((list) => sum((run) => of(run)?.dollars?.[list])) } : {}),
  };
}

function modelsOf(runs: readonly RunResult[]): ModelRuns[] {
  const models = new Map<string, ModelRuns>();
  for (const { model, prices, results } of runs) {
    const hasDollars = results[NOTHING_MASKED]?.dollars !== undefined;
    const key = JSON.stringify([model, prices, hasDollars]);
    const count = (models.get(key)?.runs ?? 0) + 1;
    models.set(key, {
      ...(model === undefined ? {} : { model }),
      ...(prices === undefined ? {} : { prices }),
      runs: count,
      hasDollars,
    });
  }
  return [...models.values()].sort((a, b) => b.runs - a.runs);
}

function inferredIn(runs: readonly RunResult[]): InferredTotal | undefined {
  const used = runs.flatMap(({ usage }) => usage ?? []);
  if (used.length === 0) return undefined;
  const sum = (pick: (usage: (typeof used)[number]) => number): number => used.reduce((all, one) => all + pick(one), 0);
  return {
    runs: used.length,
    requests: sum(({ requests }) => requests),
    countedTokens: sum(({ countedTokens }) => countedTokens),
    replayedTokens: sum(({ replayedTokens }) => replayedTokens),
    hiddenTokens: sum(({ hiddenTokens }) => hiddenTokens),
    ...(used.some(({ dollars }) => dollars !== undefined) ? { dollars: sum(({ dollars = 0 }) => dollars) } : {}),
  };
}

function dollarsOf(result: ReplayResult): DollarTotal | undefined {
  const [prices = ''] = result.prices;
  const policy = bestPolicy(result, prices);
  const priced = result.runs.filter(({ results }) => results[NOTHING_MASKED]?.dollars !== undefined);
  if (policy === undefined || priced.length === 0) return undefined;
  const sum = (name: string): number =>
    priced.reduce((all, { results }) => all + (results[name]?.dollars?.[prices] ?? 0), 0);
  const days = daysOf(priced);
  const period = days === undefined ? {} : { days };
  return { policy, before: sum(NOTHING_MASKED), after: sum(policy), runs: priced.length, ...period };
}

const DAY_MS = 86_400_000;

/** Whole days, as the report shows them, because the saving per month is computed from them. Undefined for less than a day of logs. */
function daysOf(priced: readonly RunResult[]): number | undefined {
  if (priced.some(({ from, to }) => from === undefined || to === undefined)) return undefined;
  const from = Math.min(...priced.map((run) => run.from as number));
  const to = Math.max(...priced.map((run) => run.to as number));
  return to - from < DAY_MS ? undefined : Math.ceil((to - from) / DAY_MS);
}
