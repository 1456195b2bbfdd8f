import type { Adapter } from '../adapter.ts';
import { fitMessages, type PiStep } from './fit-messages.ts';
import type { PiRecallTool } from './recall-tool.ts';

/** An extension of the coding agent pi: the default export of a file that `pi --extension` loads. */
export type PiExtension = (pi: PiExtensionHost) => void;

/** The part of pi's `ExtensionAPI` that is used. */
export interface PiExtensionHost {
  /** Adds a tool that the model may call. */
  registerTool(tool: PiRecallTool): void;
  /** Registers a handler that runs before each request. */
  on(event: 'context_with_system', handler: PiContextHandler): unknown;
}

/** Called before each request with all messages, also those that hold the system prompt and the tools. */
type PiContextHandler = <Message>(
  event: { messages: Message[] },
  context: PiExtensionContext,
) => Promise<{ messages: Message[] }>;

/** The part of pi's `ExtensionContext` that is used. */
export interface PiExtensionContext {
  /** The model of the request, where one is chosen. */
  readonly model: { readonly id: string } | undefined;
  /** Aborts the request. */
  readonly signal: AbortSignal | undefined;
  /** Knows the id of the conversation. */
  readonly sessionManager: { getSessionId(): string };
}

export function toExtension(adapter: Adapter<PiStep>, tools: readonly PiRecallTool[]): PiExtension {
  return (pi) => {
    for (const tool of tools) pi.registerTool(tool);
    pi.on('context_with_system', async ({ messages }, { model, signal, sessionManager }) => {
      const known = { signal, model: model?.id, session: sessionManager.getSessionId() };
      return { messages: await fitMessages(adapter, messages, known) };
    });
  };
}
