import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel, type BindToolsInput } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { type StructuredToolInterface, tool } from '@langchain/core/tools';
import { MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { createDeepAgent } from 'deepagents';
import { createAgent, toolErrorMiddleware } from 'langchain';
import { type LangChainMiddleware, palimpsest } from '../../src/adapters/langchain/index.ts';
import { langchain } from '../../src/formats/langchain.ts';
import type { AdapterDriver, ScriptedReply, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';

type FitMessages = ReturnType<typeof palimpsest.messages>;

interface Made {
  readonly middleware: LangChainMiddleware;
  readonly fit: FitMessages;
  /** Keeps the state of the threads. */
  readonly checkpointer: MemorySaver;
}

/** Runs a framework once, and answers the messages of its state. */
type Runner = (run: ScriptedRun<Made>) => Promise<readonly BaseMessage[]>;

const driver = (name: string, run: Runner): AdapterDriver<Made> => ({
  name,
  format: langchain,
  make: (options) => ({
    middleware: palimpsest(options),
    fit: palimpsest.messages(options),
    checkpointer: new MemorySaver(),
  }),
  run,
});

/** The config of every run. The graph counts each node as a step. */
const configOf = ({ session, signal }: ScriptedRun<Made>) => ({
  recursionLimit: 1000,
  configurable: { thread_id: session },
  ...(signal ? { signal: signal as AbortSignal } : {}),
});

const partsOf = (run: ScriptedRun<Made>) => ({
  model: new ScriptedModel(run),
  tools: run.tools.map(toolOf),
  middleware: [run.adapter.middleware],
});

export const invokeDriver = driver('LangChain, invoke of createAgent', async (run) => {
  const messages = [...(run.history as BaseMessage[]), new HumanMessage(run.prompt)];
  const state = await createAgent(partsOf(run)).invoke({ messages }, configOf(run));
  return state.messages;
});

export const streamDriver = driver('LangChain, stream of createAgent with a checkpointer', async (run) => {
  const { checkpointer } = run.adapter;
  const agent = createAgent({ ...partsOf(run), checkpointer });
  const input = { messages: [new HumanMessage(run.prompt)] };
  const stream = await agent.stream(input, { ...configOf(run), streamMode: ['values', 'messages'] });
  for await (const _ of stream);
  return storedMessages(checkpointer, run);
});

export const deepAgentDriver = driver('deepagents with a checkpointer', async (run) => {
  const { checkpointer } = run.adapter;
  // Errors of tools end the run of a deep agent, unless a middleware catches them.
  const middleware = [toolErrorMiddleware({ onError: String }), run.adapter.middleware];
  const agent = createDeepAgent({ ...partsOf(run), middleware, checkpointer });
  await agent.invoke({ messages: [new HumanMessage(run.prompt)] }, configOf(run));
  return storedMessages(checkpointer, run);
});

export const graphDriver = driver('LangGraph, palimpsest.messages', async (run) => {
  const { fit, checkpointer } = run.adapter;
  const tools = [...run.tools.map(toolOf), ...(run.store ? palimpsest.tools({ store: run.store }) : [])];
  const model = new ScriptedModel(run).bindTools(tools);
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }, config) => ({
      messages: [await model.invoke(await fit(messages, { ...config, model }), config)],
    }))
    .addNode('tools', new ToolNode(tools))
    .addEdge('__start__', 'model')
    .addConditionalEdges('model', toolsCondition)
    .addEdge('tools', 'model')
    .compile({ checkpointer });
  await graph.invoke({ messages: [new HumanMessage(run.prompt)] }, configOf(run));
  return storedMessages(checkpointer, run);
});

/** Not what a run answered, but what a later one begins with. */
async function storedMessages(checkpointer: MemorySaver, run: ScriptedRun<Made>): Promise<BaseMessage[]> {
  const stored = await checkpointer.getTuple(configOf(run));
  return stored?.checkpoint.channel_values.messages as BaseMessage[];
}

function toolOf({ name, description, parameters, execute }: ScriptedTool): StructuredToolInterface {
  const answer = (input: unknown) => {
    const output = execute(input as { path: string });
    if (typeof output === 'string') return output;
    return [{ type: 'image_url', image_url: { url: `data:${output.mediaType};base64,${output.data}` } }];
  };
  return tool(answer, { name, description, schema: parameters });
}

interface ScriptedOptions {
  tools?: readonly BindToolsInput[];
}

/** A model that answers by the script, whole or as a stream, in the way of ChatAnthropic: its calls are in the content too. */
export class ScriptedModel extends BaseChatModel<ScriptedOptions & BaseChatModel['ParsedCallOptions']> {
  readonly model: string;
  readonly #answer: ScriptedRun['model'];

  constructor({ model: answer }: Pick<ScriptedRun, 'model'>, model = 'gpt-5') {
    super({ maxRetries: 0 });
    this.#answer = answer;
    this.model = model;
  }

  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(tools: BindToolsInput[], settings = {}) {
    return this.withConfig({ tools, ...settings } as object);
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions']): Promise<ChatResult> {
    const message = new AIMessage(this.#reply(messages, options));
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { content, tool_calls } = this.#reply(messages, options);
    const tool_call_chunks = tool_calls.map(({ args, ...call }, index) => ({
      ...{ ...call, type: 'tool_call_chunk' as const },
      ...{ args: JSON.stringify(args), index },
    }));
    const chunk = new ChatGenerationChunk({ text: '', message: new AIMessageChunk({ content, tool_call_chunks }) });
    yield chunk;
    await manager?.handleLLMNewToken('', undefined, undefined, undefined, undefined, { chunk });
  }

  #reply(messages: BaseMessage[], { signal, tools = [] }: this['ParsedCallOptions']) {
    signal?.throwIfAborted();
    const names = tools.map((one) => String((one as { name?: unknown }).name));
    return toFields(this.#answer({ messages, tools: names }));
  }
}

function toFields({ text, reasoning, calls = [] }: ScriptedReply) {
  return {
    content: [
      ...(reasoning ? [{ type: 'thinking', thinking: reasoning.text, signature: reasoning.signature }] : []),
      ...(text ? [{ type: 'text', text }] : []),
      ...calls.map(({ id, tool: name, input }) => ({ type: 'tool_use', id, name, input })),
    ],
    tool_calls: calls.map(({ id, tool: name, input }) => ({
      type: 'tool_call' as const,
      id,
      name,
      args: { ...input },
    })),
  };
}
