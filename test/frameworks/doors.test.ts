import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

/** The line of each adapter, as its page has it, with nothing around it that would help the compiler. */
const LINES = {
  'ai-sdk': `
    import { generateText, type LanguageModel, wrapLanguageModel } from 'ai';
    export const ask = (model: LanguageModel, prompt: string) =>
      generateText({ model, prompt, prepareStep: palimpsest({ store }) });
    export const wrap = (model: Exclude<LanguageModel, string | { specificationVersion: 'v2' | 'v3' }>) =>
      wrapLanguageModel({ model, middleware: palimpsest.middleware({ store }) });`,
  langchain: `
    import { createDeepAgent } from 'deepagents';
    import { createAgent } from 'langchain';
    export const agent = createAgent({ model: 'openai:gpt-5', middleware: [palimpsest({ store })] });
    export const deep = createDeepAgent({ middleware: [palimpsest({ store })] });`,
  'openai-agents': `
    import { Agent, run } from '@openai/agents';
    const agent = new Agent({ name: 'Coder' });
    export const ask = (input: string) => run(agent, input, { callModelInputFilter: palimpsest({ store }) });`,
  anthropic: `
    import Anthropic from '@anthropic-ai/sdk';
    export const client = new Anthropic({ middleware: [palimpsest({ store })] });`,
  openai: `
    import OpenAI from 'openai';
    export const client = new OpenAI({ fetch: palimpsest.fetch({ store }) });`,
  google: `
    import { LlmAgent } from '@google/adk';
    import { GoogleGenAI } from '@google/genai';
    export const ai = new GoogleGenAI({ httpOptions: { fetch: palimpsest.fetch({ store }) } });
    export const agent = new LlmAgent({ name: 'coder', beforeModelCallback: palimpsest.callback({ store }) });`,
  mastra: `
    import { Agent } from '@mastra/core/agent';
    export const agent = new Agent({
      id: 'coder', name: 'Coder', instructions: '', model: 'openai/gpt-5',
      inputProcessors: [palimpsest({ store })],
    });`,
  pi: `
    import { Agent, type StreamFn } from '@earendil-works/pi-agent-core';
    export const agentOf = (streamFn: StreamFn) => new Agent({ streamFn, transformContext: palimpsest({ store }) });`,
  strands: `
    import { Agent, InvokeModelStage } from '@strands-agents/sdk';
    export const agent = new Agent({
      contextManager: { strategies: [palimpsest.strategy({ store, stage: InvokeModelStage })], stash: false },
    });`,
};

const COMMON = [
  '@google/genai',
  '@google/adk',
  '@mastra/core',
  '@earendil-works/pi-agent-core',
  '@earendil-works/pi-ai',
];
const OTHERS = ['@openai/agents', '@strands-agents/sdk', 'deepagents', 'langchain', '@langchain/core'];
const SAME = Object.fromEntries([...COMMON, ...OTHERS].map((name) => [name, name]));

let consumer: Consumer;

beforeAll(() => {
  ensureBuilt();
  const renamed = { ai: 'ai7', openai: 'openai7', '@anthropic-ai/sdk': 'anthropic-sdk' };
  consumer = createConsumer({ ...SAME, ...renamed });
  for (const [door, lines] of Object.entries(LINES)) {
    const start = `import { palimpsest } from 'palimpsest/${door}';\nimport { createMemoryStore } from 'palimpsest/store';\n`;
    writeFileSync(join(consumer.folder, `${door}.ts`), `${start}const store = createMemoryStore();\n${lines}\n`);
  }
});
afterAll(() => consumer.remove());

describe('the line of every adapter', () => {
  const files = Object.keys(LINES).map((door) => `${door}.ts`);
  it.each(['nodenext', 'bundler'] as const)('compiles strictly with %s', (module) => {
    expect(consumer.compile(files, module)).toBe('');
  });
});

describe('importing an adapter', () => {
  it.each(Object.keys(LINES))('%s loads no framework but one that accepts only its own classes', (door) => {
    const loaded = packagesOf(join(ROOT, `dist/adapters/${door}/index.js`));
    expect([...loaded].sort()).toEqual(door === 'langchain' ? ['@langchain/core'] : []);
  });
});

/** The packages that a module of dist/ and all that it imports need. */
function packagesOf(entry: string): Set<string> {
  const [seen, packages] = [new Set<string>(), new Set<string>()];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    // Not the imports of examples, which are in comments.
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/^(?! *\*)(?:import|.*\} from) '([^']+)';$/gm)) {
      if (from.startsWith('.')) visit(join(dirname(file), from));
      else if (!from.startsWith('node:')) packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from);
    }
  };
  visit(entry);
  return packages;
}
