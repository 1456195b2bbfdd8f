import { type BaseMessage, coerceMessageLikeToMessage } from '@langchain/core/messages';
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { type LangChainMessage, langchain } from '../../formats/langchain.ts';
import { asString } from '../../formats/lens.ts';
import type { Signal } from '../../store/store.ts';
import { type AdapterOptions, createAdapter, storeOf } from '../adapter.ts';
import { calledModel, canRequire, hasRequired, withRequired } from './called-model.ts';
import { type LangChainRecallTool, toLangChainTool } from './recall-tool.ts';

/** Options of `palimpsest`, `palimpsest.messages` and `palimpsest.tools`. */
export type LangChainOptions = AdapterOptions<LangChainStep>;

/** A step, as the option `session` gets it. */
export interface LangChainStep {
  /** `configurable` of the config of the run, such as `{ thread_id }`. */
  readonly configurable?: Readonly<Record<string, unknown>>;
  /** The context of the run, if there is one. */
  readonly context?: unknown;
}

/** A middleware of `createAgent` and `createDeepAgent`. */
export interface LangChainMiddleware {
  /** The name of the middleware in traces. */
  readonly name: 'palimpsest';
  /** The tool `recall`, if there is a store. */
  readonly tools: readonly LangChainRecallTool[];
  /** Fits one request and hands it on. */
  readonly wrapModelCall: <Request extends LangChainModelRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ) => Promise<Response>;
  /** For the inference of types only, as LangChain's own middlewares have it: no state and no context. */
  readonly '~middlewareTypes'?: {
    Schema: undefined;
    ContextSchema: undefined;
    FullContext: unknown;
    Tools: readonly LangChainRecallTool[];
    StreamTransformers: readonly [];
  };
}

/** The parts of a model request that matter here. */
export interface LangChainModelRequest {
  /** The chat model. */
  readonly model: unknown;
  /** The messages of the state. */
  readonly messages: BaseMessage[];
  /** The system prompt. */
  readonly systemMessage: { readonly content: unknown };
  /** The tools that the model may call. */
  readonly tools: readonly unknown[];
  /** The config of the run. */
  readonly runtime: LangChainRun;
}

/** The parts of a run's config that matter here. */
export interface LangChainRun extends LangChainStep {
  /** Aborts the run. */
  readonly signal?: Signal;
}

/** The second argument of the function that `palimpsest.messages` makes: the config of a run, and the model. */
export interface LangChainCall extends LangChainRun {
  /** The model that gets the messages, with its tools bound. */
  readonly model?: unknown;
}

/**
 * A middleware that fits every request into the model's window: `createAgent({ middleware: [palimpsest({ store })] })`. The
 * state of the agent keeps the originals. If there is a store, it adds the tool `recall`.
 *
 * @example
 * ```ts
 * import { createAgent } from 'langchain';
 * import { palimpsest } from 'palimpsest/langchain';
 *
 * const agent = createAgent({ model: 'openai:gpt-5', tools: [], middleware: [palimpsest({ store })] });
 * ```
 */
export function palimpsest(options: LangChainOptions = {}): LangChainMiddleware {
  const adapter = createAdapter('palimpsest', options);
  const { store, recall = true } = options;
  return {
    name: 'palimpsest',
    tools: store && recall ? [toLangChainTool(store)] : [],
    async wrapModelCall(request, handler) {
      const { messages, systemMessage, tools, runtime } = request;
      const called = await calledModel(request.model, runtime.configurable);
      const fitted = await adapter.fit({
        messages: messages as LangChainMessage[],
        format: langchain,
        system: systemMessage.content,
        tools: tools.map(toSentTool),
        model: called.name,
        ...stepOf(runtime),
        canRequire: canRequire(called),
      });
      const required = fitted.requires.length === 0 ? {} : { model: withRequired(called) };
      return handler({ ...request, messages: toMessages(fitted.messages), ...required });
    },
  };
}

/** The same for a list of messages, in graphs and chains: `model.invoke(await fit(messages, { ...config, model }), config)`. */
palimpsest.messages = (options: LangChainOptions = {}) => {
  const adapter = createAdapter('palimpsest.messages', options);
  return async (messages: readonly BaseMessage[], call: LangChainCall = {}): Promise<BaseMessage[]> => {
    const called = await calledModel(call.model, call.configurable);
    const fitted = await adapter.fit({
      messages: messages as readonly LangChainMessage[],
      format: langchain,
      tools: called.tools?.map(toSentTool),
      model: called.name,
      ...stepOf(call),
      canRequire: hasRequired(called),
    });
    return toMessages(fitted.messages);
  };
};

/** The tools that the model needs to recall masked texts, for graphs. The middleware has them already. */
palimpsest.tools = (options: Pick<LangChainOptions, 'store'>): LangChainRecallTool[] => [
  toLangChainTool(storeOf('palimpsest.tools', options)),
];

function stepOf({ configurable, context, signal }: LangChainRun) {
  const step: LangChainStep = { ...(configurable && { configurable }), context };
  return { session: sessionOf(configurable), signal, step };
}

/** The thread. An agent that a tool of another agent runs, such as a sub-agent, has the same thread but its own messages. */
function sessionOf(configurable: LangChainStep['configurable']): string | undefined {
  const thread = asString(configurable?.thread_id);
  const [, toolRun] = /.*\btools:([\w-]+)\|/.exec(asString(configurable?.checkpoint_ns) ?? '') ?? [];
  return thread === undefined || toolRun === undefined ? thread : `${thread}_${toolRun}`;
}

/** A tool as it is sent: with a JSON schema in place of a zod schema. */
const toSentTool = (tool: unknown): unknown => convertToOpenAITool(tool as Parameters<typeof convertToOpenAITool>[0]);

/** A notice in a list without user messages is a plain object; everything else is already an instance. */
const toMessages = (messages: readonly LangChainMessage[]): BaseMessage[] =>
  messages.map((message) => coerceMessageLikeToMessage(message as BaseMessage));

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { LangChainRecallTool } from './recall-tool.ts';
