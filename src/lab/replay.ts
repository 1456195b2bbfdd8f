import { bestPolicy, isSaving, missRate, NOTHING_MASKED } from './compare.ts';
import { findLogs } from './readers/find-logs.ts';
import type { ReplayedFile, ReplayedRun } from './replay-file.ts';
import type { PolicyTotal, ReplayPage, ReplayResult, RunDetail, RunResult } from './replay-result.ts';

/** What to replay, and how. */
export interface ReplayOptions {
  readonly policies: readonly string[];
  readonly prices: readonly string[];
  /** Replays one file: here, or in a worker. */
  play(file: string): Promise<ReplayedFile>;
  /** How many files may be replayed at the same time. */
  readonly parallel?: number;
  onProgress?(done: number, total: number): void;
}

/** Replays the runs in files, folders and globs: what would each policy have sent, cost and hidden? */
export async function replay(paths: readonly string[], options: ReplayOptions): Promise<ReplayPage> {
  const { policies, prices, play, parallel = 1, onProgress = () => {} } = options;
  const skipped: { file: string; reason: string }[] = [];
  const files = await findLogs(paths, (file, reason) => skipped.push({ file, reason }));
  onProgress(0, files.length);
  let done = 0;
  const details = new Details();
  const played = await inParallel(files, parallel, async (file) => {
    const replayed = await play(file);
    onProgress(++done, files.length);
    return { ...replayed, runs: replayed.runs.map((run) => details.take(run)) };
  });
  const runs = played.flatMap((file) => file.runs);
  for (const [i, { skipped: reasons }] of played.entries())
    for (const reason of reasons) skipped.push({ file: files[i] as string, reason });
  const total = Object.fromEntries(policies.map((name) => [name, totalOf(name, runs, prices)]));
  return { result: { version: 1, prices, policies, runs, total, skipped }, details: details.of(runs) };
}

/** Sending everything is always replayed, since savings are told against it; this leaves only what was asked for. */
export function onlyAsked(result: ReplayResult): ReplayResult {
  const runs = result.runs.map((run) => {
    const asked = Object.entries(run.results).filter(([name]) => result.policies.includes(name));
    return { ...run, results: Object.fromEntries(asked) };
  });
  return { ...result, runs };
}

async function inParallel<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, limit) }, run));
  return results;
}

function totalOf(name: string, runs: readonly RunResult[], prices: readonly string[]): PolicyTotal {
  const sum = (pick: (run: RunResult) => number | undefined): number =>
    runs.reduce((all, run) => all + (pick(run) ?? 0), 0);
  const cost = Object.fromEntries(prices.map((list) => [list, sum((run) => run.results[name]?.cost[list])]));
  const saving = Object.fromEntries(
    prices.map((list) => {
      const all = sum((run) => costOfAll(run, list));
      return [list, all === 0 ? 0 : (cost[list] as number) / all - 1];
    }),
  );
  return { tokensSent: sum((run) => run.results[name]?.tokensSent), cost, saving };
}

const costOfAll = (run: RunResult, list: string): number | undefined => run.results[NOTHING_MASKED]?.cost[list];

/** The page shows the longest runs in detail: all of a thousand would not open. */
const MOST_DETAILS = 30;

/** The schedules of the longest runs so far; those of the others are let go as soon as they are read. */
class Details {
  #longest: ReplayedRun[] = [];

  take(run: ReplayedRun): RunResult {
    if (Object.keys(run.schedules).length > 0) {
      this.#longest.push(run);
      this.#longest.sort((a, b) => b.result.turns - a.result.turns);
      this.#longest.length = Math.min(this.#longest.length, MOST_DETAILS);
    }
    return run.result;
  }

  of(runs: readonly RunResult[]): RunDetail[] {
    return this.#longest.map(({ result, schedules }) => ({ run: runs.indexOf(result), schedules }));
  }
}

/** One sentence to act on: which policy saves how much, and what it hides that was needed again. */
export function adviceOf(result: ReplayResult, prices: string): string {
  const best = bestPolicy(result, prices);
  if (result.runs.length === 0) return 'No run was read.';
  if (best === undefined) return 'No policy was compared.';
  const change = result.total[best]?.saving[prices] ?? 0;
  if (!isSaving(change)) return `At ${prices} prices no policy saves anything on these runs: leave them as they are.`;
  const saved = `${best} saves ${(-100 * change).toFixed(0)} % of the input cost at ${prices} prices`;
  // What a policy hides that decides by the prices is counted at the first list only.
  if (prices !== result.prices[0]) return `${saved}.`;
  const missed = (missRate(result.runs, best) ?? 0).toFixed(1);
  return `${saved}; in ${missed} of 100 calls the agent would have had to look something up again.`;
}
