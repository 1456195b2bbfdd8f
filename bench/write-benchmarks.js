import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { summaryOf } from './tables/table.js';

/**
 * The page of benchmarks with the section of one part replaced, between `<!-- bench: name -->` and `<!-- end -->`.
 * @param {{ command: string, date: string, machine: string, versions: Record<string, string>, tables: import('./tables/table.js').Table[] }} run
 */
export function writeBenchmarks(page, name, run) {
  const [begin, end] = [`<!-- bench: ${name} -->\n`, '<!-- end -->'];
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`Expected a section for ${name} in docs/benchmarks.md but found none`);
  return `${page.slice(0, from)}${begin}\n${sectionOf(name, run)}\n\n${page.slice(to)}`;
}

function sectionOf(name, { command, date, machine, versions, tables }) {
  const used = Object.entries(versions).map(([peer, version]) => `${peer} ${version}`);
  return [
    `## ${name}`,
    `\`${command}\`, ${date}. ${machine}. ${used.join(', ')}.`,
    `${summaryOf(tables).trim()}${missedIn(tables)}`,
    ...tables.flatMap(({ title, note, columns, rows }) => [
      `### ${title}`,
      ...(note ? [`${note.charAt(0).toUpperCase()}${note.slice(1)}.`] : []),
      [line(columns), line(columns.map(() => '---')), ...rows.map((row) => line([...row.cells, verdictOf(row)]))].join(
        '\n',
      ),
    ]),
  ].join('\n\n');
}

/** A loss is told like a win, and before the tables. */
function missedIn(tables) {
  const missed = tables.flatMap(({ title, rows }) =>
    rows.filter(({ met }) => met === false).map(({ cells }) => `\n- missed: ${title}: ${cells[0]}`),
  );
  return missed.length === 0 ? '' : `\n${missed.join('')}`;
}

const verdictOf = ({ met }) => (met === undefined ? '' : met ? 'met' : '**missed**');

const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;

/** The versions of the peers that are installed beside the benchmarks. */
export function versionsIn(folder) {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const fileOf = (name) => join(folder, 'node_modules', name, 'package.json');
  const found = Object.keys(dependencies).filter((name) => existsSync(fileOf(name)));
  return Object.fromEntries(found.map((name) => [name, JSON.parse(readFileSync(fileOf(name), 'utf8')).version]));
}
