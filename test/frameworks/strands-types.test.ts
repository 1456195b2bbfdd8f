import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import { Agent, type ContextManagerConfig, type ContextStrategy, FunctionTool, InvokeModelStage, type Plugin, tool } from '@strands-agents/sdk';
import { breakEven, type Report } from 'palimpsest';
import { createMemoryStore } from 'palimpsest/store';
import { palimpsest, type StrandsOptions } from 'palimpsest/strands';

const store = createMemoryStore();
const reports: Report[] = [];
const options: StrandsOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'claude-sonnet-4-5',
  arrival: { clean: true },
  recall: true,
  session: ({ agent, invocationState }) => (invocationState.chat as string | undefined) ?? agent.id,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};

const fit = palimpsest(options);
const plugin: Plugin = {
  name: 'palimpsest',
  initAgent: (agent) => void agent.addMiddleware(InvokeModelStage.Input, fit),
};
const recall = palimpsest.recall({ store });
export const agent = new Agent({ tools: [tool(recall), new FunctionTool(recall)], plugins: [plugin], contextManager: false });
const strategy: ContextStrategy = palimpsest.strategy({ ...options, stage: InvokeModelStage });
export const managed = new Agent({ contextManager: { strategies: [palimpsest.strategy({ store, stage: InvokeModelStage })], stash: false } });
export const config: ContextManagerConfig = { strategies: ['largeToolOffloading', strategy] };
export const remove: () => void = agent.addMiddleware(InvokeModelStage.Input, palimpsest({ store }));
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/strands';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.recall({ store: {} });
palimpsest.strategy({});
`;

describeTypes('Strands', {
  packages: { '@strands-agents/sdk': '@strands-agents/sdk' },
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 4,
  page: 'strands',
  snippets: 1,
  examples: ['strands'],
});
