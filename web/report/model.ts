import { bestPolicy, isHindsight, isSaving, missRate, NOTHING_MASKED, TOKENS } from '../../src/lab/compare.ts';
import type { ReplayPage, ReplayResult, RunResult, Schedule } from '../../src/lab/replay-result.ts';
import { atPrices, formatChange, formatPath, formatPlural, formatTokens } from '../format.ts';

/** The price list `none` is a provider without a prompt cache: not the policy `none`. */
export const priceName = (price: string): string => (price === 'none' ? 'no cache' : price);

/** The reader's current choices. */
export interface Choice {
  readonly price: string;
  readonly policy: string;
  /** Index into `runs`. */
  readonly run: number;
}

/** The first price list, the policy that saves most there, and the longest run that can be shown. */
export function firstChoice({ result, details }: ReplayPage): Choice {
  const price = result.prices[0] ?? '';
  const policy = bestPolicy(result, price) ?? result.policies[0] ?? NOTHING_MASKED;
  const turns = (run: number): number => result.runs[run]?.turns ?? -1;
  const shown = details.map(({ run }) => run).sort((a, b) => turns(b) - turns(a) || a - b);
  return { price, policy, run: shown[0] ?? 0 };
}

export interface Headline {
  readonly sentence: string;
  readonly detail: string;
}

export function headlineOf(result: ReplayResult, price: string): Headline {
  const { runs, policies } = result;
  if (runs.length === 0) {
    return { sentence: 'No runs to replay', detail: 'None of the files that were given holds a run that can be read.' };
  }
  const best = bestPolicy(result, price);
  const savingWith = (policy: string): number => result.total[policy]?.saving[price] ?? Number.POSITIVE_INFINITY;
  const [bound] = policies.filter(isHindsight).sort((a, b) => savingWith(a) - savingWith(b));
  const bounded = bound && result.total[bound]?.saving[price];
  const detail = [
    `${formatPlural(runs.length, 'run')} of ${formatPlural(
      sum(runs, ({ turns }) => turns),
      'turn',
    )} and ` + `${formatTokens(sum(runs, ({ tokens }) => tokens))} tokens of text.`,
    ...(best ? recallsOf(best, result, price) : []),
    ...(typeof bounded === 'number' ? [`With hindsight (${bound}): ${formatChange(bounded)}.`] : []),
  ].join(' ');
  return { sentence: best ? claimOf(best, result.total[best]?.saving[price], price) : costOf(result, price), detail };
}

/** The saving alone would hide that masked texts may be needed again. */
function recallsOf(policy: string, result: ReplayResult, price: string): string[] {
  const saving = result.total[policy]?.savingWithRecalls?.[price];
  const misses = missRate(result.runs, policy);
  if (typeof saving !== 'number' || misses === undefined) return [];
  const calls = `In ${misses.toFixed(1)} of 100 calls the agent quotes text that was masked by then`;
  return [`${calls}; if each costs a recall: ${formatChange(saving)}.`];
}

function claimOf(policy: string, saving: number | null | undefined, price: string): string {
  const at = atPrices(price);
  if (typeof saving !== 'number') return `${policy}: nothing to compare ${at}`;
  const percent = formatChange(Math.abs(saving)).replace('+', '');
  if (isSaving(saving)) return `${policy} would have cut the input cost by ${percent} ${at}`;
  if (saving <= 0) return `No policy would have changed the input cost ${at}`;
  return `No policy would have saved anything ${at}: the cheapest, ${policy}, costs ${percent} more`;
}

function costOf(result: ReplayResult, price: string): string {
  if (price === TOKENS) return 'No log names a model with known prices: no saving can be computed';
  const cost = result.total[NOTHING_MASKED]?.cost[price];
  return `Sending everything cost ${formatTokens(cost)} tokens at the base price, ${atPrices(price)}`;
}

/** The change of cost that a policy would have made to one run. */
export function savingOf(run: RunResult, policy: string, price: string): number | undefined {
  const cost = run.results[policy]?.cost[price];
  const baseline = run.results[NOTHING_MASKED]?.cost[price];
  return cost === undefined || !baseline ? undefined : cost / baseline - 1;
}

/** The requests of each policy in one run, if the page has them. */
export function schedulesOf({ result, details }: ReplayPage, { run, price }: Choice): ReadonlyMap<string, Schedule> {
  const schedules = details.find((detail) => detail.run === run)?.schedules ?? {};
  return new Map(
    result.policies.flatMap((policy) => {
      const schedule = schedules[`${policy} @ ${price}`] ?? schedules[policy];
      return schedule ? [[policy, schedule] as const] : [];
    }),
  );
}

/** The number of masked results. The counts of a policy that follows the prices are those at the first price list. */
export function maskCount({ result, details }: ReplayPage, { run, policy, price }: Choice): number | undefined {
  const followsPrices = details.some(({ schedules }) => `${policy} @ ${price}` in schedules);
  return followsPrices && price !== result.prices[0] ? undefined : result.runs[run]?.results[policy]?.masks;
}

/** The note on counts next to costs at another price list than the first. */
export function countsNote({ prices }: ReplayResult, price: string): string {
  const [first = price] = prices;
  return price === first ? '' : ` Counts of policies that follow the prices are those ${atPrices(first)}.`;
}

/** For each run the end of its path, and the number of the run if the file has several. */
export function runNames(runs: readonly RunResult[]): readonly string[] {
  const inFile = new Map<string, number>();
  for (const { file } of runs) inFile.set(file, (inFile.get(file) ?? 0) + 1);
  return runs.map(({ file, run }) => (inFile.get(file) === 1 ? formatPath(file) : `${formatPath(file)} #${run + 1}`));
}

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number => items.reduce((all, item) => all + of(item), 0);
