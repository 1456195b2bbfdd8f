import type { AdapterOptions } from '../adapters/adapter.ts';
import type { AnyFormat } from '../message.ts';
import type { Signal, Store } from '../store/store.ts';

/** The framework that an adapter is for: how to run it with a scripted model. `Made` is what the adapter makes. */
export interface AdapterDriver<Made = unknown> {
  readonly name: string;
  /** The format of the messages that the model gets. */
  readonly format: AnyFormat;
  /** The format of the history, where it is another one. */
  readonly historyFormat?: AnyFormat;
  /** Makes the adapter: `palimpsest(options)`. */
  make(options: AdapterOptions): Made;
  /** Runs the framework until the model makes no calls, and resolves with the whole history as the framework keeps it. */
  run(run: ScriptedRun<Made>): Promise<readonly unknown[]>;
  /** Facts that the framework cannot have, each with the reason. */
  readonly skips?: Partial<Record<'errors' | 'images' | 'reasoning', string>>;
}

/** One run of a framework: a prompt, and as many steps as the model makes calls. */
export interface ScriptedRun<Made = unknown> {
  readonly adapter: Made;
  /** The history that an earlier run resolved with, or an empty list. */
  readonly history: readonly unknown[];
  readonly prompt: string;
  readonly tools: readonly ScriptedTool[];
  /** If it is given, the adapter's recall tool is among the tools. */
  readonly store?: Store;
  /** The id of the conversation, given in the framework's own way. */
  readonly session?: string;
  readonly signal?: Signal;
  /** The model: called once for each request, with the messages exactly as they are sent. */
  model(request: SentRequest): ScriptedReply;
}

/** A request as a model gets it. */
export interface SentRequest {
  readonly messages: readonly unknown[];
  /** The names of the tools. */
  readonly tools: readonly string[];
}

/** The answer of a scripted model. */
export interface ScriptedReply {
  readonly text?: string;
  readonly reasoning?: { readonly text: string; readonly signature: string };
  readonly calls?: readonly ScriptedCall[];
}

/** A call of a scripted model. */
export interface ScriptedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** A tool that a driver gives to its framework. Where `execute` throws, the framework must tell the model of an error. */
export interface ScriptedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: {
    readonly type: 'object';
    readonly properties: Record<string, { type: 'string' }>;
    readonly required: string[];
    readonly additionalProperties: false;
  };
  execute(input: { readonly path: string }): string | ScriptedImage;
}

/** An image that a tool answers, in base64. */
export interface ScriptedImage {
  readonly mediaType: string;
  readonly data: string;
}
