import { type GeminiContent, gemini } from '../../formats/gemini.ts';
import type { Signal } from '../../store/store.ts';
import { createAdapter } from '../adapter.ts';
import type { AdkOptions } from './index.ts';

/** A `beforeModelCallback` of an `LlmAgent`. */
export type AdkCallback = (step: { readonly context: AdkContext; readonly request: AdkRequest }) => Promise<undefined>;

/** A step, as the option `session` gets it. */
export interface AdkStep {
  /** The context that ADK gives to the callback. */
  readonly context: AdkContext;
}

/** The parts of ADK's context of a callback that are used here. */
export interface AdkContext {
  /** The id of ADK's session. */
  readonly sessionId: string;
  /** The id of ADK's user. */
  readonly userId: string;
  /** The agent whose turn it is. */
  readonly agentName: string;
  /** The run that the step belongs to. */
  readonly invocationContext: { readonly abortSignal?: Signal | undefined };
}

/** The parts of ADK's `LlmRequest` that are used here. */
interface AdkRequest {
  contents: object[];
  readonly model?: string | undefined;
  readonly config?: { readonly systemInstruction?: unknown; readonly tools?: unknown };
  readonly previousInteractionId?: string | undefined;
}

/** ADK makes the contents of each request from the events of the session, which keep the originals. */
export function createCallback(options: AdkOptions): AdkCallback {
  const adapter = createAdapter('palimpsest.callback', options);
  return async ({ context, request }) => {
    // The Interactions API has the history: requests carry only new messages.
    if (request.previousInteractionId !== undefined) return;
    const { systemInstruction, tools } = request.config ?? {};
    const { messages } = await adapter.fit<GeminiContent>({
      messages: request.contents,
      format: gemini,
      system: systemInstruction,
      tools,
      model: request.model,
      session: context.sessionId,
      signal: context.invocationContext.abortSignal,
      canRequire: false,
      step: { context },
    });
    request.contents = messages;
  };
}
