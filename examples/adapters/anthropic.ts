// The tool runner of Anthropic's SDK reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script behind `fetch`, so no key is needed: leave `fetch` and `apiKey` out to ask Anthropic.
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/anthropic';
import { createMemoryStore } from 'palimpsest/store';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const requests: string[] = [];
const scripted: typeof fetch = async (_url, init) => {
  const sent = String(init?.body);
  requests.push(sent);
  const step = requests.length - 1;
  const call = (name: string, input: object) => ({ type: 'tool_use', id: `call_${step}`, name, input });
  const [handle] = /p_[a-z2-7]{26}/.exec(sent) ?? [];
  const block =
    step < FILES
      ? call('read', { path: `file-${step}.ts` })
      : step === FILES
        ? call('recall', { handle, lines: [1, 2] })
        : { type: 'text', text: 'Done.' };
  const stop_reason = block.type === 'text' ? 'end_turn' : 'tool_use';
  return Response.json({ type: 'message', id: `msg_${step}`, role: 'assistant', content: [block], stop_reason });
};

const store = createMemoryStore();
let saved = 0;
const client = new Anthropic({
  apiKey: 'none',
  fetch: scripted,
  middleware: [
    palimpsest({
      store,
      policy: slidingWindow({ turns: 5 }),
      onReport: ({ tokens }) => {
        saved += tokens.before - tokens.after;
      },
    }),
  ],
});

const read = betaTool({
  name: 'read',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  run: ({ path }) => fileText(path),
});
const runner = client.beta.messages.toolRunner({
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Read all files.' }],
  tools: [read, ...palimpsest.tools({ store })],
  // In a thread, the server has the history, and nothing can be masked.
  thread: false,
});
await runner.runUntilDone();

const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(runner.params.messages).includes('line 49 of file-0.ts'), 'the history has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
