// An agent of ADK reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script, so no key is needed: put the name of a model in its place.
import assert from 'node:assert/strict';
import {
  BaseLlm,
  type BaseLlmConnection,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  Runner,
} from '@google/adk';
import { Type } from '@google/genai';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/google';
import { createMemoryStore } from 'palimpsest/store';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const requests: string[] = [];
class ScriptedModel extends BaseLlm {
  async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const body = JSON.stringify(contents);
    requests.push(body);
    const step = contents.filter(({ role }) => role === 'model').length;
    const [handle] = /p_[a-z2-7]{26}/.exec(body) ?? [];
    const read = { functionCall: { name: 'read', args: { path: `file-${step}.ts` } } };
    const recall = { functionCall: { name: 'recall', args: { handle, lines: [1, 2] } } };
    const part = step < FILES ? read : step === FILES ? recall : { text: 'Done.' };
    yield { content: { role: 'model', parts: [part] } };
  }

  connect(): Promise<BaseLlmConnection> {
    throw new Error('This model has no live connection.');
  }
}

const store = createMemoryStore();
const read = new FunctionTool({
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: Type.OBJECT, properties: { path: { type: Type.STRING } }, required: ['path'] },
  execute: (input) => fileText((input as { path: string }).path),
});

let saved = 0;
const agent = new LlmAgent({
  name: 'reader',
  model: new ScriptedModel({ model: 'gemini-3-pro' }),
  tools: [read, new FunctionTool(palimpsest.recall({ store }))],
  beforeModelCallback: palimpsest.callback({
    store,
    policy: slidingWindow({ turns: 5 }),
    onReport: ({ tokens }) => {
      saved += tokens.before - tokens.after;
    },
  }),
});

const sessionService = new InMemorySessionService();
const { id } = await sessionService.createSession({ appName: 'example', userId: 'user' });
const runner = new Runner({ appName: 'example', agent, sessionService });
const newMessage = { role: 'user', parts: [{ text: 'Read all files.' }] };
for await (const { errorMessage } of runner.runAsync({ userId: 'user', sessionId: id, newMessage }))
  assert.equal(errorMessage, undefined);

const session = await sessionService.getSession({ appName: 'example', userId: 'user', sessionId: id });
const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(session?.events).includes('line 49 of file-0.ts'), 'the session has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
