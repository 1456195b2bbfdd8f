// Tables of the lab for pages of docs/: replays the runs in a folder and writes figures between markers of a page.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { findLogs, priceLists, readReplayPolicy, replay, replayFile } from '../dist/lab/index.js';

const folder = process.argv.slice(2).find((word) => !word.startsWith('--')) ?? '../shared/corpus';

/** Puts each table between its markers, `<!-- table: name -->` and `<!-- end -->`. With --check it only compares. */
export async function writeTables(file, script, makeTables) {
  if ((await findLogs([folder])).length === 0) throw new Error(`no logs in ${relative('.', folder)}`);
  const text = readFileSync(file, 'utf8');
  const tables = await makeTables();
  const filled = text.replace(/(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g, (_, begin, name, end) => {
    if (tables[name] === undefined)
      throw new Error(`${file} asks for the table ${name}, which ${script} does not make`);
    return `${begin}\n${tables[name]}\n\n${end}`;
  });
  const page = format(file, filled);
  if (!process.argv.includes('--check')) writeFileSync(file, page);
  else if (page !== text) {
    console.error(`${file} is not what the lab says. Run: node ${script}`);
    process.exitCode = 1;
  }
}

/** As the formatter writes it, so that both agree. */
function format(file, input) {
  const args = ['format', `--stdin-file-path=${file}`];
  return execFileSync('node_modules/.bin/biome', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });
}

/** The runs of the folder under each policy and price list. */
export async function replayRuns(policies, lists, more = {}) {
  const setting = {
    counter: (text) => text.length / 4,
    policies: policies.map(readReplayPolicy),
    prices: lists.map((name) => priceLists[name]),
    systemTokens: 0,
    contextLimit: undefined,
    cacheLife: 'endless',
    keepSchedules: false,
    ...more,
  };
  const { result } = await replay([folder], {
    policies,
    prices: lists,
    replayFile: (file) => replayFile(file, setting),
  });
  return result.runs;
}

export function sum(runs, name, pick) {
  return runs.reduce((all, run) => all + pick(run.results[name]), 0);
}

/** The cost of all runs under one policy, divided by their cost under another. */
export function against(runs, name, other, list) {
  const cost = (result) => result.cost[list];
  return sum(runs, name, cost) / sum(runs, other, cost);
}

/** The change of the cost of one run against sending everything. */
export function change(run, name, list) {
  return run.results[name].cost[list] / run.results.none.cost[list] - 1;
}

export function worst(runs, name, list) {
  return Math.max(...runs.map((run) => change(run, name, list)));
}

export function missesPer100(runs, name, kind = 'any') {
  return (
    (100 * sum(runs, name, ({ misses }) => misses[kind])) /
    sum(runs, name, ({ misses }) => misses.calls)
  ).toFixed(1);
}

export function contextSent(runs, name) {
  const sent = (result) => result.tokensSent;
  return `${((100 * sum(runs, name, sent)) / sum(runs, 'none', sent)).toFixed(0)} %`;
}

export function code(name) {
  return `\`${name}\``;
}

export function count(value) {
  return value.toLocaleString('en-US', { maximumFractionDigits: 0 });
}

export function percent(share) {
  return `${share < -0.0005 ? '−' : share > 0.0005 ? '+' : ''}${(100 * Math.abs(share)).toFixed(1)} %`;
}

export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
