import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import { Agent, agentLoop, type AgentLoopConfig, type AgentTool, type StreamFn } from '@earendil-works/pi-agent-core';
import { type Api, type Model, Type } from '@earendil-works/pi-ai';
import { breakEven, type Report } from 'palimpsest';
import { palimpsest, type PiOptions } from 'palimpsest/pi';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const reports: Report[] = [];
const options: PiOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  session: ({ messages }) => \`chat-\${messages.length}\`,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const parameters = Type.Object({ path: Type.String() });
const read: AgentTool<typeof parameters> = {
  name: 'read',
  label: 'Read',
  description: 'Reads a file.',
  parameters,
  execute: async (_id, { path }) => ({ content: [{ type: 'text', text: path }], details: undefined }),
};
const recall: AgentTool[] = palimpsest.tools({ store });

export function start(model: Model<Api>, streamFn: StreamFn, convertToLlm: AgentLoopConfig['convertToLlm']): Agent {
  const tools = [read, ...recall];
  const agent = new Agent({
    initialState: { model, tools: [read, ...palimpsest.tools({ store })] },
    streamFn,
    transformContext: palimpsest({ ...options, session: () => agent.sessionId }),
  });
  const transform = palimpsest(options);
  agentLoop([], { messages: [], tools }, {
    model,
    convertToLlm,
    transformContext: (messages, signal) => transform(messages, signal).catch(() => messages),
  }, undefined, streamFn);
  return agent;
}
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/pi';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.tools({ store: {} });
palimpsest.extension({ session: 1 });
`;

const packages = ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'];

describeTypes('pi', {
  packages: Object.fromEntries(packages.map((name) => [name, name])),
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 4,
  page: 'pi',
  snippets: 2,
  examples: ['pi'],
});
