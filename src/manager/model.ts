import { PalimpsestError } from '../errors.ts';
import { isRecord, toText } from '../formats/lens.ts';
import type { Format, FormatName } from '../message.ts';
import type { Requirement } from '../plan/report.ts';
import type { ToolCall } from './tool-call.ts';
import { readUsage, type Usage } from './usage.ts';

/** A tool as a model is told of it. */
export interface ToolDefinition {
  /** The name by which the model calls it. */
  readonly name: string;
  /** What the model is told of it. */
  readonly description: string;
  /** A JSON schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** What a model is asked. */
export interface ModelRequest<M> {
  /** The conversation to send. */
  readonly messages: readonly M[];
  /** The system prompt. */
  readonly system?: string;
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[];
  /** How long the answer may be. */
  readonly maxOutputTokens?: number;
  /** What the request must carry since its history was edited: signed thinking is bound to what stood before it. */
  readonly requires?: readonly Requirement[];
  /** Messages before which a cache marker lets the unedited prefix be found. */
  readonly cacheMarkers?: readonly number[];
  /** Gets the text of the answer as it comes. Without it, the answer need not be streamed. */
  readonly onText?: (delta: string) => void;
}

/** Why a reply ended: by itself or for calls, cut by a limit, interrupted to be gone on with, or refused. */
export type Stop = 'end' | 'length' | 'pause' | 'refusal' | 'context-full';

/** What a model answered. */
export interface Reply<M> {
  /** In the format of the request, as the provider gave them. None where it said nothing. */
  readonly messages: readonly M[];
  /** The calls that it makes. */
  readonly calls: readonly ToolCall[];
  /** Its words. */
  readonly text: string;
  /** Tokens, as the provider counted them. */
  readonly usage?: Usage;
  /** `'end'` if not given. */
  readonly stop?: Stop;
}

/** Any model: a function, and the format of its messages. */
export interface Model<M> {
  (request: ModelRequest<M>, signal: AbortSignal): Promise<Reply<M>>;
  /** A format, such as `anthropic`, or its name. That of the session if not given, and `chat` without a session. */
  readonly format?: Format<M> | FormatName;
  /** For its context window and prices. */
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

/** A call whose arguments may end too early, though they can be read: it must not be made. */
export const cutOff = (call: ToolCall): ToolCall => ({ ...call, malformed: 'they were cut off' });

/** Anyone may write a model: what it answers is looked at before it is believed. */
export function checkReply<M>(reply: Reply<M>): Reply<M> {
  const { messages, calls, text } = isRecord(reply) ? reply : ({} as Partial<Reply<M>>);
  if (Array.isArray(messages) && Array.isArray(calls) && typeof text === 'string') return reply;
  const found = toText(reply).slice(0, 300) || 'nothing';
  throw new PalimpsestError(
    'MODEL_FAILED',
    `Expected the model to answer { messages, calls, text } but found ${found}`,
  );
}

/** The usage of a reply, where the provider told it. */
export function usageOf(response: unknown): { readonly usage?: Usage } {
  const usage = readUsage(response);
  return usage ? { usage } : {};
}
