import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

const PROGRAM = `
import { Agent, type AgentConfig, type ToolsInput } from '@mastra/core/agent';
import type { Processor } from '@mastra/core/processors';
import { createTool } from '@mastra/core/tools';
import { breakEven, type Report } from 'palimpsest';
import { type MastraOptions, palimpsest } from 'palimpsest/mastra';
import { createMemoryStore } from 'palimpsest/store';
import { z } from 'zod';

const store = createMemoryStore();
const reports: Report[] = [];
const options: MastraOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  session: ({ requestContext }) => requestContext?.get('chat') as string,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const read = createTool({
  id: 'read',
  description: 'Reads a file.',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => path,
});
const tools: ToolsInput = palimpsest.tools({ store });
const processor = palimpsest(options) satisfies Processor;

export const byName = new Agent({
  id: 'one',
  name: 'One',
  instructions: 'Go.',
  model: 'anthropic/claude-opus-5-5',
  tools,
  inputProcessors: [processor],
});

export async function ask(prompt: string, model: AgentConfig['model']): Promise<string> {
  const agent = new Agent({
    id: 'two',
    name: 'Two',
    instructions: 'Go.',
    model,
    tools: { read, ...palimpsest.tools({ store }) },
    inputProcessors: () => [palimpsest({ store })],
  });
  const { text } = await agent.generate(prompt, { inputProcessors: [palimpsest({ store })] });
  return text;
}
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/mastra';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.tools({ store: {} });
`;

beforeAll(ensureBuilt);

describe('with Mastra', () => {
  let consumer: Consumer;
  let snippets: string[];
  beforeAll(() => {
    consumer = createConsumer({ '@mastra/core': '@mastra/core', ai: 'ai7', zod: 'zod' });
    writeFileSync(join(consumer.folder, 'program.ts'), PROGRAM);
    writeFileSync(join(consumer.folder, 'mistakes.ts'), MISTAKES);
    copyFileSync(join(ROOT, 'examples/adapters/mastra.ts'), join(consumer.folder, 'example.ts'));
    snippets = consumer.writeSnippets('docs/adapters/mastra.md');
  });
  afterAll(() => consumer.remove());

  it.each(['nodenext', 'bundler'] as const)('a strict program compiles with %s', (module) => {
    expect(consumer.compile(['program.ts'], module)).toBe('');
  });

  it('a program with mistakes does not compile', () => {
    expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(3);
  });

  it('the snippet of the page compiles', () => {
    expect(snippets).toHaveLength(1);
    expect(consumer.compile(snippets, 'nodenext')).toBe('');
  });

  it('the example compiles, runs without a key, and prints something', () => {
    expect(consumer.compile(['example.ts'], 'nodenext')).toBe('');
    const { status, stdout, stderr } = consumer.run('example.js');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('tokens fewer');
  });
});
