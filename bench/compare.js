// Two builds in one process, in turn: node --expose-gc bench/compare.js ../older-checkout [messages]
// The other folder is a checkout of this repository in which `npm run build` was run.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRun, toOpenAIChat } from './histories.js';
import { raceCold, raceWarm, warmUp } from './measure.js';

const [folder, size = '1000'] = process.argv.slice(2);
if (!folder || !(Number(size) > 0)) {
  console.error('Expected: node --expose-gc bench/compare.js <folder of another checkout> [messages]');
  process.exit(2);
}

const WARM_UP_MESSAGES = 400;
const ROUNDS = 30;
const builds = { before: await load(resolve(folder)), after: await load(resolve(import.meta.dirname, '..')) };
let seed = 1000;

compareFits();
for (const policy of ['slidingWindow', 'polling', 'breakEven']) comparePlanners(policy);

function load(checkout) {
  return import(pathToFileURL(`${checkout}/dist/index.js`).href);
}

function compareFits() {
  const fits = forEachBuild(({ fit, slidingWindow }) => {
    const options = { format: 'openai-chat', policy: slidingWindow({ turns: 10 }) };
    return (messages) => fit(messages, options);
  });
  const seen = (messages) => {
    const history = fresh(messages);
    for (const fit of Object.values(fits)) fit(history);
    return history;
  };
  print('fit, first call', cold(fits, fresh));
  print('fit, second call', cold(fits, seen));
  const history = seen(Number(size));
  const later = Object.fromEntries(Object.entries(fits).map(([name, fit]) => [name, () => fit(history)]));
  warmUp(later, { milliseconds: 1000 });
  print('fit, later calls', raceWarm(later, { rounds: ROUNDS }));
}

function comparePlanners(policy) {
  const runs = forEachBuild((build) => (messages) => {
    const planner = build.createPlanner({ format: 'openai-chat', policy: build[policy]() });
    for (const message of messages) planner.add(message);
    return planner;
  });
  print(`planner.add of all, ${policy}`, cold(runs, fresh));
}

function cold(contenders, make) {
  const makeWarm = () => make(WARM_UP_MESSAGES);
  warmUp(contenders, { milliseconds: 1000, make: makeWarm });
  return raceCold(contenders, { rounds: ROUNDS, makeWarm, makeFresh: () => make(Number(size)) });
}

function fresh(messages) {
  return toOpenAIChat(createRun({ messages, seed: seed++ }));
}

function forEachBuild(make) {
  return Object.fromEntries(Object.entries(builds).map(([name, build]) => [name, make(build)]));
}

function print(task, { before, after }) {
  console.log(
    `${task.padEnd(36)} ${before.toFixed(3)} ms before, ${after.toFixed(3)} ms after: ${(after / before).toFixed(2)}`,
  );
}
