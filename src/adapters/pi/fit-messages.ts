import { asList, asString, type Fields, isRecord } from '../../formats/lens.ts';
import { type PiMessage, pi } from '../../formats/pi.ts';
import { isRecallTool } from '../../plan/handles.ts';
import type { Adapter, AdapterOptions } from '../adapter.ts';

/** Options of `palimpsest`, `palimpsest.extension` and `palimpsest.tools`. */
export type PiOptions = AdapterOptions<PiStep>;

/** A step, as the option `session` gets it. */
export interface PiStep {
  /** The messages before they are fitted. */
  readonly messages: readonly unknown[];
}

interface Known {
  readonly signal: AbortSignal | undefined;
  readonly model?: string | undefined;
  readonly session?: string | undefined;
}

/** Fits the messages of a request. The system prompt and the tools are among them, in system messages. */
export async function fitMessages<Message>(
  adapter: Adapter<PiStep>,
  given: Message[],
  { signal, model, session }: Known,
): Promise<Message[]> {
  const messages = given as unknown as PiMessage[];
  const reply = lastReply(messages);
  const fitted = await adapter.fit({
    messages,
    format: pi,
    tools: declaredRecall(messages),
    model: model ?? asString(reply.model),
    session,
    signal,
    canRequire: optsIn(reply),
    step: { messages },
  });
  return fitted.messages as unknown as Message[];
}

const lastReply = (messages: readonly PiMessage[]): Fields =>
  (messages.findLast((message) => message?.role === 'assistant') ?? {}) as Fields;

/**
 * pi itself sends the field and the header of `report.requires` with every request to a model whose effort it manages. Only
 * replies of such models carry their level.
 */
const optsIn = (reply: Fields): boolean => reply.providerThinkingLevel !== undefined;

/** The tool `recall` by its name alone, because its declaration counts where it is: in a system message. */
function declaredRecall(messages: readonly PiMessage[]): { name: string }[] {
  const systems = messages.filter((message) => isRecord(message) && message.role === 'system') as unknown as Fields[];
  return systems.some(({ toolsAdded }) => asList(toolsAdded).some(isRecallTool)) ? [{ name: 'recall' }] : [];
}
