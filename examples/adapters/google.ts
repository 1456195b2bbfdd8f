// A client of @google/genai calls functions by itself and reads twenty files; old results are masked in what the model gets,
// and recalled by their handle. The model is a script, so no key is needed: leave out the option fetch.
import assert from 'node:assert/strict';
import { type CallableTool, type Content, GoogleGenAI } from '@google/genai';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/google';
import { createMemoryStore } from 'palimpsest/store';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const requests: string[] = [];
const scripted: typeof fetch = async (_url, init) => {
  const body = String(init?.body);
  requests.push(body);
  const { contents } = JSON.parse(body) as { contents: Content[] };
  const step = contents.filter(({ role }) => role === 'model').length;
  const [handle] = /p_[a-z2-7]{26}/.exec(body) ?? [];
  const read = { functionCall: { name: 'read', args: { path: `file-${step}.ts` } } };
  const recall = { functionCall: { name: 'recall', args: { handle, lines: [1, 2] } } };
  const part = step < FILES ? read : step === FILES ? recall : { text: 'Done.' };
  return Response.json({ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP' }] });
};

const store = createMemoryStore();
const read: CallableTool = {
  tool: async () => ({
    functionDeclarations: [
      {
        name: 'read',
        description: 'Reads a file.',
        parametersJsonSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      },
    ],
  }),
  callTool: async (calls) =>
    calls
      .filter(({ name }) => name === 'read')
      .map(({ args }) => ({ functionResponse: { name: 'read', response: { output: fileText(String(args?.path)) } } })),
};

let saved = 0;
const fitted = palimpsest.fetch({
  store,
  policy: slidingWindow({ turns: 5 }),
  onReport: ({ tokens }) => {
    saved += tokens.before - tokens.after;
  },
  fetch: scripted,
});
const ai = new GoogleGenAI({ apiKey: 'none', httpOptions: { fetch: fitted } });
const chat = ai.chats.create({
  model: 'gemini-3-pro',
  config: {
    tools: [read, ...palimpsest.tools({ store })],
    automaticFunctionCalling: { maximumRemoteCalls: 100 },
  },
});
await chat.sendMessage({ message: 'Read all files.' });

const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(chat.getHistory()).includes('line 49 of file-0.ts'), 'the chat has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
