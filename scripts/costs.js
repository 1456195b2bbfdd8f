// Writes the tables of docs/what-masking-costs.md and docs/arrival.md from the runs in a folder (default: ../shared/corpus).
// --check only compares. Needs a build.
import {
  against,
  change,
  code,
  contextSent,
  count,
  missesPer100,
  percent,
  replayRuns,
  sum,
  table,
  worst,
  writeTables,
} from './lab-tables.js';

const FILES = ['docs/what-masking-costs.md', 'docs/arrival.md'];
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
  'break-even:clean=false,references=false',
  'break-even',
  'break-even:shell-output=true',
  'never:clean=true,references=true',
  'optimum',
  'optimum:window-by-kind=true',
  'optimum:clean=true,references=true',
  'optimum:window-by-kind=true,clean=true,references=true',
];
/** The rules of the study are about masking alone. */
const NO_ARRIVAL = 'clean=false,references=false';
const MASKING_ALONE = `break-even:${NO_ARRIVAL}`;
/** The plain rule, and what was tried to better it. */
const PLAIN = `break-even:threshold=1,max-loss=1000,window-by-kind=false,${NO_ARRIVAL}`;
const STUDY = [
  PLAIN,
  ...[
    'threshold=0.7,max-loss=1000,window-by-kind=false',
    'threshold=0.5,max-loss=1000,window-by-kind=false',
    'window-by-kind=false',
    'threshold=1,max-loss=1000',
  ].map((options) => `break-even:${options},${NO_ARRIVAL}`),
  MASKING_ALONE,
  ...['window=12', 'window=13', 'max-result-tokens=8000', 'max-result-tokens=4000', 'max-result-tokens=2000'].map(
    (options) => `break-even:${options},${NO_ARRIVAL}`,
  ),
];
/** The lists on which arrival was measured first. */
const ARRIVAL_LISTS = ['anthropic-5m', 'anthropic-1h', 'gpt-5', 'gpt-4.1', 'deepseek'];
const ARRIVAL = {
  'break-even without arrival': NO_ARRIVAL,
  'break-even': 'clean=true,references=true',
  'break-even with shell output': 'shell-output=true',
};
const atList = (options, list) => `break-even:${options},prices=${list}`;

let made;
const tables = () => (made ??= makeTables());
for (const file of FILES) await writeTables(file, 'scripts/costs.js', tables);

async function makeTables() {
  const all = await playLong([...POLICIES, ...STUDY.filter((name) => !POLICIES.includes(name))]);
  const living = await playLong(['none', MASKING_ALONE, 'break-even', 'optimum'], { cacheLife: 'listed' });
  const atLists = ARRIVAL_LISTS.flatMap((list) => Object.values(ARRIVAL).map((options) => atList(options, list)));
  const arrived = await playLong(['none', ...atLists]);
  return {
    savings: changes(all, POLICIES),
    worst: worstRuns(all, ['sliding-window', 'polling', 'clear-tool-uses', PLAIN, MASKING_ALONE, 'break-even']),
    hidden: hidden(all, POLICIES),
    study: study(all, STUDY),
    optima: optima(all),
    cold: changes(living, [MASKING_ALONE, 'break-even', 'optimum']),
    arrival: arrival(all, arrived),
    losses: losses(arrived),
  };
}

/** Cost against sending everything; and misses, which `replay` counts at one list only, where a policy has prices of its own. */
function arrival(all, arrived) {
  const cost = (runs, name, list) => against(runs, name, 'none', list).toFixed(3);
  const plain = (title, name) => [title, ...ARRIVAL_LISTS.map((list) => cost(all, name, list))];
  const rows = Object.entries(ARRIVAL).map(([title, options]) => [
    title,
    ...ARRIVAL_LISTS.map((list) => {
      const name = atList(options, list);
      return `${cost(arrived, name, list)} / ${missesPer100(arrived, name)}`;
    }),
  ]);
  return table(
    ['cost / misses per 100 calls', ...ARRIVAL_LISTS],
    [
      plain('optimum of masking', 'optimum'),
      ...rows,
      plain('optimum with arrival', 'optimum:clean=true,references=true'),
      [
        'arrival alone, no mask',
        ...ARRIVAL_LISTS.map((list) => `${cost(all, 'never:clean=true,references=true', list)} / 0.0`),
      ],
    ],
  );
}

/** How many runs cost more than sending everything, and by how much the worst of them. */
function losses(runs) {
  const cell = (name, list) => {
    const lost = runs.filter((run) => change(run, name, list) > 0.0005).length;
    return `${percent(worst(runs, name, list))}; ${lost}`;
  };
  const rows = Object.entries(ARRIVAL).map(([title, options]) => [
    title,
    ...ARRIVAL_LISTS.map((list) => cell(atList(options, list), list)),
  ]);
  return table(['worst run; runs that lose, of 45', ...ARRIVAL_LISTS], rows);
}

async function playLong(policies, more) {
  const runs = await replayRuns(policies, LISTS, more);
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
  const pairs = [
    [MASKING_ALONE, 'optimum'],
    [MASKING_ALONE, 'optimum:window-by-kind=true'],
    ['break-even', 'optimum:clean=true,references=true'],
    ['break-even', 'optimum:window-by-kind=true,clean=true,references=true'],
  ];
  const rows = pairs.map(([name, best]) => [
    code(name),
    code(best),
    ...lists.map((list) => against(runs, name, best, list).toFixed(3)),
  ]);
  return table(['policy', 'beside', ...lists], rows);
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
    nameOf(withoutArrival(name)),
    ...lists.map((list) => cell(name, list)),
    contextSent(runs, name),
    missesPer100(runs, name),
  ]);
  return table(['rule', ...lists, 'context', 'misses'], rows);
}

/** All rows of the study are without arrival: the page says so once. */
function withoutArrival(name) {
  return name.replace(new RegExp(`[:,]${NO_ARRIVAL}$`), '');
}

function nameOf(name) {
  return withoutArrival(name) === withoutArrival(PLAIN) ? `the plain rule, ${code(name)}` : code(name);
}
