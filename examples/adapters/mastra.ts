// An agent of Mastra reads twenty files; old results are masked in what its model gets, and recalled by their handle.
// The model is a script, so no key is needed: put any model of a provider in its place.
import assert from 'node:assert/strict';
import { Agent, type AgentConfig } from '@mastra/core/agent';
import { MockMemory } from '@mastra/core/memory';
import { createTool } from '@mastra/core/tools';
import { MockLanguageModelV4 } from 'ai/test';
import { slidingWindow } from 'palimpsest';
import { palimpsest } from 'palimpsest/mastra';
import { createMemoryStore } from 'palimpsest/store';
import { z } from 'zod';

const FILES = 20;
const fileText = (path: string): string => Array.from({ length: 50 }, (_, i) => `line ${i} of ${path}`).join('\n');
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const model = new MockLanguageModelV4({
  async doGenerate({ prompt }) {
    const step = prompt.filter(({ role }) => role === 'assistant').length;
    const call = (toolName: string, input: object) => ({
      content: [{ type: 'tool-call' as const, toolCallId: `call-${step}`, toolName, input: JSON.stringify(input) }],
      finishReason: { unified: 'tool-calls' as const, raw: undefined },
      usage,
      warnings: [],
    });
    if (step < FILES) return call('read', { path: `file-${step}.ts` });
    const [handle] = /p_[a-z2-7]{26}/.exec(JSON.stringify(prompt)) ?? [];
    if (step === FILES) return call('recall', { handle, lines: [1, 2] });
    const content = [{ type: 'text' as const, text: 'Done.' }];
    return { content, finishReason: { unified: 'stop', raw: undefined }, usage, warnings: [] };
  },
});

const store = createMemoryStore();
const memory = new MockMemory({ options: { lastMessages: 1000 } });
const read = createTool({
  id: 'read',
  description: 'Reads a file.',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => fileText(path),
});

let saved = 0;
const agent = new Agent({
  id: 'reader',
  name: 'Reader',
  instructions: 'You read files.',
  // The types of Mastra 1.71 know an older model of AI SDK 7. A model by name needs no cast.
  model: model as unknown as AgentConfig['model'],
  memory,
  tools: { read, ...palimpsest.tools({ store }) },
  inputProcessors: [
    palimpsest({
      store,
      policy: slidingWindow({ turns: 5 }),
      onReport: ({ tokens }) => {
        saved += tokens.before - tokens.after;
      },
    }),
  ],
});
await agent.generate('Read all files.', { maxSteps: 100, memory: { thread: 'chat-1', resource: 'user-1' } });

const requests = model.doGenerateCalls.map(({ prompt }) => JSON.stringify(prompt));
const last = requests.at(-1) ?? '';
const { messages } = await memory.recall({ threadId: 'chat-1', resourceId: 'user-1' });
assert.equal(requests.length, FILES + 2);
assert.ok(last.includes('recall p_'), 'old results are masked in the request');
assert.ok(last.includes('line 0 of file-0.ts\\nline 1 of file-0.ts'), 'the model recalled a masked result');
assert.ok(JSON.stringify(messages).includes('line 49 of file-0.ts'), 'the memory has the originals');
assert.ok(saved > 10_000);

console.log(`${requests.length} requests, ${saved} tokens fewer than without masking.`);
console.log(`The last request has ${last.match(/recall p_/g)?.length} masked results.`);
