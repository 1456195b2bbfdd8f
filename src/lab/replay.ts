import { BY_MODEL, bestPolicy, isSaving, missRate, TOKENS } from './compare.ts';
import { findLogs } from './readers/find-logs.ts';
import type { ReplayedFile, ReplayedRun } from './replay-file.ts';
import type { ReplayPage, ReplayResult, RunDetail, RunResult } from './replay-result.ts';
import { summarise } from './summary.ts';

/** The files to replay, and the settings. */
export interface ReplayOptions {
  readonly policies: readonly string[];
  /** Empty: each run has the prices of its own model. */
  readonly prices: readonly string[];
  /** Replays one file: here, or in a worker. */
  play(file: string): Promise<ReplayedFile>;
  /** Shorter runs are left out. */
  readonly leastTurns?: number | undefined;
  /** How many files may be replayed at the same time. */
  readonly parallel?: number;
  onProgress?(done: number, total: number): void;
}

/** Replays the runs in files, folders and globs: what would each policy have sent, cost and hidden? */
export async function replay(paths: readonly string[], options: ReplayOptions): Promise<ReplayPage> {
  const { policies, prices, play, leastTurns = 0, parallel = 1, onProgress = () => {} } = options;
  const skipped: { file: string; reason: string }[] = [];
  const files = await findLogs(paths, (file, reason) => skipped.push({ file, reason }));
  onProgress(0, files.length);
  let done = 0;
  const details = new Details();
  const played = await inParallel(files, parallel, async (file) => {
    const replayed = await play(file);
    onProgress(++done, files.length);
    const long = replayed.runs.filter(({ result }) => result.turns >= leastTurns);
    return { ...replayed, runs: long.map((run) => details.take(run)) };
  });
  const runs = played.flatMap((file) => file.runs);
  for (const [i, { skipped: reasons }] of played.entries())
    for (const reason of reasons) skipped.push({ file: files[i] as string, reason });
  return { result: summarise({ prices, policies, runs, skipped }), details: details.of(runs) };
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
  if (result.runs.length === 0) return 'No run was read.';
  if (prices === TOKENS) return 'No log names a model with known prices: all is in tokens, and no saving can be told.';
  const best = bestPolicy(result, prices);
  if (best === undefined) return 'No policy was compared.';
  const at = prices === BY_MODEL ? 'the prices of each model' : `${prices} prices`;
  const change = result.total[best]?.saving[prices] ?? 0;
  if (!isSaving(change)) return `At ${at} no policy saves anything on these runs: leave them as they are.`;
  const saved = `${best} saves ${(-100 * change).toFixed(0)} % of the input cost at ${at}`;
  // If the policy depends on prices, hidden texts are counted at the first list only.
  if (prices !== result.prices[0]) return `${saved}.`;
  const missed = (missRate(result.runs, best) ?? 0).toFixed(1);
  return `${saved}; in ${missed} of 100 calls the agent would have had to look something up again${recallsOf(result, best)}.`;
}

function recallsOf({ total, prices: [prices = ''] }: ReplayResult, policy: string): string {
  const change = total[policy]?.savingWithRecalls?.[prices];
  if (change === undefined) return '';
  const size = `${Math.abs(100 * change).toFixed(0)} %`;
  return `, and if each of them costs a recall of the whole text, it ${change <= 0 ? 'saves' : 'costs'} ${size}${change <= 0 ? '' : ' more'}`;
}
