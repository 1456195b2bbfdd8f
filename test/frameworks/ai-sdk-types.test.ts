import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

const PROGRAM = `
import { generateText, streamText, stepCountIs, tool, ToolLoopAgent, wrapLanguageModel, type LanguageModel } from 'ai';
import { breakEven, type Report } from 'palimpsest';
import { type AiSdkOptions, palimpsest } from 'palimpsest/ai-sdk';
import { createMemoryStore } from 'palimpsest/store';
import { z } from 'zod';

const store = createMemoryStore();
const reports: Report[] = [];
const options: AiSdkOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  session: ({ context, headers }) => headers?.['x-chat'] ?? (context as { chat: string }).chat,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const read = tool({
  description: 'Reads a file.',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => path,
});
const tools = { read, ...palimpsest.tools({ store }) };
const stopWhen = stepCountIs(20);

export async function ask(model: Exclude<LanguageModel, string>, prompt: string): Promise<string> {
  const { text, toolCalls } = await generateText({ model, prompt, tools, stopWhen, prepareStep: palimpsest(options) });
  for (const call of toolCalls) if (!call.dynamic && call.toolName === 'recall') console.log(call.input.handle.length);
  const agent = new ToolLoopAgent({ model, tools, prepareStep: palimpsest({ store }) });
  const context = palimpsest({ store });
  streamText({ model, prompt, tools, prepareStep: (step) => ({ ...context(step), toolChoice: 'auto' as const }) });
  return text + (await agent.generate({ prompt })).text;
}

export const wrap = (model: Parameters<typeof wrapLanguageModel>[0]['model']) =>
  wrapLanguageModel({ model, middleware: palimpsest.middleware(options) });
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/ai-sdk';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.tools({ store: {} });
`;

beforeAll(ensureBuilt);

describe.each([6, 7])('with AI SDK %i', (version) => {
  let consumer: Consumer;
  beforeAll(() => {
    consumer = createConsumer({ ai: `ai${version}`, zod: 'zod' });
    writeFileSync(join(consumer.folder, 'program.ts'), PROGRAM);
    writeFileSync(join(consumer.folder, 'mistakes.ts'), MISTAKES);
  });
  afterAll(() => consumer.remove());

  it.each(['nodenext', 'bundler'] as const)('a strict program compiles with %s', (module) => {
    expect(consumer.compile(['program.ts'], module)).toBe('');
  });

  it('the snippets of the page compile', () => {
    expect(consumer.compile(consumer.writeSnippets('docs/adapters/ai-sdk.md'), 'nodenext')).toBe('');
  });

  it('a program with mistakes does not compile', () => {
    expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(3);
  });
});

describe('examples/adapters/ai-sdk.ts', () => {
  let consumer: Consumer;
  beforeAll(() => {
    consumer = createConsumer({ ai: 'ai7' });
    copyFileSync(join(ROOT, 'examples/adapters/ai-sdk.ts'), join(consumer.folder, 'example.ts'));
  });
  afterAll(() => consumer.remove());

  it('compiles, runs without a key, and prints something', () => {
    expect(consumer.compile(['example.ts'], 'nodenext')).toBe('');
    const { status, stdout, stderr } = consumer.run('example.js');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('tokens fewer');
  });
});
