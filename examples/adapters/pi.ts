// An agent of pi reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script, so no key is needed: put any model of a provider in its place.
import assert from 'node:assert/strict';
import { Agent, type AgentTool } from '@earendil-works/pi-agent-core';
import { createModels, fauxAssistantMessage, fauxProvider, fauxToolCall } from '@earendil-works/pi-ai';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/pi';
import { createMemoryStore } from 'palimpsest/store';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const requests: string[] = [];
const faux = fauxProvider();
faux.setResponses(
  Array.from({ length: FILES + 2 }, (_, step) => ({ messages }) => {
    const request = JSON.stringify(messages);
    requests.push(request);
    const call = (tool: string, input: Parameters<typeof fauxToolCall>[1]) =>
      fauxAssistantMessage(fauxToolCall(tool, input, { id: `call-${step}` }), { stopReason: 'toolUse' });
    if (step < FILES) return call('read', { path: `file-${step}.ts` });
    const [handle = ''] = /p_[a-z2-7]{26}/.exec(request) ?? [];
    return step === FILES ? call('recall', { handle, lines: [1, 2] }) : fauxAssistantMessage('Done.');
  }),
);
const models = createModels();
models.setProvider(faux.provider);

const store = createMemoryStore();
const read: AgentTool = {
  name: 'read',
  label: 'Read',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  execute: async (_id, input) => {
    const { path } = input as { path: string };
    return { content: [{ type: 'text', text: fileText(path) }], details: undefined };
  },
};

let saved = 0;
const agent = new Agent({
  initialState: { model: faux.getModel(), tools: [read, ...palimpsest.tools({ store })] },
  streamFn: models.streamSimple.bind(models),
  transformContext: palimpsest({
    store,
    policy: slidingWindow({ turns: 5 }),
    onReport: ({ tokens }) => {
      saved += tokens.before - tokens.after;
    },
  }),
});
await agent.prompt('Read all files.');

const last = requests.at(-1) ?? '';
assert.equal(agent.state.errorMessage, undefined);
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(agent.state.messages).includes('line 49 of file-0.ts'), 'the agent has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
