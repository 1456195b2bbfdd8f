// An agent of the package `openai` reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script behind `fetch`, so no key is needed: leave the option `fetch` out to ask OpenAI.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/openai';
import { createMemoryStore } from 'palimpsest/store';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');

const requests: string[] = [];
const scripted: typeof fetch = async (_url, init) => {
  const sent = String(init?.body);
  requests.push(sent);
  const step = requests.length - 1;
  const message = (name: string, input: object) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${step}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
  });
  const [handle] = /p_[a-z2-7]{26}/.exec(sent) ?? [];
  const reply =
    step < FILES
      ? message('read', { path: `file-${step}.ts` })
      : step === FILES
        ? message('recall', { handle, lines: [1, 2] })
        : { role: 'assistant', content: 'Done.' };
  return Response.json({ id: 'c', object: 'chat.completion', choices: [{ index: 0, message: reply }] });
};

const store = createMemoryStore();
let saved = 0;
const client = new OpenAI({
  apiKey: 'none',
  fetch: palimpsest.fetch({
    store,
    policy: slidingWindow({ turns: 5 }),
    onReport: ({ tokens }) => {
      saved += tokens.before - tokens.after;
    },
    fetch: scripted,
  }),
});

const runner = client.chat.completions.runTools(
  {
    model: 'gpt-5',
    messages: [{ role: 'user', content: 'Read all files.' }],
    tools: [
      {
        type: 'function',
        function: {
          name: 'read',
          description: 'Reads a file.',
          parameters: { type: 'object', properties: { path: { type: 'string' } } },
          parse: (args: string): { path: string } => JSON.parse(args),
          function: ({ path }: { path: string }) => fileText(path),
        },
      },
      ...palimpsest.tools({ store }),
    ],
  },
  { maxChatCompletions: 100 },
);
await runner.done();

const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(runner.messages).includes('line 49 of file-0.ts'), 'the history has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
