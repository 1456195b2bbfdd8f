// Writes the tables of docs/which-policy.md from the runs in a folder (default: ../shared/corpus).
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
  table,
  worst,
  writeTables,
} from './lab-tables.js';

const LISTS = ['anthropic-5m', 'anthropic-1h', 'gpt-5', 'gpt-4.1', 'gpt-4o', 'deepseek', 'none'];
const FIRST = LISTS[0];
const WINDOWS = [3, 5, 10, 20, 58];
const WITH_WINDOW = {
  'sliding-window': (turns) => `sliding-window:turns=${turns}`,
  polling: (turns) => `polling:turns=${turns}`,
  'break-even': (turns) => `break-even:window=${turns}`,
};
const KINDS = Object.keys(WITH_WINDOW);
const DEFAULT_WINDOW = 10;
/** Masking alone: results go out as they came. */
const NO_ARRIVAL = `${WITH_WINDOW['break-even'](DEFAULT_WINDOW)},clean=false,references=false`;
/** The policies at the default window. */
const AT_DEFAULT = [
  WITH_WINDOW['break-even'](DEFAULT_WINDOW),
  NO_ARRIVAL,
  WITH_WINDOW.polling(DEFAULT_WINDOW),
  WITH_WINDOW['sliding-window'](DEFAULT_WINDOW),
];

const isChat = ({ format }) => format === 'tau-bench';
const isAgent = (run) => !isChat(run);
const GROUPS = {
  chat: isChat,
  'under 15 turns': (run) => isAgent(run) && run.turns < 15,
  '15 to 50 turns': (run) => isAgent(run) && run.turns >= 15 && run.turns <= 50,
  'over 50 turns': (run) => isAgent(run) && run.turns > 50,
};

/** Runs that are long enough to fill a window, by the tokens of results that a turn brings. */
const resultTokens = ({ tokens, observationShare, turns }) => (tokens * observationShare) / turns;
const isFull = (run) => isAgent(run) && run.turns >= 15;
const SIZES = {
  'under 300 tokens': (run) => isFull(run) && resultTokens(run) < 300,
  '300 to 600 tokens': (run) => isFull(run) && resultTokens(run) >= 300 && resultTokens(run) < 600,
  'over 600 tokens': (run) => isFull(run) && resultTokens(run) >= 600,
};

await writeTables('docs/which-policy.md', 'scripts/which-policy.js', async () => {
  const windows = KINDS.flatMap((kind) => WINDOWS.map(WITH_WINDOW[kind]));
  const runs = await replayRuns(['none', ...windows, NO_ARRIVAL, 'hybrid', 'clear-tool-uses'], LISTS);
  const of = Object.fromEntries(Object.entries(GROUPS).map(([name, isIn]) => [name, runs.filter(isIn)]));
  return {
    runs: described(of),
    answer: answer(of),
    losses: losses(of),
    windows: windowsBy(of),
    sizes: byWindow(
      'results of a turn',
      Object.entries(SIZES).map(([name, isIn]) => [name, runs.filter(isIn)]),
    ),
    agents: byWindow('agent', byFormat(runs.filter(isAgent))),
    growth: growth(of['over 50 turns']),
    chat: figures(of.chat),
    short: figures(of['under 15 turns']),
    middle: figures(of['15 to 50 turns']),
    long: figures(of['over 50 turns']),
  };
});

function described(of) {
  const rows = Object.entries(of).map(([name, runs]) => {
    const tokens = runs.reduce((all, run) => all + run.tokens, 0);
    const results = runs.reduce((all, run) => all + run.tokens * run.observationShare, 0);
    return [
      name,
      count(runs.length),
      count(median(runs.map((run) => run.turns))),
      count(Math.max(...runs.map((run) => run.turns))),
      count(median(runs.map((run) => run.tokens))),
      `${((100 * results) / tokens).toFixed(0)} %`,
    ];
  });
  return table(
    ['group', 'runs', 'turns, median', 'turns, most', 'tokens of a run, median', 'share of tool results'],
    rows,
  );
}

/** With a cache and without one, at the default window. */
function answer(of) {
  const rows = Object.entries(of).flatMap(([name, runs]) =>
    AT_DEFAULT.map((policy) => [
      name,
      code(policy),
      ...LISTS.map((list) => costOf(runs, policy, list)),
      missesPer100(runs, policy),
    ]),
  );
  return table(['group', 'policy', ...LISTS, 'misses'], rows);
}

/** How many runs cost more than without masking, and by how much the worst of them. */
function losses(of) {
  const cell = (runs, policy, list) => {
    const lost = runs.filter((run) => change(run, policy, list) > 0.0005).length;
    return lost === 0 ? '0' : `${lost}; ${percent(worst(runs, policy, list))}`;
  };
  const rows = Object.entries(of).flatMap(([name, runs]) =>
    AT_DEFAULT.map((policy) => [
      `${name} (${runs.length})`,
      code(policy),
      ...LISTS.map((list) => cell(runs, policy, list)),
    ]),
  );
  return table(['group (runs)', 'policy', ...LISTS], rows);
}

function windowsBy(of) {
  const rows = ['break-even', 'sliding-window'].flatMap((kind) =>
    WINDOWS.map(WITH_WINDOW[kind]).map((policy) => [
      code(policy),
      ...Object.values(of).map((runs) => costAndMisses(runs, policy)),
    ]),
  );
  return table(['policy', ...Object.keys(of)], rows);
}

/** What break-even costs and hides at each window. */
function byWindow(head, groups) {
  const rows = groups.map(([name, runs]) => [
    name,
    count(runs.length),
    ...WINDOWS.map((turns) => costAndMisses(runs, WITH_WINDOW['break-even'](turns))),
  ]);
  return table([head, 'runs', ...WINDOWS.map((turns) => `window ${turns}`)], rows);
}

function byFormat(runs) {
  const formats = [...new Set(runs.map((run) => run.format))];
  return formats
    .map((format) => [format, runs.filter((run) => run.format === format)])
    .sort(([, a], [, b]) => b.length - a.length);
}

/** How large requests become. */
function growth(runs) {
  const policies = ['none', ...KINDS.map((kind) => WITH_WINDOW[kind](DEFAULT_WINDOW)), 'clear-tool-uses', 'hybrid'];
  const rows = policies.map((policy) => {
    const peaks = runs.map((run) => run.results[policy].peakTokens);
    return [
      code(policy),
      count(median(peaks)),
      count(Math.max(...peaks)),
      costOf(runs, policy, FIRST),
      costOf(runs, policy, 'none'),
      missesPer100(runs, policy),
    ];
  });
  return table(['policy', 'largest request, median', 'largest request of all', FIRST, 'none', 'misses'], rows);
}

/** Every policy and window at every price list. */
function figures(runs) {
  const policies = KINDS.flatMap((kind) => WINDOWS.map(WITH_WINDOW[kind]));
  const rows = policies.map((policy) => [
    code(policy),
    ...LISTS.map((list) => costOf(runs, policy, list)),
    contextSent(runs, policy),
    missesPer100(runs, policy),
  ]);
  return table(['policy', ...LISTS, 'context sent', 'misses'], rows);
}

function costOf(runs, policy, list) {
  return percent(against(runs, policy, 'none', list) - 1);
}

function costAndMisses(runs, policy) {
  return `${costOf(runs, policy, FIRST)}; ${missesPer100(runs, policy)}`;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
