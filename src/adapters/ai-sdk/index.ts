import { type AiSdkMessage, aiSdk } from '../../formats/ai-sdk.ts';
import { asString, isRecord } from '../../formats/lens.ts';
import { badOption } from '../../options.ts';
import { type Adapter, type AdapterOptions, createAdapter, storeOf } from '../adapter.ts';
import { type AiSdkRecallTool, toAiSdkTool } from './recall-tool.ts';
import { canRequire, withRequired } from './required-options.ts';

/** Options of `palimpsest`, `palimpsest.middleware` and `palimpsest.tools`. */
export type AiSdkOptions = AdapterOptions<AiSdkStep>;

/** A step, as the option `session` gets it. */
export interface AiSdkStep {
  /** The `providerOptions` of the call. */
  readonly providerOptions?: Readonly<Record<string, unknown>>;
  /** The headers of the call. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** `runtimeContext` of AI SDK 7 or `experimental_context` of AI SDK 6, if there is one. */
  readonly context?: unknown;
}

/** A `prepareStep` of `generateText`, `streamText` and `ToolLoopAgent`. */
export type AiSdkPrepareStep = <Model>(step: {
  readonly model: Model;
  readonly runtimeContext?: unknown;
  readonly experimental_context?: unknown;
}) => { model: Model };

/** A middleware of `wrapLanguageModel`. AI SDK 7 takes one of any version. */
export interface AiSdkMiddleware {
  /** The version of the SDK's middleware interface. */
  readonly specificationVersion: 'v3';
  /** Fits the prompt of one call. */
  readonly transformParams: <Params extends object>(call: {
    readonly params: Params;
    readonly model: { readonly modelId: string };
  }) => Promise<Params>;
}

/**
 * A `prepareStep` that fits every step into the model's window: `generateText({ prepareStep: palimpsest({ store }) })`.
 * It fits the provider's request, so system prompt, tools and model are known, and the messages of the SDK stay as they are.
 *
 * @example
 * ```ts
 * import { openai } from '@ai-sdk/openai';
 * import { generateText } from 'ai';
 * import { palimpsest } from 'palimpsest/ai-sdk';
 *
 * const { text } = await generateText({
 *   model: openai('gpt-5'),
 *   prompt: 'Find the bug.',
 *   tools: palimpsest.tools({ store }),
 *   prepareStep: palimpsest({ store }),
 * });
 * ```
 */
export function palimpsest(options: AiSdkOptions = {}): AiSdkPrepareStep {
  const adapter = createAdapter('palimpsest', options);
  return ({ model, runtimeContext, experimental_context }) => ({
    model: fittedModel(model, adapter, runtimeContext ?? experimental_context),
  });
}

/** A middleware that does the same for every call of a model: `wrapLanguageModel({ model, middleware })`. */
palimpsest.middleware = (options: AiSdkOptions = {}): AiSdkMiddleware => {
  const adapter = createAdapter('palimpsest.middleware', options);
  return {
    specificationVersion: 'v3',
    transformParams: ({ params, model }) => fitCall(params, { adapter, model: model.modelId }),
  };
};

/** The tools that the model needs to recall masked texts: `tools: { ...tools, ...palimpsest.tools({ store }) }`. */
palimpsest.tools = (options: Pick<AiSdkOptions, 'store'>): { recall: AiSdkRecallTool } => ({
  recall: toAiSdkTool(storeOf('palimpsest.tools', options)),
});

/** The parts of a language model that the SDK calls, in every version of its specification. */
interface LanguageModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: unknown;
  doGenerate(params: object): PromiseLike<unknown>;
  doStream(params: object): PromiseLike<unknown>;
}

/** The model, with every call fitted. `prepareStep` sees neither tools nor provider options; the model gets them all. */
function fittedModel<Model>(given: Model, adapter: Adapter<AiSdkStep>, context: unknown): Model {
  const model = given as LanguageModel;
  if (typeof model?.doGenerate !== 'function')
    throw badOption('the model of the step', "a language model, such as openai('gpt-5')", model);
  const fitParams = (params: object) => fitCall(params, { adapter, model: model.modelId, context });
  const fitted: LanguageModel = {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    get supportedUrls() {
      return model.supportedUrls;
    },
    doGenerate: async (params) => model.doGenerate(await fitParams(params)),
    doStream: async (params) => model.doStream(await fitParams(params)),
  };
  return fitted as Model;
}

/** The parameters of a call that matter here, in every version of the specification. */
interface CallParams {
  readonly prompt: readonly AiSdkMessage[];
  readonly tools?: unknown;
  readonly providerOptions?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly abortSignal?: AbortSignal;
}

interface CallContext {
  readonly adapter: Adapter<AiSdkStep>;
  readonly model: string;
  readonly context?: unknown;
}

async function fitCall<Params extends object>(params: Params, { adapter, model, context }: CallContext) {
  const { prompt, tools, providerOptions, headers, abortSignal } = params as unknown as CallParams;
  const { messages, requires } = await adapter.fit({
    messages: prompt,
    format: aiSdk,
    tools,
    model,
    session: sessionIn(providerOptions),
    signal: abortSignal,
    canRequire: canRequire(providerOptions),
    step: { ...(providerOptions && { providerOptions }), ...(headers && { headers }), context },
  });
  const required = requires.length === 0 ? {} : { providerOptions: withRequired(providerOptions) };
  return { ...params, prompt: messages, ...required };
}

/** `providerOptions: { palimpsest: { session } }`: options of one call, which no provider reads. */
function sessionIn(options: CallParams['providerOptions']): string | undefined {
  return isRecord(options?.palimpsest) ? asString(options.palimpsest.session) : undefined;
}

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { AiSdkRecallTool } from './recall-tool.ts';
