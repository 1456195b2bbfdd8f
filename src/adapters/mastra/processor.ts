/** The part of Mastra's `RequestContext` that is used. */
export interface MastraRequestContext {
  get(key: string): unknown;
}

/** A processor for the `inputProcessors` of an agent. */
export interface MastraProcessor {
  readonly id: 'palimpsest';
  /** Notes the tools of the step, which `processLLMRequest` is not told. */
  processInputStep<Options>(step: MastraInputStep<Options>): { providerOptions: Options } | undefined;
  /** Fits the prompt that goes to the model. Mastra keeps the messages that it was made from. */
  processLLMRequest<Prompt>(request: MastraRequest<Prompt>): Promise<{ prompt: Prompt }>;
}

/** The part of Mastra's `ProcessInputStepArgs` that is used. */
export interface MastraInputStep<Options> {
  readonly messages: readonly unknown[];
  readonly model: MastraModel;
  readonly tools?: Readonly<Record<string, unknown>> | undefined;
  readonly activeTools?: readonly string[] | undefined;
  readonly providerOptions?: Options | undefined;
  readonly state: Record<string, unknown>;
}

/** The part of Mastra's `ProcessLLMRequestArgs` that is used. */
export interface MastraRequest<Prompt> {
  readonly prompt: Prompt;
  readonly model: MastraModel;
  readonly state: Record<string, unknown>;
  readonly requestContext?: MastraRequestContext | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** The part of Mastra's models that is used. */
export interface MastraModel {
  readonly modelId: string;
  readonly specificationVersion: string;
  readonly gatewayId?: string | undefined;
}
