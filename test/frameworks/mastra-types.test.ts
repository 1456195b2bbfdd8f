import { describeTypes } from './types-suite.ts';

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

describeTypes('Mastra', {
  packages: { '@mastra/core': '@mastra/core', ai: 'ai7', zod: 'zod' },
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 3,
  page: 'mastra',
  snippets: 1,
  examples: ['mastra'],
});
