// One measurement of `fit`, in a process of its own: node --expose-gc bench/reduce.js '{"task":"second","size":1000,…}'
import { isDeepStrictEqual } from 'node:util';
import { countTokens, fit, polling, slidingWindow } from '../dist/index.js';
import { maskBare, maskByHand, maskCountAndHash } from './floor.js';
import { createRun, toLangChain, toModelMessages, toOpenAIChat } from './histories.js';
import { collectGarbage, raceCold, raceWarm, sink, warmUp } from './measure.js';

/** Both mask what is outside the last ten turns. Polling on every turn is the sliding window in the house's words. */
const policies = { house: polling({ turns: 10, every: 1 }), constant: slidingWindow({ turns: 10 }) };

/** For information: its cheapest call that keeps as much as a window of ten turns does. */
const SAME_WINDOW = { toolCalls: 'before-last-20-messages' };
/** pruneMessages as the first example of its documentation calls it: it also looks for reasoning to remove. */
const AS_DOCUMENTED = {
  reasoning: 'before-last-message',
  toolCalls: 'before-last-2-messages',
  emptyMessages: 'remove',
};

const WARM_UP_MESSAGES = 400;
let nextSeed = 1000;

const tasks = {
  first: timeFirstCall,
  second: timeSecondCall,
  later: timeLaterCalls,
  prune: timePruneMessages,
  clear: timeClearToolUses,
};
const request = JSON.parse(process.argv[2]);
console.log(JSON.stringify(await tasks[request.task](request)));

/** Exactly the second call: sizes and handles are known, and the list was seen once. */
function timeSecondCall({ size, placeholder, rounds }) {
  const options = { format: 'openai-chat', policy: policies[placeholder] };
  const contenders = {
    ours: (messages) => fit(messages, options),
    floor: (messages) => maskByHand(messages, placeholder),
  };
  return raceSecondCalls(contenders, { size, rounds, make: freshChat, first: contenders.ours });
}

/** Each sample gets a history on which `first` was called once, for all contenders alike. */
function raceSecondCalls(contenders, { size, rounds, make, first }) {
  const makeSeen = (messages) => {
    const history = make(messages);
    first(history);
    return history;
  };
  const makeWarm = () => makeSeen(WARM_UP_MESSAGES);
  warmUp(contenders, { milliseconds: 1000, make: makeWarm });
  return raceCold(contenders, { rounds, makeWarm, makeFresh: () => makeSeen(size) });
}

/** From the third call on: what an agent pays on each step for what it sent before. */
function timeLaterCalls({ size, placeholder, rounds }) {
  const options = { format: 'openai-chat', policy: policies[placeholder] };
  const history = freshChat(size);
  checkFloor(fit(history, options).messages, maskByHand(history, placeholder));
  const contenders = {
    ours: () => fit(history, options),
    floor: () => maskByHand(history, placeholder),
    bare: () => maskBare(history),
  };
  warmUp(contenders, { milliseconds: 1000 });
  return raceWarm(contenders, { rounds });
}

function checkFloor(ours, floor) {
  if (isDeepStrictEqual(ours, floor)) return;
  const index = ours.findIndex((message, i) => !isDeepStrictEqual(message, floor[i]));
  throw new Error(`Expected ${JSON.stringify(ours[index])} but the floor made ${JSON.stringify(floor[index])}`);
}

/** Texts never seen before, compiled code. */
function timeFirstCall({ size, placeholder, rounds }) {
  const options = { format: 'openai-chat', policy: policies[placeholder] };
  const contenders = {
    ours: (messages) => fit(messages, options),
    floor: (messages) => maskCountAndHash(messages, placeholder, countTokens),
  };
  const makeWarm = () => freshChat(WARM_UP_MESSAGES);
  warmUp(contenders, { milliseconds: 1000, make: makeWarm });
  return raceCold(contenders, { rounds, makeWarm, makeFresh: () => freshChat(size) });
}

/** The AI SDK removes old calls and results; ours runs on the same messages. */
async function timePruneMessages({ size, rounds }) {
  const { pruneMessages } = await import('ai');
  const options = { format: 'ai-sdk', policy: policies.house };
  const make = (messages) => toModelMessages(freshRun(messages));
  const ours = (messages) => fit(messages, options);
  const history = make(size);
  checkMasked(ours(history), size);
  const peers = {
    peer: (messages) => pruneMessages({ messages, ...AS_DOCUMENTED }),
    window: (messages) => pruneMessages({ messages, ...SAME_WINDOW }),
  };
  const second = raceSecondCalls({ ours, ...peers }, { size, rounds, make, first: ours });
  const contenders = { ours, ...peers };
  const again = Object.fromEntries(Object.entries(contenders).map(([name, run]) => [name, () => run(history)]));
  warmUp(again, { milliseconds: 1000 });
  const { ours: later, peer, window } = raceWarm(again, { rounds });
  return { second: second.ours, secondPeer: second.peer, secondWindow: second.window, later, peer, window };
}

/** LangChain's edit replaces results in the list it is given, so each call gets a copy of that list. */
async function timeClearToolUses({ size, rounds }) {
  const { ClearToolUsesEdit, countTokensApproximately } = await import('langchain');
  const classes = await import('@langchain/core/messages');
  const options = { format: 'langchain', policy: policies.house };
  const edit = new ClearToolUsesEdit({ trigger: { tokens: 1 }, keep: { messages: 10 } });
  const clear = (messages) => edit.apply({ messages: [...messages], countTokens: countTokensApproximately });
  const ours = (messages) => fit(messages, options);
  const make = (messages) => toLangChain(freshRun(messages), classes);
  const makeWarm = () => make(WARM_UP_MESSAGES);
  warmUp({ ours }, { milliseconds: 1000, make: makeWarm });
  for (let i = 0; i < 10; i++) await clear(make(100));

  const history = make(size);
  checkMasked(ours(history), size);
  const first = raceCold({ ours }, { rounds, makeWarm, makeFresh: () => make(size) }).ours;
  const { ours: second } = raceSecondCalls({ ours }, { size, rounds, make, first: ours });
  return { first, second, peer: await bestOf(size > 1000 ? 1 : rounds, () => clear(history)) };
}

function checkMasked({ report }, size) {
  if (report.maskedCount < size / 3 - 10) throw new Error(`Only ${report.maskedCount} of ${size} messages were masked`);
}

async function bestOf(rounds, run) {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    collectGarbage();
    const start = performance.now();
    sink.last = await run();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

function freshRun(messages) {
  return createRun({ messages, seed: nextSeed++ });
}

function freshChat(messages) {
  return toOpenAIChat(freshRun(messages));
}
