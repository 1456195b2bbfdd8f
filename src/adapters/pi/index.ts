import { createAdapter, storeOf } from '../adapter.ts';
import { type PiExtension, toExtension } from './extension.ts';
import { fitMessages, type PiOptions } from './fit-messages.ts';
import { type PiRecallTool, toPiTool } from './recall-tool.ts';

/** A `transformContext` of `Agent` and of the agent loop. */
export type PiTransformContext = <Message>(messages: Message[], signal?: AbortSignal) => Promise<Message[]>;

/**
 * A `transformContext` that fits every request into the model's window: `new Agent({ transformContext: palimpsest({ store }) })`.
 * The messages of the agent stay as they are. It rejects if the store fails or the run is aborted, and then nothing is sent.
 *
 * @example
 * ```ts
 * import { Agent, type StreamFn } from '@earendil-works/pi-agent-core';
 * import { palimpsest } from 'palimpsest/pi';
 *
 * const agentOf = (streamFn: StreamFn) => new Agent({ streamFn, transformContext: palimpsest({ store }) });
 * ```
 */
export function palimpsest(options: PiOptions = {}): PiTransformContext {
  const adapter = createAdapter('palimpsest', options);
  return (messages, signal) => fitMessages(adapter, messages, { signal });
}

/** An extension of the coding agent pi, with the tool `recall`: `export default palimpsest.extension({ store })`. */
palimpsest.extension = (options: PiOptions = {}): PiExtension => {
  const adapter = createAdapter('palimpsest.extension', options);
  const { store, recall = true } = options;
  return toExtension(adapter, store && recall ? [toPiTool(store)] : []);
};

/** The tools that the model needs to recall masked texts: `tools: [...tools, ...palimpsest.tools({ store })]`. */
palimpsest.tools = (options: Pick<PiOptions, 'store'>): PiRecallTool[] => [
  toPiTool(storeOf('palimpsest.tools', options)),
];

export type { AdapterOptions, ReportedStep } from '../adapter.ts';
export type { PiExtension, PiExtensionContext, PiExtensionHost } from './extension.ts';
export type { PiOptions, PiStep } from './fit-messages.ts';
export type { PiRecallTool } from './recall-tool.ts';
