import type { AdapterOptions } from '../adapter.ts';
import { storeOf } from '../adapter.ts';
import { type AdkCallback, type AdkContext, createCallback } from './callback.ts';
import { createFetch } from './fetch.ts';
import { type AdkRecallOptions, type GenAiRecallTool, toAdkOptions, toGenAiTool } from './recall-tool.ts';
import { fetchWithoutTimeouts } from './without-timeouts.ts';

/** Options of `palimpsest.fetch` and `palimpsest.callback`. */
export type GoogleOptions = AdapterOptions<GoogleStep>;

/** A step, as the option `session` gets it. */
export interface GoogleStep {
  /** The headers of a request of `@google/genai`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The context of a callback of ADK. */
  readonly context?: AdkContext;
}

/** Fits requests of `@google/genai` and of ADK into the model's window. */
export const palimpsest = {
  /**
   * A `fetch` that fits every generateContent request: `new GoogleGenAI({ httpOptions: { fetch: palimpsest.fetch({ store }) } })`.
   * It fits the body that is sent, so chats, streams and automatic function calling keep their originals. Requests go out
   * with `send`, the global `fetch` if not given.
   */
  fetch: (options: GoogleOptions = {}, send: typeof fetch = fetchWithoutTimeouts): typeof fetch =>
    createFetch(options, send),

  /** A callback of ADK that does the same: `new LlmAgent({ beforeModelCallback: palimpsest.callback({ store }) })`. */
  callback: (options: GoogleOptions = {}): AdkCallback => createCallback(options),

  /** The tool `recall` for `@google/genai`: `config: { tools: [...tools, ...palimpsest.tools({ store })] }`. */
  tools: (options: Pick<GoogleOptions, 'store'>): [GenAiRecallTool] => [
    toGenAiTool(storeOf('palimpsest.tools', options)),
  ],

  /** The tool `recall` for ADK, as options of its own class: `new FunctionTool(palimpsest.recall({ store }))`. */
  recall: (options: Pick<GoogleOptions, 'store'>): AdkRecallOptions =>
    toAdkOptions(storeOf('palimpsest.recall', options)),
};

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { AdkCallback, AdkContext } from './callback.ts';
export type { AdkRecallOptions, GenAiRecallTool } from './recall-tool.ts';
