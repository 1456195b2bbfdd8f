// Writes the tables of docs/what-masking-costs.md from the runs in a folder (default: ../shared/corpus).
// --check only compares. Needs a build.
import {
  against,
  code,
  contextSent,
  count,
  missesPer100,
  percent,
  play,
  sum,
  table,
  worst,
  writeTables,
} from './lab-tables.js';

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

await writeTables(FILE, 'scripts/costs.js', async () => {
  const all = await playLong([...POLICIES, ...STUDY.filter((name) => !POLICIES.includes(name))]);
  const living = await playLong(['none', 'break-even', 'optimum'], { cacheLife: 'listed' });
  return {
    savings: changes(all, POLICIES),
    worst: worstRuns(all, ['sliding-window', 'polling', 'clear-tool-uses', PLAIN, 'break-even']),
    hidden: hidden(all, POLICIES),
    study: study(all, STUDY),
    optima: optima(all),
    cold: changes(living, ['break-even', 'optimum']),
  };
});

async function playLong(policies, more) {
  const runs = await play(policies, LISTS, more);
  return runs.filter(({ turns }) => turns >= LEAST_TURNS);
}

function changes(runs, policies) {
  const rows = policies.map((name) => [
    code(name),
    ...LISTS.map((list) => percent(against(runs, name, 'none', list) - 1)),
  ]);
  return table(['policy', ...LISTS], rows);
}

function worstRuns(runs, policies) {
  const rows = policies.map((name) => [nameOf(name), ...LISTS.map((list) => percent(worst(runs, name, list)))]);
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
  const rows = policies.map((name) => [
    code(name),
    contextSent(runs, name),
    count(sum(runs, name, ({ masks }) => masks)),
    count(sum(runs, name, ({ epochs }) => epochs)),
    missesPer100(runs, name, 'edit'),
    missesPer100(runs, name, 'identifier'),
    missesPer100(runs, name),
  ]);
  return table(
    ['policy', 'context sent', 'masked', 'epochs', 'edit misses', 'identifier misses', 'any, per 100 calls'],
    rows,
  );
}

function study(runs, policies) {
  const cell = (name, list) =>
    [
      percent(against(runs, name, 'none', list) - 1),
      against(runs, name, 'optimum', list).toFixed(3),
      percent(worst(runs, name, list)),
    ].join('; ');
  const lists = LISTS.filter((list) => list !== 'none');
  const rows = policies.map((name) => [
    nameOf(name),
    ...lists.map((list) => cell(name, list)),
    contextSent(runs, name),
    missesPer100(runs, name),
  ]);
  return table(['rule', ...lists, 'context', 'misses'], rows);
}

function nameOf(name) {
  return name === PLAIN ? `the plain rule, ${code(name)}` : code(name);
}
