// An agent of the OpenAI Agents SDK reads twenty files in two runs of one session; old results are masked in what its model
// gets, and recalled by their handle. The model is a script, so no key is needed: leave `model` out for one of OpenAI.
import assert from 'node:assert/strict';
import { Agent, MemorySession, run, setTracingDisabled, tool } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/openai-agents';
import { createMemoryStore } from 'palimpsest/store';

setTracingDisabled(true);
const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const steps = Array.from({ length: FILES }, (_, step) => [
  functionCall('read', { path: `file-${step}.ts` }, { callId: `call-${step}` }),
]);
const recallFirst = modelResponder(({ request }) => {
  const [handle] = /p_[a-z2-7]{26}/.exec(JSON.stringify(request.input)) ?? [];
  return [functionCall('recall', { handle, lines: [1, 2] }, { callId: 'call-recall' })];
});
const done = [assistantMessage('Done.')];
const model = new ScriptedModel([...steps.slice(0, 10), done, ...steps.slice(10), recallFirst, done]);

const store = createMemoryStore();
const read = tool({
  name: 'read',
  description: 'Reads a file.',
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  },
  execute: async (input) => fileText((input as { path: string }).path),
});
const agent = new Agent({ name: 'Reader', model, tools: [read, ...palimpsest.tools({ store })] });

let saved = 0;
const context = palimpsest({
  store,
  policy: slidingWindow({ turns: 5 }),
  onReport: ({ tokens }) => {
    saved += tokens.before - tokens.after;
  },
});
const session = new MemorySession();
const options = { ...context.withSession(session), maxTurns: 100 };
await run(agent, 'Read ten files.', options);
await run(agent, 'Read the others.', options);

const requests = model.calls.map(({ request }) => JSON.stringify(request.input));
const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 3);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
const history = JSON.stringify(await session.getItems());
assert.ok(history.includes('line 49 of file-0.ts') && !history.includes('masked'), 'the session has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
