// Writes the tables of docs/what-masking-costs.md from the runs in a folder (default: ../shared/corpus).
// --check only compares. Needs a build.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { findLogs, priceLists, readContender, replay, replayFile } from '../dist/lab/index.js';

const FILE = 'docs/what-masking-costs.md';
const LEAST_TURNS = 30;
const LISTS = ['anthropic-5m', 'anthropic-1h', 'gpt-5', 'gpt-4.1', 'gpt-4o', 'deepseek', 'none'];

const POLICIES = [
  'none',
  'sliding-window',
  'polling',
  'polling:every=10',
  'first-and-last',
  'oldest-batch',
  'protect-tokens',
  'gemini-cli',
  'clear-tool-uses',
  'hybrid',
  'break-even',
  'optimum',
  'optimum:window-by-kind=true',
];
/** The plain rule, and what was tried to better it. */
const PLAIN = 'break-even:threshold=1,max-loss=1000,window-by-kind=false';
const STUDY = [
  PLAIN,
  'break-even:threshold=0.7,max-loss=1000,window-by-kind=false',
  'break-even:threshold=0.5,max-loss=1000,window-by-kind=false',
  'break-even:window-by-kind=false',
  'break-even:threshold=1,max-loss=1000',
  'break-even',
  'break-even:window=12',
  'break-even:window=13',
  'break-even:max-result-tokens=8000',
  'break-even:max-result-tokens=4000',
  'break-even:max-result-tokens=2000',
];

const folder = process.argv.slice(2).find((word) => !word.startsWith('--')) ?? '../shared/corpus';
const text = readFileSync(FILE, 'utf8');
const tables = await makeTables();
const page = format(
  text.replace(
    /(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin, name, end) => `${begin}\n${tables[name]}\n\n${end}`,
  ),
);
if (!process.argv.includes('--check')) writeFileSync(FILE, page);
else if (page !== text) {
  console.error(`${FILE} is not what the lab says. Run: node scripts/costs.js`);
  process.exitCode = 1;
}

/** As the formatter writes it, so that both agree. */
function format(input) {
  const args = ['biome', 'format', `--stdin-file-path=${FILE}`];
  return execFileSync('npx', args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });
}

async function makeTables() {
  const files = await findLogs([folder]);
  if (files.length === 0) throw new Error(`no logs in ${relative('.', folder)}`);
  const all = await play([...POLICIES, ...STUDY.filter((name) => !POLICIES.includes(name))]);
  const living = await play(['none', 'break-even', 'optimum'], { cacheLife: 'listed' });
  return {
    savings: changes(all, POLICIES),
    worst: worst(all, ['sliding-window', 'polling', 'clear-tool-uses', PLAIN, 'break-even']),
    hidden: hidden(all, POLICIES),
    study: study(all, STUDY),
    optima: optima(all),
    cold: changes(living, ['break-even', 'optimum']),
  };
}

async function play(policies, more = {}) {
  const setting = {
    counter: (text) => text.length / 4,
    contenders: policies.map(readContender),
    prices: LISTS.map((name) => priceLists[name]),
    systemTokens: 0,
    contextLimit: undefined,
    cacheLife: 'endless',
    keepSchedules: false,
    ...more,
  };
  const { result } = await replay([folder], { policies, prices: LISTS, play: (file) => replayFile(file, setting) });
  return result.runs.filter(({ turns }) => turns >= LEAST_TURNS);
}

function total(runs, name, list) {
  return runs.reduce((sum, run) => sum + run.results[name].cost[list], 0);
}
function against(runs, name, other, list) {
  return total(runs, name, list) / total(runs, other, list);
}

function changes(runs, policies) {
  const rows = policies.map((name) => [
    code(name),
    ...LISTS.map((list) => percent(against(runs, name, 'none', list) - 1)),
  ]);
  return table(['policy', ...LISTS], rows);
}

function worst(runs, policies) {
  const worstOf = (name, list) =>
    Math.max(...runs.map((run) => run.results[name].cost[list] / run.results.none.cost[list] - 1));
  const rows = policies.map((name) => [nameOf(name), ...LISTS.map((list) => percent(worstOf(name, list)))]);
  return table(['worst run', ...LISTS], rows);
}

/** Beside the best schedule of the plain window, and beside the best that may use the kinds too. */
function optima(runs) {
  const lists = LISTS.filter((list) => list !== 'none');
  const rows = ['optimum', 'optimum:window-by-kind=true'].map((best) => [
    code(best),
    ...lists.map((list) => against(runs, 'break-even', best, list).toFixed(3)),
  ]);
  return table(['`break-even` beside', ...lists], rows);
}

function hidden(runs, policies) {
  const sum = (name, pick) => runs.reduce((all, run) => all + pick(run.results[name]), 0);
  const sent = sum('none', (result) => result.tokensSent);
  const rows = policies.map((name) => {
    const per100 = (kind) =>
      ((100 * sum(name, ({ misses }) => misses[kind])) / sum(name, ({ misses }) => misses.calls)).toFixed(1);
    const share = `${((100 * sum(name, (result) => result.tokensSent)) / sent).toFixed(0)} %`;
    return [
      code(name),
      share,
      count(sum(name, ({ masks }) => masks)),
      count(sum(name, ({ epochs }) => epochs)),
      per100('edit'),
      per100('identifier'),
      per100('any'),
    ];
  });
  return table(
    ['policy', 'context sent', 'masked', 'epochs', 'edit misses', 'identifier misses', 'any, per 100 calls'],
    rows,
  );
}

function study(runs, policies) {
  const cell = (name, list) => {
    const worstRun = Math.max(...runs.map((run) => run.results[name].cost[list] / run.results.none.cost[list] - 1));
    return `${percent(against(runs, name, 'none', list) - 1)}; ${against(runs, name, 'optimum', list).toFixed(3)}; ${percent(worstRun)}`;
  };
  const lists = LISTS.filter((list) => list !== 'none');
  const sum = (name, kind) => runs.reduce((all, { results }) => all + results[name].misses[kind], 0);
  const sent = (name) => runs.reduce((all, { results }) => all + results[name].tokensSent, 0);
  const rows = policies.map((name) => [
    nameOf(name),
    ...lists.map((list) => cell(name, list)),
    `${((100 * sent(name)) / sent('none')).toFixed(0)} %`,
    ((100 * sum(name, 'any')) / sum(name, 'calls')).toFixed(1),
  ]);
  return table(['rule', ...lists, 'context', 'misses'], rows);
}

function code(name) {
  return `\`${name}\``;
}
function nameOf(name) {
  return name === PLAIN ? `the plain rule, ${code(name)}` : code(name);
}
function count(value) {
  return value.toLocaleString('en-US');
}
function percent(share) {
  return `${share < -0.0005 ? '−' : share > 0.0005 ? '+' : ''}${(100 * Math.abs(share)).toFixed(1)} %`;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
