import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import { FunctionTool, LlmAgent } from '@google/adk';
import { type CallableTool, GoogleGenAI } from '@google/genai';
import { breakEven, type Report } from 'palimpsest';
import { type AdkOptions, type GenAiOptions, palimpsest } from 'palimpsest/google';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const reports: Report[] = [];
const shared = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gemini-3-pro',
  arrival: { clean: true },
  recall: true,
  onReport: (report: Report, { session }: { session?: string }) => {
    if (session) reports.push(report);
  },
};
const options: GenAiOptions = { ...shared, session: ({ headers }) => headers.get('x-chat') ?? undefined };
const agentOptions: AdkOptions = { ...shared, session: ({ context }) => context.userId };

export const ai = new GoogleGenAI({ apiKey: 'key', httpOptions: { fetch: palimpsest.fetch(options) } });
export const behindProxy = new GoogleGenAI({ httpOptions: { fetch: palimpsest.fetch({ store, fetch }) } });

const [recall] = palimpsest.tools({ store });
const callable: CallableTool = recall;

export async function ask(own: CallableTool, contents: string): Promise<string | undefined> {
  const config = { tools: [own, callable, ...palimpsest.tools({ store })] };
  const { text, functionCalls = [] } = await ai.models.generateContent({ model: 'gemini-3-pro', contents, config });
  const parts = await recall.callTool(functionCalls);
  const chat = ai.chats.create({ model: 'gemini-3-pro', config });
  await chat.sendMessage({ message: parts });
  return text;
}

export const agent = new LlmAgent({
  name: 'agent',
  model: 'gemini-3-pro',
  tools: [new FunctionTool(palimpsest.recall({ store }))],
  beforeModelCallback: palimpsest.callback(agentOptions),
});
export const both = new LlmAgent({
  name: 'both',
  beforeModelCallback: [() => undefined, palimpsest.callback({ store })],
});
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/google';
palimpsest.fetch({ storee: 1 });
palimpsest.callback({ maxTokens: '1' });
palimpsest.tools({ store: {} });
palimpsest.recall({ store: {} });
`;

describeTypes('@google/genai and ADK', {
  packages: { '@google/genai': '@google/genai', '@google/adk': '@google/adk' },
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 4,
  page: 'google',
  snippets: 2,
  examples: ['google', 'google-adk'],
});
