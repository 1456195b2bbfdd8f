import { bedrockConverse } from '../../formats/bedrock-converse.ts';
import type { Signal } from '../../store/store.ts';
import { type AdapterOptions, createAdapter, storeOf } from '../adapter.ts';
import { type StrandsMessage, Translator } from './messages.ts';
import { type StrandsRecallConfig, toToolConfig } from './recall-tool.ts';

/** Options of `palimpsest`. */
export type StrandsOptions = AdapterOptions<StrandsStep>;

/** A step, as the option `session` gets it. */
export interface StrandsStep {
  readonly agent: StrandsAgent;
  /** The `invocationState` that the agent was invoked with. */
  readonly invocationState: Readonly<Record<string, unknown>>;
}

/** The parts of an agent of Strands that are used here. */
export interface StrandsAgent {
  readonly id: string;
  /** That of the session manager, where there is one; otherwise one that Strands makes up for the agent. */
  readonly sessionId: string;
  readonly cancelSignal: Signal;
}

/** The parts of the context of a model call that are used here. */
export interface StrandsContext extends StrandsStep {
  readonly model: { readonly modelId?: string | undefined; readonly stateful: boolean };
  readonly messages: readonly StrandsMessage[];
  readonly systemPrompt?: unknown;
  readonly toolSpecs: readonly unknown[];
}

/** A middleware for the input of `InvokeModelStage`. */
export type StrandsMiddleware = <Context extends StrandsContext>(context: Context) => Promise<Context>;

/**
 * A middleware that fits every model call into the model's window:
 * `agent.addMiddleware(InvokeModelStage.Input, palimpsest({ store }))`. It gets copies of the agent's messages, which keep
 * the originals.
 */
export function palimpsest(options: StrandsOptions = {}): StrandsMiddleware {
  const adapter = createAdapter('palimpsest', options);
  const translator = new Translator();
  return async (context) => {
    const { agent, model, systemPrompt, toolSpecs, invocationState } = context;
    // The server has the history, and gets only what is new.
    if (model.stateful) return context;
    const { messages } = await adapter.fit({
      messages: context.messages.map((message) => translator.toConverse(message)),
      format: bedrockConverse,
      // Blocks of a system prompt are objects of classes, and new ones for every call.
      system: systemPrompt === undefined ? undefined : JSON.parse(JSON.stringify(systemPrompt)),
      tools: toolSpecs,
      model: model.modelId,
      session: agent.sessionId,
      signal: agent.cancelSignal,
      canRequire: false,
      step: { agent, invocationState },
    });
    const [first] = context.messages;
    return first
      ? { ...context, messages: messages.map((message) => translator.fromConverse(message, first)) }
      : context;
  };
}

/** The tool `recall`, as the function `tool` of Strands takes it: `tools: [...tools, tool(palimpsest.recall({ store }))]`. */
palimpsest.recall = (options: Pick<StrandsOptions, 'store'>): StrandsRecallConfig =>
  toToolConfig(storeOf('palimpsest.recall', options));

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { StrandsMessage } from './messages.ts';
export type { StrandsRecallConfig } from './recall-tool.ts';
