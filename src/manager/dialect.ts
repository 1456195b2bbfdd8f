import type { AiSdkMessage } from '../formats/ai-sdk.ts';
import type { AnthropicMessage } from '../formats/anthropic.ts';
import { formats } from '../formats/detect-format.ts';
import type { GeminiContent } from '../formats/gemini.ts';
import type { Item } from '../formats/items.ts';
import type { LangChainMessage } from '../formats/langchain.ts';
import type { OpenAIChatMessage } from '../formats/openai-chat.ts';
import type { ChatMessage, Format, FormatName } from '../message.ts';
import { badOption } from '../options.ts';

/** A call that a model made, whatever its format. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as data. */
  readonly arguments: unknown;
  /** Why the arguments could not be read, where they could not. They stand as their text then. */
  readonly malformed?: string;
}

/** What came of a call. */
export interface ToolResult {
  readonly call: ToolCall;
  readonly text: string;
  readonly isError: boolean;
}

/** How a format writes what the loop and the session have to say. */
export interface Dialect<M> {
  readonly format: Format<M>;
  user(text: string): M;
  /** Our own word to the model, in the role that the format allows among the messages. */
  notice(text: string): M;
  /** The results of one reply, in one message or several. */
  results(results: readonly ToolResult[]): M[];
}

/** Writes the neutral message list. */
export const chatDialect: Dialect<ChatMessage> = createDialect(formats.chat, {
  user: (content) => ({ role: 'user', content }),
  results: each(({ call, text }) => ({ role: 'tool', content: text, name: call.name, toolCallId: call.id })),
});

/** Writes messages of OpenAI's Chat Completions. */
export const openaiChatDialect: Dialect<OpenAIChatMessage> = createDialect(formats['openai-chat'], {
  user: (content) => ({ role: 'user', content }),
  results: each(({ call, text }) => ({ role: 'tool', tool_call_id: call.id, content: text })),
});

/** Writes items of OpenAI's Responses API. */
export const openaiResponsesDialect: Dialect<Item> = createDialect(formats['openai-responses'], {
  user: (content): Item => ({ type: 'message', role: 'user', content }) as Item,
  results: each(({ call, text }): Item => ({ type: 'function_call_output', call_id: call.id, output: text }) as Item),
});

/** Writes messages of Anthropic's Messages API. */
export const anthropicDialect: Dialect<AnthropicMessage> = createDialect(formats.anthropic, {
  user: (content) => ({ role: 'user', content }),
  // "tool_result blocks must be in the next message": all of one reply stand in one.
  results: (results) => [{ role: 'user', content: results.map(anthropicResult) }],
});

/** Writes `Content`s of Gemini. */
export const geminiDialect: Dialect<GeminiContent> = createDialect(formats.gemini, {
  user: (text) => ({ role: 'user', parts: [{ text }] }),
  results: (results) => [{ role: 'user', parts: results.map(geminiResult) }],
});

/** Writes `ModelMessage`s of the AI SDK. */
export const aiSdkDialect: Dialect<AiSdkMessage> = createDialect(formats['ai-sdk'], {
  user: (content) => ({ role: 'user', content }),
  results: (results) => [{ role: 'tool', content: results.map(aiSdkResult) }],
});

/** Writes plain LangChain messages. */
export const langchainDialect: Dialect<LangChainMessage> = createDialect(formats.langchain, {
  user: (content) => ({ type: 'human', content }),
  results: each(({ call, text, isError }) => ({
    type: 'tool',
    content: text,
    tool_call_id: call.id,
    name: call.name,
    status: isError ? 'error' : 'success',
  })),
});

/** Writes items of the OpenAI Agents SDK. */
export const openaiAgentsDialect: Dialect<Item> = createDialect(formats['openai-agents'], {
  user: (content): Item => ({ type: 'message', role: 'user', content }) as Item,
  results: each(
    ({ call, text, isError }): Item =>
      ({
        type: 'function_call_result',
        callId: call.id,
        name: call.name,
        status: isError ? 'incomplete' : 'completed',
        output: { type: 'text', text },
      }) as Item,
  ),
});

const dialects = {
  chat: chatDialect,
  'openai-chat': openaiChatDialect,
  'openai-responses': openaiResponsesDialect,
  anthropic: anthropicDialect,
  gemini: geminiDialect,
  'ai-sdk': aiSdkDialect,
  langchain: langchainDialect,
  'openai-agents': openaiAgentsDialect,
} as const satisfies Record<FormatName, unknown>;

/** The dialect of a format, for lists whose type is only known at run time. */
export function dialectOf(name: FormatName): Dialect<unknown> {
  if (!Object.hasOwn(dialects, name))
    throw badOption('the option format', `one of ${Object.keys(dialects).join(', ')}`, name);
  return dialects[name] as unknown as Dialect<unknown>;
}

function createDialect<M>(format: Format<M>, words: Pick<Dialect<M>, 'user' | 'results'>): Dialect<M> {
  return { format, ...words, notice: (text) => format.note(format.noteRole, text, []) };
}

function each<M>(write: (result: ToolResult) => M): (results: readonly ToolResult[]) => M[] {
  return (results) => results.map(write);
}

function anthropicResult({ call, text, isError }: ToolResult): object {
  return { type: 'tool_result', tool_use_id: call.id, content: text, ...(isError ? { is_error: true } : {}) };
}

function geminiResult({ call, text, isError }: ToolResult): object {
  // Gemini gives ids to calls on some of its models only; where it gave none, an id of ours would name nothing.
  const id = call.id === '' || call.id === `function ${call.name}` ? {} : { id: call.id };
  return { functionResponse: { ...id, name: call.name, response: isError ? { error: text } : { output: text } } };
}

function aiSdkResult({ call, text, isError }: ToolResult): object {
  const output = { type: isError ? 'error-text' : 'text', value: text };
  return { type: 'tool-result', toolCallId: call.id, toolName: call.name, output };
}

/** A dialect as it is given to a session: itself, the name of its format, or nothing, which is `chat`. */
export function toDialect<M>(given: Dialect<M> | FormatName | undefined): Dialect<M> {
  if (typeof given === 'object' && given !== null) return given;
  return dialectOf(given ?? 'chat') as unknown as Dialect<M>;
}
