import { type AdapterOptions, storeOf } from '../adapter.ts';
import type { HttpStep } from '../json-body.ts';
import { type AdkCallback, type AdkStep, createCallback } from './callback.ts';
import { createFetch } from './fetch.ts';
import { type AdkRecallOptions, type GenAiRecallTool, toAdkOptions, toGenAiTool } from './recall-tool.ts';

/** Options of `palimpsest.fetch`. */
export interface GenAiOptions extends AdapterOptions<HttpStep> {
  /** Sends the requests. @default globalThis.fetch */
  readonly fetch?: typeof fetch;
}

/** Options of `palimpsest.callback`. */
export type AdkOptions = AdapterOptions<AdkStep>;

/**
 * For clients of Google's genai and agents of its ADK.
 *
 * @example
 * ```ts
 * import { GoogleGenAI } from '@google/genai';
 * import { palimpsest } from 'palimpsest/google';
 *
 * const ai = new GoogleGenAI({ httpOptions: { fetch: palimpsest.fetch({ store }) } });
 * ```
 */
export const palimpsest = {
  /**
   * A `fetch` that fits requests of generateContent into the model's window. All other requests pass unchanged:
   * `new GoogleGenAI({ httpOptions: { fetch: palimpsest.fetch({ store }) } })`. It fits the body that is sent, so chats,
   * streams and automatic function calling keep their originals.
   */
  fetch: (options: GenAiOptions = {}): typeof fetch => createFetch(options),

  /** A callback of ADK that does the same: `new LlmAgent({ beforeModelCallback: palimpsest.callback({ store }) })`. */
  callback: (options: AdkOptions = {}): AdkCallback => createCallback(options),

  /** The tool `recall` for genai: `config: { tools: [...tools, ...palimpsest.tools({ store })] }`. */
  tools: (options: Pick<AdapterOptions, 'store'>): [GenAiRecallTool] => [
    toGenAiTool(storeOf('palimpsest.tools', options)),
  ],

  /** The tool `recall` for ADK, as options of its own class: `new FunctionTool(palimpsest.recall({ store }))`. */
  recall: (options: Pick<AdapterOptions, 'store'>): AdkRecallOptions =>
    toAdkOptions(storeOf('palimpsest.recall', options)),
};

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { HttpStep } from '../json-body.ts';
export type { AdkCallback, AdkContext, AdkStep } from './callback.ts';
export type { AdkRecallOptions, GenAiRecallTool } from './recall-tool.ts';
