/**
 * A table of ratios measured in one run. `met` is undefined where a row is for information only.
 * @typedef {{ cells: string[], met?: boolean, values: Record<string, unknown> }} Row
 * @typedef {{ title: string, note: string, columns: string[], rows: Row[] }} Table
 */

/** @param {Table} table */
export function printTable({ title, note, columns, rows }) {
  const lines = [columns, ...rows.map((row) => [...row.cells, verdictOf(row)])];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const print = (line) =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  return ['', title, ...(note ? [note] : []), print(columns), ...lines.slice(1).map(print)].join('\n');
}

const verdictOf = ({ met }) => (met === undefined ? '-' : met ? 'met' : 'MISSED');

/** @param {Table[]} tables */
export function summaryOf(tables) {
  const rows = tables.flatMap((table) => table.rows).filter((row) => row.met !== undefined);
  const missed = rows.filter((row) => !row.met).length;
  return `\n${rows.length - missed} of ${rows.length} targets met${missed > 0 ? `, ${missed} missed` : ''}.`;
}

export const count = (number) => number.toLocaleString('en-US');

export function time(milliseconds) {
  if (milliseconds >= 1000) return `${(milliseconds / 1000).toFixed(2)} s`;
  return milliseconds >= 1 ? `${milliseconds.toFixed(2)} ms` : `${(milliseconds * 1000).toFixed(2)} µs`;
}

export const ratio = (value) => (value >= 0.1 ? value.toFixed(2) : value.toPrecision(2));

export const percent = (share) => `${share >= 0 ? '+' : ''}${(share * 100).toFixed(1)} %`;

/** The least of each number over several processes: noise only ever adds. */
export function least(processes, run) {
  const results = Array.from({ length: processes }, run);
  const keys = Object.keys(results[0]);
  return Object.fromEntries(keys.map((key) => [key, Math.min(...results.map((result) => result[key]))]));
}
