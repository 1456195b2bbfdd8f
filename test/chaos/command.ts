import { parseArgs } from 'node:util';
import { type RoundReport, runRound } from './round.ts';
import { KINDS, type Kind, type StoreKind } from './world.ts';

const HELP = `npm run chaos -- [options]: runs a gateway while everything goes wrong, then checks that nothing is lost.

  --minutes <n>   how long, all rounds together (default: 4)
  --seed <n>      makes the same choices again (default: by the clock)
  --only <kinds>  some of ${KINDS.join(',')} (default: all)
  --store <kinds> embedded,postgres: a round for each (default: both)
  --clients <n>   honest clients at the same time (default: 4)
  --workers <n>   worker processes of the gateway (default: 2)
  --json          prints the summary as JSON
  --quiet         no progress

Exit codes: 0 everything held, 1 something did not, 2 called wrongly.
`;

/** The command line of the chaos run. Answers the exit code. */
export async function run(args: readonly string[]): Promise<number> {
  let options: ReturnType<typeof readOptions>;
  try {
    options = readOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { stores, seed, kinds, seconds, clients, workers, isJson, isQuiet } = options;
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(130);
    process.stderr.write('stopping; the checks are still made (Ctrl-C again ends at once)\n');
    stopping.abort();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  const began = performance.now();
  const onProgress = (line: string): void => {
    if (!isQuiet) process.stderr.write(`[${Math.round((performance.now() - began) / 1000)} s] ${line}\n`);
  };
  onProgress(`seed ${seed}, ${kinds.join(', ')}`);
  const reports: RoundReport[] = [];
  for (const store of stores) {
    if (stopping.signal.aborted) break;
    const common = { kinds, seed, clients, workers, onProgress, largestBytes: 8_000_000, mostPauseMs: 3000 };
    reports.push(await runRound({ ...common, store, seconds: seconds / stores.length, signal: stopping.signal }));
  }
  const isFine = reports.every(({ violations }) => violations.length === 0);
  process.stdout.write(isJson ? `${JSON.stringify({ seed, isFine, reports }, null, 2)}\n` : show(seed, reports));
  return isFine ? 0 : 1;
}

function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ minutes: text, seed: text, only: text, store: text, clients: text, workers: text },
      ...{ json: flag, quiet: flag, help: { ...flag, short: 'h' } },
    },
  });
  return {
    seconds: 60 * number('--minutes', values.minutes ?? '4', 0.5),
    seed: number('--seed', values.seed ?? String(Date.now() % 1e9), 0),
    clients: number('--clients', values.clients ?? '4', 1),
    workers: number('--workers', values.workers ?? '2', 2),
    kinds: some<Kind>('--only', values.only, KINDS),
    stores: some<StoreKind>('--store', values.store, ['embedded', 'postgres']),
    isJson: values.json === true,
    isQuiet: values.quiet === true,
    help: values.help === true,
  };
}

function number(flag: string, value: string, least: number): number {
  if (value.trim() !== '' && Number(value) >= least) return Number(value);
  throw new Error(`expected ${flag} to be a number of ${least} or more but found '${value}'`);
}

function some<T extends string>(flag: string, value: string | undefined, all: readonly T[]): readonly T[] {
  if (value === undefined) return all;
  const chosen = value.split(',');
  const unknown = chosen.find((one) => !all.some((known) => known === one));
  if (unknown !== undefined) throw new Error(`expected ${flag} to be some of ${all.join(',')} but found '${unknown}'`);
  return all.filter((one) => chosen.includes(one));
}

function show(seed: number, reports: readonly RoundReport[]): string {
  return reports.map((report) => showRound(seed, report)).join('\n');
}

function showRound(seed: number, report: RoundReport): string {
  const { violations, memory, files } = report;
  const lines = [
    `${report.store}: ${report.conversations} conversations, ${report.requests} requests, ${report.retried} sent again, the slowest ${report.slowestMs} ms`,
    `  ${report.placeholders} placeholders recalled, ${report.restarts} restarts of the gateway`,
    ...(memory ? [`  memory ${memory.map((bytes) => `${Math.round(bytes / 1e6)} MB`).join(' -> ')}`] : []),
    ...(files ? [`  file descriptors ${files.join(' -> ')}`] : []),
    ...Object.entries(report.disturbances).map(([name, count]) => `  ${String(count).padStart(4)} × ${name}`),
    ...report.skipped.map((reason) => `  skipped ${reason}`),
    violations.length === 0 ? '  everything held' : `  ${violations.length} did not hold (--seed ${seed}):`,
    ...violations.map((text) => `  - ${text}`),
  ];
  return `${lines.join('\n')}\n`;
}
