// Shaping results on arrival, in a process of its own: node --expose-gc bench/arrival.js '{"size":1000,"rounds":5}', or with
// "corpus":"../shared/corpus" in place of the size.
import { chat } from '../dist/formats/index.js';
import { countTokens, fit } from '../dist/index.js';
import { readRuns } from '../dist/lab/index.js';
import { cleanResult } from '../dist/plan/arrival/clean.js';
import { VisibleLines } from '../dist/plan/arrival/references.js';
import { shownBy } from '../dist/plan/arrival/shown-by.js';
import { subjectOf } from '../dist/plan/placeholder.js';
import { createRun, toOpenAIChat } from './histories.js';
import { raceCold, warmUp } from './measure.js';

const WARM_UP_MESSAGES = 400;
const WARM_UP_RUNS = 4;
let nextSeed = 1000;

const { size, corpus, rounds } = JSON.parse(process.argv[2]);
const runs = corpus === undefined ? undefined : await readAll(corpus);
const makeFresh = () => (runs ? runs.map(fresh) : [generated(size)]);
const makeWarm = () => (runs ? runs.slice(0, WARM_UP_RUNS).map(fresh) : [generated(WARM_UP_MESSAGES)]);
const contenders = {
  count: (histories) => histories.map(countAll),
  fit: (histories) => histories.map(({ messages, format }) => fit(messages, { format })),
  clean: (histories) => histories.map(({ results }) => results.map(clean)),
  references: (histories) => histories.map(({ steps }) => shapeAll(steps)),
  both: (histories) => histories.map(({ steps }) => shapeAll(steps, clean)),
};
warmUp(contenders, { milliseconds: 3000, make: makeWarm });
const times = raceCold(contenders, { rounds, makeWarm, makeFresh });
console.log(JSON.stringify({ ...times, chars: charsOf(makeFresh()) }));

function clean({ text, shows }) {
  return shows === undefined ? text : cleanResult(text, shows);
}

/** Results in the order of the conversation, and the arguments of calls before them, as the model sees them. */
function shapeAll(steps, prepare = ({ text }) => text) {
  const visible = new VisibleLines();
  let saved = 0;
  for (const [id, step] of steps.entries()) {
    const text = step.about.kind === 'result' ? prepare(step) : step.text;
    const shaped = step.about.kind === 'result' ? visible.shape(text) : undefined;
    visible.add(id, shaped?.text ?? text, step.about);
    saved += step.text.length - (shaped?.text ?? text).length;
  }
  return saved;
}

function countAll({ texts }) {
  let tokens = 0;
  for (const text of texts) tokens += countTokens(text);
  return tokens;
}

async function readAll(folder) {
  const found = [];
  for await (const { messages } of readRuns([folder])) found.push(JSON.stringify(messages));
  return found;
}

/** The messages of a run as new strings. */
function fresh(json) {
  const messages = JSON.parse(json);
  return historyOf(messages, 'chat', messages);
}

function generated(messages) {
  const steps = createRun({ messages, seed: nextSeed++ });
  const written = toOpenAIChat(steps);
  const asChat = written.map(({ role, content, tool_calls, tool_call_id }) => ({
    role,
    content,
    ...(tool_calls && { toolCalls: tool_calls.map(({ id, function: call }) => ({ id, ...call })) }),
    ...(tool_call_id && { toolCallId: tool_call_id }),
  }));
  return historyOf(written, 'openai-chat', asChat);
}

/** A history with the texts that each contender needs, found outside the time that is measured. */
function historyOf(messages, format, asChat) {
  const calls = new Map();
  const steps = [];
  const texts = [];
  for (const { kind, callId, tool, text } of chat.view(asChat)) {
    texts.push(text);
    if (kind === 'action') calls.set(callId, text);
    if (kind === 'action') for (const step of argumentsOf(tool, text)) steps.push(step);
    if (kind !== 'observation') continue;
    const args = calls.get(callId) ?? '';
    steps.push({ text, shows: shownBy(tool, args), about: { kind: 'result', tool, subject: subjectOf(args) } });
  }
  const results = steps.filter(({ about }) => about.kind === 'result');
  return { messages, format, texts, steps, results };
}

function argumentsOf(tool, args) {
  const subject = subjectOf(args);
  return leavesOf(read(args)).map(([argument, text]) => ({ text, about: { kind: 'call', tool, subject, argument } }));
}

function read(args) {
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

function leavesOf(value, name = '') {
  if (typeof value === 'string') return [[name, value]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, key));
}

function charsOf(histories) {
  return histories.reduce((sum, { results }) => results.reduce((chars, { text }) => chars + text.length, sum), 0);
}
