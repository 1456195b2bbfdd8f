// Compares policies on one recorded run: how many tokens all its requests would have sent together,
// and how often the beginning of a request differed from the one before, which is when a prompt cache is lost.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  createPlanner,
  firstAndLast,
  never,
  oldestBatch,
  openaiChat,
  type Policy,
  polling,
  protectTokens,
  slidingWindow,
} from 'palimpsest';

interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string;
}

const history: readonly Message[] = JSON.parse(readFileSync(new URL('sample-history.json', import.meta.url), 'utf8'));

/** Plays the run again: before each reply of the agent, a request went out. */
function replay(policy: Policy) {
  const planner = createPlanner<Message>({ format: openaiChat, policy });
  let [tokensSent, tokensRewritten] = [0, 0];
  for (const message of history) {
    if (message.role === 'assistant') {
      const { tokens, cache } = planner.report();
      tokensSent += tokens.after;
      tokensRewritten += cache.rewritten;
    }
    planner.add(message);
  }
  return { tokensSent, tokensRewritten, changes: planner.report().epoch };
}

const policies: Readonly<Record<string, Policy>> = {
  never: never(),
  'sliding window of 3 turns': slidingWindow({ turns: 3 }),
  'the same, every 4 turns': polling({ turns: 3, every: 4 }),
  'all but 1 first and 3 last': firstAndLast({ keepFirst: 1, keepLast: 3 }),
  'oldest 3 at a time': oldestBatch({ count: 3, window: 3 }),
  'newest 1000 tokens': protectTokens({ protect: 1000, atLeast: 1000 }),
};
const results = Object.entries(policies).map(([name, policy]) => ({ name, ...replay(policy) }));

console.log(
  `${'policy'.padEnd(28)}${'tokens sent'.padStart(12)}${'prefix changed'.padStart(16)}${'rewritten'.padStart(11)}`,
);
for (const { name, tokensSent, changes, tokensRewritten } of results) {
  const numbers = [String(tokensSent).padStart(12), `${changes} ×`.padStart(16), String(tokensRewritten).padStart(11)];
  console.log(name.padEnd(28) + numbers.join(''));
}

const [none, sliding, everyFour] = results;
assert.ok(none && sliding && everyFour);
assert.equal(none.changes, 0);
assert.ok(sliding.tokensSent < everyFour.tokensSent && everyFour.tokensSent < none.tokensSent);
assert.ok(everyFour.changes < sliding.changes, 'a window that moves in steps keeps the cache longer');
