import { missRate } from '../lab/compare.ts';
import { adviceOf } from '../lab/replay.ts';
import type { ReplayResult } from '../lab/replay-result.ts';

/** The totals as a table, what was skipped, and one sentence to act on. */
export function showReplay(result: ReplayResult): string {
  const { runs, prices, policies, skipped } = result;
  const notes = notesOn(skipped);
  if (runs.length === 0) return `${[...notes, 'No run was read.'].join('\n')}\n`;
  const turns = runs.reduce((sum, run) => sum + run.turns, 0);
  const read = `${count(runs.length)} ${runs.length === 1 ? 'run' : 'runs'}, ${count(turns)} turns. Input cost against sending everything:`;
  const head = ['policy', ...prices, 'tokens sent', 'masked', 'epochs', 'misses / 100 calls'];
  const rows = policies.map((name) => rowOf(result, name));
  const counted =
    prices.length > 1 ? [`Where a policy decides by the prices, its counts are those at ${prices[0]}.`, ''] : [];
  const advice = prices.map((list) => adviceOf(result, list));
  return `${[read, '', table([head, ...rows]), '', ...counted, ...notes, ...advice].join('\n')}\n`;
}

/** The first few, and how many more. */
function notesOn(skipped: ReplayResult['skipped']): string[] {
  if (skipped.length === 0) return [];
  const more = skipped.length > 5 ? [`  … and ${count(skipped.length - 5)} more; --json lists all`] : [];
  return [`${count(skipped.length)} skipped:`, ...skipped.slice(0, 5).map(noteOf), ...more, ''];
}

/** Names of files may hold anything. */
const noteOf = ({ file, reason }: { readonly file: string; readonly reason: string }): string =>
  `  ${file}: ${reason}`.replace(CONTROL, '?');

// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not reach the terminal
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

function rowOf({ runs, total, prices }: ReplayResult, name: string): string[] {
  const results = runs.flatMap((run) => run.results[name] ?? []);
  const sum = (pick: (result: (typeof results)[number]) => number): number =>
    results.reduce((all, result) => all + pick(result), 0);
  return [
    name,
    ...prices.map((list) => percent(total[name]?.saving[list] ?? 0)),
    count(Math.round(total[name]?.tokensSent ?? 0)),
    count(sum(({ masks }) => masks)),
    count(sum(({ epochs }) => epochs)),
    (missRate(runs, name) ?? 0).toFixed(1),
  ];
}

const count = (value: number): string => value.toLocaleString('en-US');

export const percent = (share: number): string => {
  const text = (100 * Math.abs(share)).toFixed(1);
  return text === '0.0' ? '0.0 %' : `${share < 0 ? '−' : '+'}${text} %`;
};

/** Columns as wide as their widest cell; the first is text, the others are numbers. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const pad = (cell: string, i: number): string =>
    i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0);
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

/** `[#####.....] 41 of 80 files`, on one line of a terminal. */
export function progressBar(done: number, total: number, width = 24): string {
  const filled = total === 0 ? width : Math.round((width * done) / total);
  return `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}] ${done} of ${total} files`;
}
