import type { AdapterOptions } from '../adapters/adapter.ts';
import type { AnyFormat } from '../message.ts';
import type { Signal, Store } from '../store/store.ts';

/** The framework that an adapter is for: how to run it with a scripted model. `Made` is the type that the adapter returns. */
export interface AdapterDriver<Made = unknown> {
  /** The framework, as the names of the tests show it. */
  readonly name: string;
  /** The format of the messages that the model gets. */
  readonly format: AnyFormat;
  /** The format of the history, if it is another one. */
  readonly historyFormat?: AnyFormat;
  /** Creates the adapter: `palimpsest(options)`. */
  make(options: AdapterOptions): Made;
  /** Runs the framework until the model makes no calls, and resolves with the whole history as the framework keeps it. */
  run(run: ScriptedRun<Made>): Promise<readonly unknown[]>;
  /** Facts that the framework cannot have, each with the reason. */
  readonly skips?: Partial<Record<'errors' | 'images' | 'reasoning', string>>;
}

/** One run of a framework: a prompt, and as many steps as the model makes calls. */
export interface ScriptedRun<Made = unknown> {
  /** The adapter that `make` returned. */
  readonly adapter: Made;
  /** The history that an earlier run resolved with, or an empty list. */
  readonly history: readonly unknown[];
  /** The words of the user. */
  readonly prompt: string;
  /** The tools that the model may call. */
  readonly tools: readonly ScriptedTool[];
  /** If it is given, the adapter's recall tool is among the tools. */
  readonly store?: Store;
  /** The id of the conversation, given in the framework's own way. */
  readonly session?: string;
  /** Aborts the run. */
  readonly signal?: Signal;
  /** The model: called once for each request, with the messages exactly as they are sent. */
  model(request: SentRequest): ScriptedReply;
}

/** A request as a model gets it. */
export interface SentRequest {
  /** The messages, in the format of the driver. */
  readonly messages: readonly unknown[];
  /** The names of the tools. */
  readonly tools: readonly string[];
}

/** The answer of a scripted model. */
export interface ScriptedReply {
  /** The words of the model. @default none */
  readonly text?: string;
  /** Thinking with the provider's signature. @default none */
  readonly reasoning?: { readonly text: string; readonly signature: string };
  /** The calls that the reply makes. The run ends with a reply without calls. @default none */
  readonly calls?: readonly ScriptedCall[];
}

/** A call of a scripted model. */
export interface ScriptedCall {
  /** The id of the call. No two calls of a run share one. */
  readonly id: string;
  /** The name of the tool. */
  readonly tool: string;
  /** The arguments. */
  readonly input: Readonly<Record<string, unknown>>;
}

/** A tool that a driver gives to its framework. If `execute` throws, the framework must report an error to the model. */
export interface ScriptedTool {
  /** The name by which the model calls it. */
  readonly name: string;
  /** The text that the model is told about it. */
  readonly description: string;
  /** The JSON schema of its arguments. */
  readonly parameters: {
    readonly type: 'object';
    readonly properties: Record<string, { type: 'string' }>;
    readonly required: string[];
    readonly additionalProperties: false;
  };
  /** Answers a call with a text or an image. */
  execute(input: { readonly path: string }): string | ScriptedImage;
}

/** An image in a tool result, in base64. */
export interface ScriptedImage {
  /** The media type, such as `image/png`. */
  readonly mediaType: string;
  /** The image in base64. */
  readonly data: string;
}
