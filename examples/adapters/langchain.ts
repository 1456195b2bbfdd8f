// An agent of LangChain reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script, so no key is needed: put any chat model of LangChain in its place.
import assert from 'node:assert/strict';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { createAgent, tool } from 'langchain';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/langchain';
import { createMemoryStore } from 'palimpsest/store';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');
const requests: string[] = [];

class ScriptedModel extends BaseChatModel {
  readonly model = 'gpt-5';

  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]) {
    const request = JSON.stringify(messages);
    requests.push(request);
    const step = messages.filter((message) => AIMessage.isInstance(message)).length;
    const call = (name: string, args: Record<string, unknown>) =>
      new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id: `call-${step}`, name, args }] });
    const [handle] = /p_[a-z2-7]{26}/.exec(request) ?? [];
    const end = step === FILES ? call('recall', { handle, lines: [1, 2] }) : new AIMessage('Done.');
    const message = step < FILES ? call('read', { path: `file-${step}.ts` }) : end;
    return { generations: [{ text: message.text, message }] };
  }
}

const read = tool((input) => fileText((input as { path: string }).path), {
  name: 'read',
  description: 'Reads a file.',
  schema: { type: 'object', properties: { path: { type: 'string' } } },
});

let saved = 0;
const agent = createAgent({
  model: new ScriptedModel({}),
  tools: [read],
  middleware: [
    palimpsest({
      store: createMemoryStore(),
      policy: slidingWindow({ turns: 5 }),
      onReport: ({ tokens }) => {
        saved += tokens.before - tokens.after;
      },
    }),
  ],
});
const { messages } = await agent.invoke(
  { messages: [{ role: 'user', content: 'Read all files.' }] },
  { recursionLimit: 100 },
);

const last = requests.at(-1) ?? '';
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(messages).includes('line 49 of file-0.ts'), 'the state has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${new Set(last.match(/recall p_\w+/g)).size} masked results.`);
