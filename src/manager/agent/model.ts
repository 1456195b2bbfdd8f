import { PalimpsestError } from '../../errors.ts';
import { isRecord, toText } from '../../formats/lens.ts';
import type { Format, FormatName } from '../../message.ts';
import type { Requirement } from '../../plan/report.ts';
import type { ToolCall } from '../tool-call.ts';
import { readUsage, type Usage } from '../usage.ts';

/** A tool as the model sees it. */
export interface ToolDefinition {
  /** The name by which the model calls it. */
  readonly name: string;
  /** The description that the model reads. */
  readonly description: string;
  /** A JSON schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A request to a model. */
export interface ModelRequest<M> {
  /** The conversation to send. */
  readonly messages: readonly M[];
  /** The system prompt. */
  readonly system?: string;
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[];
  /** How long the answer may be. */
  readonly maxOutputTokens?: number;
  /** Options that the request must set because its history was edited: signed thinking is bound to the text before it. */
  readonly requires?: readonly Requirement[];
  /** Messages that need a cache marker before them, so that the provider finds the unedited prefix. */
  readonly cacheMarkers?: readonly number[];
  /** Called with each piece of the answer. Without it, the answer need not be streamed. */
  readonly onText?: (delta: string) => void;
}

/** Why a reply ended: by itself or for calls, cut by a limit, interrupted and to be continued, or refused. */
export type Stop = 'end' | 'length' | 'pause' | 'refusal' | 'context-full';

/** The answer of a model. */
export interface Reply<M> {
  /** The messages of the provider, in the format of the request. Empty if it answered nothing. */
  readonly messages: readonly M[];
  /** The calls in the answer. */
  readonly calls: readonly ToolCall[];
  /** The text of the answer. */
  readonly text: string;
  /** Tokens, as the provider counted them. */
  readonly usage?: Usage;
  /** `'end'` if not given. */
  readonly stop?: Stop;
}

/** Any model: a function, and the format of its messages. */
export interface Model<M> {
  /** Sends one request and resolves with the answer. Must stop when the signal is aborted. */
  (request: ModelRequest<M>, signal: AbortSignal): Promise<Reply<M>>;
  /** A format, such as `anthropic`, or its name. That of the session if not given, and `chat` without a session. */
  readonly format?: Format<M> | FormatName;
  /** The name of the model, which tells its context window and prices. */
  readonly model?: string;
}

/** Reads the arguments of a call, which most providers send as a text. */
export function readCall(call: { readonly id: string; readonly name: string; readonly arguments: unknown }): ToolCall {
  if (typeof call.arguments !== 'string') return { ...call, arguments: call.arguments ?? {} };
  if (call.arguments.trim() === '') return { ...call, arguments: {} };
  try {
    return { ...call, arguments: JSON.parse(call.arguments) ?? {} };
  } catch (error) {
    return { ...call, malformed: (error as Error).message };
  }
}

/** Marks a call whose arguments may be cut off although they can be parsed. It must not be made. */
export const cutOff = (call: ToolCall): ToolCall => ({ ...call, malformed: 'they were cut off' });

/** Checks the answer of a model, which may be the caller's own function. */
export function checkReply<M>(reply: Reply<M>): Reply<M> {
  const { messages, calls, text } = isRecord(reply) ? reply : ({} as Partial<Reply<M>>);
  if (Array.isArray(messages) && Array.isArray(calls) && typeof text === 'string') return reply;
  const found = toText(reply).slice(0, 300) || 'nothing';
  throw new PalimpsestError(
    'MODEL_FAILED',
    `Expected the model to answer { messages, calls, text } but found ${found}`,
  );
}

/** The usage of a reply, if the provider reports it. */
export function usageOf(response: unknown): { readonly usage?: Usage } {
  const usage = readUsage(response);
  return usage ? { usage } : {};
}
