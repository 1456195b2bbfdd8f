import { bedrockConverse } from '../../formats/bedrock-converse.ts';
import type { Signal } from '../../store/store.ts';
import { type AdapterOptions, createAdapter } from '../adapter.ts';
import { type StrandsMessage, Translator } from './messages.ts';

/** Options of `palimpsest` and `palimpsest.strategy`. */
export type StrandsOptions = AdapterOptions<StrandsStep>;

/** A step, as the option `session` gets it. */
export interface StrandsStep {
  /** The agent whose turn it is. */
  readonly agent: StrandsAgent;
  /** The `invocationState` that the agent was invoked with. */
  readonly invocationState: Readonly<Record<string, unknown>>;
}

/** The parts of an agent of Strands that are used here. */
export interface StrandsAgent {
  /** The id of the agent. */
  readonly id: string;
  /** The id of the session manager, if there is one; otherwise an id that Strands creates for the agent. */
  readonly sessionId: string;
  /** Aborts the run of the agent. */
  readonly cancelSignal: Signal;
}

/** The parts of the context of a model call that are used here. */
export interface StrandsContext extends StrandsStep {
  /** The model of the call; a stateful one keeps the history on its server. */
  readonly model: { readonly modelId?: string | undefined; readonly stateful: boolean };
  /** The history of the agent. */
  readonly messages: readonly StrandsMessage[];
  /** The system prompt: a text or blocks. */
  readonly systemPrompt?: unknown;
  /** The tools that the model may call. */
  readonly toolSpecs: readonly unknown[];
}

/** A middleware for the input of `InvokeModelStage`. */
export type StrandsMiddleware = <Context extends StrandsContext>(context: Context) => Promise<Context>;

/** `of` names the function that the user called. */
export function toMiddleware(of: string, options: StrandsOptions): StrandsMiddleware {
  const adapter = createAdapter(of, options);
  const translator = new Translator();
  return async (context) => {
    const { agent, model, systemPrompt, toolSpecs, invocationState } = context;
    // The server has the history: requests carry only new messages.
    if (model.stateful) return context;
    const { messages } = await adapter.fit({
      messages: context.messages.map((message) => translator.toConverse(message)),
      format: bedrockConverse,
      // Blocks of a system prompt are class instances, created again for every call.
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
