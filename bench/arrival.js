// A first call of fit with and without arrival, in a process of its own: node --expose-gc bench/arrival.js
// '{"size":1000,"rounds":9}', or with "corpus":"../shared/corpus" in place of the size.
import { breakEven, fit } from '../dist/index.js';
import { readRuns } from '../dist/lab/index.js';
import { createRun, toOpenAIChat } from './histories.js';
import { median, processorTime, raceCold, warmUp } from './measure.js';

const WARM_UP_MESSAGES = 400;
const WARM_UP_RUNS = 4;
let nextSeed = 1000;

const { size, corpus, rounds } = JSON.parse(process.argv[2]);
const runs = corpus === undefined ? undefined : await readAll(corpus);
// New strings for each call: fit knows messages and texts that it has seen.
const makeFresh = () => (runs ? runs.map((json) => JSON.parse(json)) : [generated(size)]);
const makeWarm = () =>
  runs ? runs.slice(0, WARM_UP_RUNS).map((json) => JSON.parse(json)) : [generated(WARM_UP_MESSAGES)];
const format = runs ? 'chat' : 'openai-chat';
const contenders = {
  off: fitAll({ clean: false, references: false }),
  clean: fitAll({ clean: true, references: false }),
  references: fitAll({ clean: false, references: true }),
  both: fitAll({}),
};
warmUp(contenders, { milliseconds: 3000, make: makeWarm, clock: processorTime });
const summarise = (times) => ({ median: median(times), least: Math.min(...times) });
const times = raceCold(contenders, { rounds, makeWarm, makeFresh, summarise, clock: processorTime });
console.log(JSON.stringify({ ...times, chars: charsOf(makeFresh()) }));

function fitAll(shapers) {
  return (histories) => histories.map((messages) => fit(messages, { format, policy: breakEven(shapers) }));
}

async function readAll(folder) {
  const found = [];
  for await (const { messages } of readRuns([folder])) found.push(JSON.stringify(messages));
  return found;
}

function generated(messages) {
  return toOpenAIChat(createRun({ messages, seed: nextSeed++ }));
}

function charsOf(histories) {
  const isResult = ({ role, content }) => role === 'tool' && typeof content === 'string';
  return histories.flat().reduce((sum, message) => sum + (isResult(message) ? message.content.length : 0), 0);
}
