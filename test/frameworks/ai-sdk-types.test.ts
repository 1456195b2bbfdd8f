import { describeTypes } from './types-suite.ts';

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

for (const version of [6, 7])
  describeTypes(`AI SDK ${version}`, {
    packages: { ai: `ai${version}`, zod: 'zod' },
    programs: { program: PROGRAM },
    mistakes: MISTAKES,
    errors: 3,
    page: 'ai-sdk',
    snippets: 1,
    examples: version === 7 ? ['ai-sdk'] : [],
  });
