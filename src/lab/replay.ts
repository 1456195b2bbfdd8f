import { BY_MODEL, bestPolicy, isSaving, missRate, TOKENS } from './compare.ts';
import { findLogs } from './readers/find-logs.ts';
import type { ReplayedFile, ReplayedRun } from './replay-file.ts';
import type { ReplayPage, ReplayResult, RunDetail, RunResult } from './replay-result.ts';
import { summarise } from './summary.ts';

/** The files to replay, and the settings. */
export interface ReplayOptions {
  /** The policies as given on the command line, in the order of the table. */
  readonly policies: readonly string[];
  /** Empty: each run has the prices of its own model. */
  readonly prices: readonly string[];
  /** Replays one file: here, or in a worker. */
  replayFile(file: string): Promise<ReplayedFile>;
  /** Shorter runs are left out. @default 0 */
  readonly leastTurns?: number | undefined;
  /** How many files may be replayed at the same time. @default 1 */
  readonly parallel?: number;
  /** Called with the number of files that are done. @default none */
  onProgress?(done: number, total: number): void;
}

/**
 * Replays the runs in files, folders and globs: what would each policy have sent, cost and hidden?
 *
 * @example
 * ```ts
 * import { adviceOf, readPrices, readReplayPolicy, replay, replayFile } from 'palimpsest/lab';
 * import { countTokens } from 'palimpsest/tokens';
 *
 * const [policies, prices] = [['none', 'break-even'], ['anthropic-5m']];
 * const setting = {
 *   policies: policies.map(readReplayPolicy),
 *   prices: prices.map(readPrices),
 *   cacheLife: 'listed',
 *   counter: countTokens,
 *   systemTokens: 0,
 *   usage: true,
 *   keepSchedules: false,
 * } as const;
 * const { result } = await replay(['logs'], { policies, prices, replayFile: (file) => replayFile(file, setting) });
 * console.log(adviceOf(result, 'anthropic-5m'));
 * ```
 */
export async function replay(paths: readonly string[], options: ReplayOptions): Promise<ReplayPage> {
  const { policies, prices, replayFile, leastTurns = 0, parallel = 1, onProgress = () => {} } = options;
  const skipped: { file: string; reason: string }[] = [];
  const files = await findLogs(paths, (file, reason) => skipped.push({ file, reason }));
  onProgress(0, files.length);
  let done = 0;
  const details = new Details();
  const replayed = await inParallel(files, parallel, async (file) => {
    const result = await replayFile(file);
    onProgress(++done, files.length);
    const long = result.runs.filter(({ result }) => result.turns >= leastTurns);
    return { ...result, runs: long.map((run) => details.take(run)) };
  });
  const runs = replayed.flatMap((file) => file.runs);
  for (const [i, { skipped: reasons }] of replayed.entries())
    for (const reason of reasons) skipped.push({ file: files[i] as string, reason });
  return { result: summarise({ prices, policies, runs, skipped }), details: details.of(runs) };
}

/** Sending everything is always replayed, because savings are compared with it. This leaves only the requested policies. */
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

/** The page shows the longest runs in detail: a browser could not open all of a thousand. */
const MOST_DETAILS = 30;

/** The schedules of the longest runs so far; those of other runs are dropped at once. */
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

/** One sentence to act on: which policy saves how much, and how often hidden text was needed again. */
export function adviceOf(result: ReplayResult, prices: string): string {
  if (result.runs.length === 0) return 'No run was read.';
  if (prices === TOKENS)
    return 'No log names a model with known prices: costs are in tokens, and no saving can be computed.';
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
