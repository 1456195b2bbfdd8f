import { aboutLogs, dollarSentence, nextSentence } from '../../lab/about-logs.ts';
import { aboutPolicies } from '../../lab/about-policies.ts';
import { aboutWords } from '../../lab/about-words.ts';
import { missRate, TOKENS } from '../../lab/compare.ts';
import { adviceOf } from '../../lab/replay.ts';
import type { PolicyResult, ReplayResult } from '../../lab/replay-result.ts';
import { formatDollars } from '../../money/index.ts';

/** The totals as a table, facts about the logs, skipped files, and the next step. */
export function showReplay(result: ReplayResult): string {
  const { runs, prices, policies, skipped, dollars } = result;
  const notes = notesOn(skipped);
  if (runs.length === 0) return `${[...notes, 'There is no run to replay.'].join('\n')}\n`;
  const turns = runs.reduce((sum, run) => sum + run.turns, 0);
  const unit = prices[0] === TOKENS ? 'Tokens' : 'Input cost';
  const read = `${count(runs.length)} ${runs.length === 1 ? 'run' : 'runs'}, ${count(turns)} turns. ${unit} against sending everything:`;
  const columns = COLUMNS.filter(({ cell }) => policies.some((name) => cell(result, name) !== undefined));
  const head = ['policy', ...prices, ...columns.map(({ title }) => title)];
  const rows = policies.map((name) => [
    name,
    ...prices.map((list) => percent(result.total[name]?.saving[list] ?? 0)),
    ...columns.map(({ cell }) => cell(result, name) ?? ''),
  ]);
  const isMore = columns.some(({ isPriced }) => isPriced);
  const more = isMore ? ' Recalls and dollars are at the same prices.' : '';
  const counted =
    prices.length > 1 ? [`Where a policy decides by the prices, its counts are those at ${prices[0]}.${more}`, ''] : [];
  const about = [...aboutPolicies(result), ...aboutLogs(result)];
  return `${[
    read,
    '',
    table([head, ...rows]),
    '',
    ...counted,
    ...aboutWords(result).map(({ word, meaning }) => `${word.padEnd(WORD)}  ${meaning}`),
    '',
    ...(about.length > 0 ? [...about, ''] : []),
    ...notes,
    ...prices.map((list) => adviceOf(result, list)),
    ...(dollars ? [dollarSentence(dollars)] : []),
    ...[nextSentence(result)].filter((sentence) => sentence !== ''),
  ].join('\n')}\n`;
}

const WORD = 12;

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

interface Column {
  readonly title: string;
  /** Whether it has the prices of the first list. */
  readonly isPriced?: boolean;
  /** Undefined if it is not known. */
  cell(result: ReplayResult, policy: string): string | undefined;
}

const first = ({ prices }: ReplayResult): string => prices[0] ?? '';

/** The columns after the changes of cost. A column without any cell is left out. */
const COLUMNS: readonly Column[] = [
  {
    title: 'with recalls',
    isPriced: true,
    cell: (result, name) => {
      const change = result.total[name]?.savingWithRecalls?.[first(result)];
      return change === undefined ? undefined : percent(change);
    },
  },
  {
    title: 'dollars',
    isPriced: true,
    cell: (result, name) => {
      const dollars = result.total[name]?.dollars?.[first(result)];
      return dollars === undefined ? undefined : formatDollars(dollars);
    },
  },
  { title: 'tokens sent', cell: ({ total }, name) => count(Math.round(total[name]?.tokensSent ?? 0)) },
  { title: 'masked', cell: (result, name) => count(sumOf(result, name, ({ masks }) => masks)) },
  { title: 'epochs', cell: (result, name) => count(sumOf(result, name, ({ epochs }) => epochs)) },
  { title: 'misses / 100 calls', cell: ({ runs }, name) => (missRate(runs, name) ?? 0).toFixed(1) },
];

function sumOf({ runs }: ReplayResult, name: string, pick: (result: PolicyResult) => number): number {
  return runs.reduce((all, { results }) => all + (results[name] ? pick(results[name]) : 0), 0);
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

const BAR_CHARS = 24;

/** `[#####.....] 41 of 80 files`, on one line of a terminal. */
export function progressBar(done: number, total: number): string {
  const filled = total === 0 ? BAR_CHARS : Math.round((BAR_CHARS * done) / total);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_CHARS - filled)}] ${done} of ${total} files`;
}
