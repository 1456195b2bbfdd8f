import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import type { BaseMessage } from '@langchain/core/messages';
import { RunnableLambda, type RunnableConfig } from '@langchain/core/runnables';
import { createDeepAgent } from 'deepagents';
import { createAgent, createMiddleware, type StructuredTool, tool } from 'langchain';
import { breakEven, type Report } from 'palimpsest';
import { type LangChainOptions, palimpsest } from 'palimpsest/langchain';
import { createMemoryStore } from 'palimpsest/store';
import { z } from 'zod';

const store = createMemoryStore();
const reports: Report[] = [];
const options: LangChainOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  session: ({ configurable, context }) => configurable?.['chat'] as string ?? (context as { chat: string }).chat,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const read = tool(({ path }) => path, {
  name: 'read',
  description: 'Reads a file.',
  schema: z.object({ path: z.string() }),
});
const logger = createMiddleware({ name: 'logger', stateSchema: z.object({ lines: z.number().default(0) }) });

export async function ask(model: BaseChatModel, content: string): Promise<string> {
  const contextSchema = z.object({ chat: z.string() });
  const middleware = [logger, palimpsest(options)] as const;
  const agent = createAgent({ model, tools: [read], contextSchema, middleware });
  const input = { messages: [{ role: 'user', content }] };
  const config = { configurable: { thread_id: 't1' }, context: { chat: 'c1' } };
  const { messages, lines } = await agent.invoke(input, config);
  for await (const chunk of await agent.stream(input, { ...config, streamMode: 'values' })) console.log(chunk.messages.length);
  const first: number = lines;
  const structured = createAgent({ model, responseFormat: z.object({ n: z.number() }), middleware: [palimpsest()] });
  const { structuredResponse } = await structured.invoke(input);
  const subagents = [{ name: 'a', description: 'b', systemPrompt: 'c', middleware: [palimpsest({ store })] }];
  const deep = createDeepAgent({ model, tools: [read], middleware: [palimpsest({ store })], subagents });
  const answer = await deep.invoke(input, { configurable: { thread_id: 't1' } });
  return [messages.at(-1)?.text, answer.messages.at(-1)?.text, first + structuredResponse.n].join();
}

export async function graph(chat: BaseChatModel, own: StructuredTool[], messages: BaseMessage[], config: RunnableConfig) {
  const model = chat.bindTools?.([...own, ...palimpsest.tools({ store })]);
  const fit = palimpsest.messages(options);
  const fitted: BaseMessage[] = await fit(messages, { ...config, model });
  const chain = RunnableLambda.from(fit).pipe(chat);
  return [await model?.invoke(fitted, config), await chain.invoke(messages, config)];
}
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/langchain';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.messages({ session: 1 });
palimpsest.tools({ store: {} });
`;

const packages = ['@langchain/core', '@langchain/langgraph', 'deepagents', 'langchain', 'zod'];

describeTypes('LangChain', {
  packages: Object.fromEntries(packages.map((name) => [name, name])),
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 4,
  page: 'langchain',
  snippets: 2,
  examples: ['langchain'],
});
