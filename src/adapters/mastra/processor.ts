/** The part of Mastra's `RequestContext` that is used. */
export interface MastraRequestContext {
  /** A value of the run, by its key. */
  get(key: string): unknown;
}

/** A processor for the `inputProcessors` of an agent. */
export interface MastraProcessor {
  /** The name of the processor in Mastra's traces. */
  readonly id: 'palimpsest';
  /** Remembers the tools of the step, which `processLLMRequest` does not get. */
  processInputStep<Options>(step: MastraInputStep<Options>): { providerOptions: Options } | undefined;
  /** Fits the prompt for the model. Mastra keeps the original messages. */
  processLLMRequest<Prompt>(request: MastraRequest<Prompt>): Promise<{ prompt: Prompt }>;
}

/** The part of Mastra's `ProcessInputStepArgs` that is used. */
export interface MastraInputStep<Options> {
  /** The messages of the step, in Mastra's format. */
  readonly messages: readonly unknown[];
  /** The model of the step. */
  readonly model: MastraModel;
  /** All tools of the agent, by name. */
  readonly tools?: Readonly<Record<string, unknown>> | undefined;
  /** The names of the tools that the model may call in this step. All of them if not given. */
  readonly activeTools?: readonly string[] | undefined;
  /** Options for the provider, which may get fields that masking needs. */
  readonly providerOptions?: Options | undefined;
  /** Values that Mastra hands from one call of the processor to the next. */
  readonly state: Record<string, unknown>;
}

/** The part of Mastra's `ProcessLLMRequestArgs` that is used. */
export interface MastraRequest<Prompt> {
  /** The prompt in the format of the AI SDK. */
  readonly prompt: Prompt;
  /** The model that gets it. */
  readonly model: MastraModel;
  /** Values that Mastra hands from one call of the processor to the next. */
  readonly state: Record<string, unknown>;
  /** The `requestContext` of the run, if there is one. */
  readonly requestContext?: MastraRequestContext | undefined;
  /** Aborts the request. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** The part of Mastra's models that is used. */
export interface MastraModel {
  /** The name of the model, as the provider knows it. */
  readonly modelId: string;
  /** The version of the AI SDK interface that it has. */
  readonly specificationVersion: string;
  /** The gateway of Mastra that the model is behind, if there is one. */
  readonly gatewayId?: string | undefined;
}
