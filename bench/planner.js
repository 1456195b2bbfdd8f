// What one more turn costs: node --expose-gc bench/planner.js '{"size":1000,"policy":"polling","adds":400}'
import {
  breakEven,
  clearToolUses,
  createPlanner,
  firstAndLast,
  oldestBatch,
  polling,
  protectTokens,
  slidingWindow,
} from '../dist/index.js';
import { createRun, toOpenAIChat } from './histories.js';
import { collectGarbage, median, sink } from './measure.js';

export const policies = {
  'sliding-window': () => slidingWindow({ turns: 10 }),
  polling: () => polling({ turns: 10, every: 5 }),
  'protect-tokens': () => protectTokens(),
  // Above its trigger at every size: below it, there is nothing to do.
  'clear-tool-uses': () => clearToolUses({ trigger: 1 }),
  'first-and-last': () => firstAndLast(),
  'oldest-batch': () => oldestBatch(),
  'break-even': () => breakEven(),
};

const WARM_UP_MESSAGES = 1000;
/** Policies act in bursts, every few dozen turns: a block holds several of them. */
const BLOCK = 100;

const { size, policy, adds } = JSON.parse(process.argv[2]);
for (let seed = 1; seed <= 3; seed++) timeAdds({ start: WARM_UP_MESSAGES, count: 400, seed });
console.log(JSON.stringify(timeAdds({ start: size, count: adds, seed: 9 })));

/** Milliseconds per add: the median, and the mean of the quietest block, in which the bursts count. */
function timeAdds({ start, count, seed }) {
  const planner = createPlanner({ format: 'openai-chat', policy: policies[policy]() });
  const turns = toTurns(toOpenAIChat(createRun({ messages: start + 2.1 * count + 10, seed })));
  let taken = 0;
  let turn = 0;
  for (; taken < start; turn++) {
    planner.add(...turns[turn]);
    taken += turns[turn].length;
  }
  // Only turns of one reply and one result: a user message in between makes a turn longer.
  const rest = turns.slice(turn).filter((messages) => messages.length === 2);
  collectGarbage();
  const times = rest.slice(0, count).map((messages) => timeOf(() => planner.add(...messages)));
  return { median: median(times), mean: quietestBlock(times) };
}

function timeOf(run) {
  const start = performance.now();
  sink.last = run();
  return performance.now() - start;
}

function quietestBlock(times) {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i + BLOCK <= times.length; i += BLOCK) {
    best = Math.min(best, times.slice(i, i + BLOCK).reduce((sum, time) => sum + time, 0) / BLOCK);
  }
  return best;
}

/** Cuts a history before each reply. */
function toTurns(messages) {
  const turns = [[]];
  for (const message of messages) {
    if (message.role === 'assistant') turns.push([]);
    turns.at(-1).push(message);
  }
  return turns;
}
