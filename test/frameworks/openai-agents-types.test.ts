import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import { Agent, type CallModelInputFilter, MemorySession, run, Runner, type Session, tool } from '@openai/agents';
import { breakEven, type Report } from 'palimpsest';
import { type OpenAIAgentsOptions, palimpsest } from 'palimpsest/openai-agents';
import { createMemoryStore } from 'palimpsest/store';
import { z } from 'zod';

interface Chat {
  readonly chat: string;
}

const store = createMemoryStore();
const reports: Report[] = [];
const options: OpenAIAgentsOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  session: ({ agent, context }) => (agent.name === 'Reader' ? (context as Chat).chat : undefined),
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const context = palimpsest(options);
const read = tool({
  name: 'read',
  description: 'Reads a file.',
  parameters: z.object({ path: z.string() }),
  execute: async ({ path }) => path,
});
const agent = new Agent<Chat>({ name: 'Reader', model: 'gpt-5', tools: [read, ...palimpsest.tools({ store })] });
const plain = new Agent({ name: 'Reader', tools: palimpsest.tools({ store }) });
export const helper = plain.asTool({ toolName: 'help', toolDescription: 'Helps.', runOptions: { callModelInputFilter: context } });
export const runner = new Runner({ callModelInputFilter: context });

export async function ask(session: Session, input: string): Promise<string> {
  const chat: Chat = { chat: 'c1' };
  const { finalOutput, history } = await run(agent, input, { context: chat, callModelInputFilter: palimpsest({ store }) });
  await run(agent, [...history, { role: 'user', content: input }], { context: chat, ...context.withSession(session) });
  const stream = await run(plain, input, { stream: true, maxTurns: 50, ...context.withSession(new MemorySession()) });
  await stream.completed;
  const first: CallModelInputFilter = async (call) => context({ ...call, modelData: { ...call.modelData } });
  await runner.run(agent, input, { context: chat, callModelInputFilter: first });
  return \`\${finalOutput}\`;
}
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/openai-agents';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.tools({ store: {} });
palimpsest().withSession({});
`;

describeTypes('the OpenAI Agents SDK', {
  packages: { '@openai/agents': '@openai/agents', zod: 'zod' },
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 4,
  page: 'openai-agents',
  snippets: 1,
  examples: ['openai-agents'],
});
