import type { Format, FormatName } from '../message.ts';
import { badOption } from '../options.ts';
import { aiSdk } from './ai-sdk.ts';
import { anthropic } from './anthropic.ts';
import { bedrockConverse } from './bedrock-converse.ts';
import { chat } from './chat.ts';
import { type Coverage, coverageOf, readsTooLittle } from './coverage.ts';
import { gemini } from './gemini.ts';
import { langchain, typeOf } from './langchain.ts';
import { asList, asString, type Fields, isRecord } from './lens.ts';
import { ollama } from './ollama.ts';
import { openaiAgents } from './openai-agents.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { pi } from './pi.ts';

export const formats = {
  chat,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  gemini,
  'ai-sdk': aiSdk,
  langchain,
  'openai-agents': openaiAgents,
  ollama,
  'bedrock-converse': bedrockConverse,
  pi,
} as const satisfies Record<FormatName, unknown>;

/** The format with this name, for lists whose type is only known at run time. */
export function formatByName(name: FormatName): Format<unknown> {
  if (!Object.hasOwn(formats, name))
    throw badOption('the option format', `one of ${Object.keys(formats).join(', ')}`, name);
  return formats[name] as unknown as Format<unknown>;
}

/** Whether something in a list belongs to one format only. Plain text does not. */
export const isCertain = (messages: readonly unknown[]): boolean => certainFormatOf(messages) !== undefined;

/**
 * Names the format of a list. Undefined if it is unknown, or if the format would read little of the text. Lists of plain text look the
 * same in most formats: `openai-chat`.
 *
 * @example
 * ```ts
 * import { detectFormat } from 'palimpsest/formats';
 *
 * console.log(detectFormat([{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }]));
 * ```
 */
export function detectFormat(messages: readonly unknown[]): FormatName | undefined {
  const name = guessFormat(messages);
  return name && isOfFormat(name, coverageOf(formatByName(name), messages), { messages }) ? name : undefined;
}

/** The format that a list looks like. The format may still miss most of its text. */
export const guessFormat = (messages: readonly unknown[]): FormatName | undefined =>
  certainFormatOf(messages) ?? (messages.every(isRecord) ? likelyFormat(messages) : undefined);

function certainFormatOf(messages: readonly unknown[]): FormatName | undefined {
  for (const message of messages) {
    const certain = isRecord(message) ? certainFormat(message) : undefined;
    if (certain) return certain;
  }
  return undefined;
}

interface Measured {
  readonly messages: readonly unknown[];
  /** Whether the caller named the format. */
  readonly isNamed?: boolean;
}

/**
 * Whether a list has a format, by the share of its text that the format reads. Providers add new types of blocks, so blocks of unknown
 * types count as read if something else shows the format. A guess by their look does not show it.
 */
export function isOfFormat(name: string, coverage: Coverage, { messages, isNamed = false }: Measured): boolean {
  if (!readsTooLittle(coverage)) return true;
  if (readsTooLittle({ ...coverage, read: coverage.read + coverage.unknown })) return false;
  const certain = certainFormatOf(messages);
  return certain === name || (isNamed && certain === undefined);
}

/** Recognises a message by features that only one format has. */
function certainFormat(message: Fields): FormatName | undefined {
  if (message.lc === 1 || typeof message._getType === 'function' || typeof message.getType === 'function')
    return 'langchain';
  if (message.role === undefined && LANGCHAIN_TYPES.has(String(typeOf(message)))) return 'langchain';
  if (Array.isArray(message.parts)) return isGemini(message) ? 'gemini' : undefined;
  if (message.role === undefined || message.type === 'message') return itemFormat(message);
  if (PI_ROLES.has(String(message.role)) || has(message, 'stopReason')) return 'pi';
  if (has(message, 'tool_name') || hasParsedArguments(message)) return 'ollama';
  if (has(message, 'tool_calls', 'tool_call_id', 'function_call')) return 'openai-chat';
  if (has(message, 'toolCalls', 'toolCallId', 'pairId', 'pairRole', 'tags')) return 'chat';
  if (has(message, 'providerOptions')) return 'ai-sdk';
  for (const part of asList(message.content)) {
    const found = partFormat(part, asString(part.type) ?? '');
    if (found) return found;
  }
  return undefined;
}

/** OpenAI writes the arguments of a call as text, Ollama as an object. */
const hasParsedArguments = ({ tool_calls }: Fields): boolean =>
  asList(tool_calls).some((call) => isRecord(call.function) && isRecord(call.function.arguments));

/** UI messages of the AI SDK have parts too, but their parts have a type, and `assistant` is a role. */
const isGemini = ({ role, parts }: Fields): boolean =>
  role !== 'assistant' && role !== 'system' && asList(parts).every((part) => part.type === undefined);

function partFormat(part: Fields, type: string): FormatName | undefined {
  if (part.type === undefined && Object.keys(part).some((key) => CONVERSE_BLOCKS.has(key))) return 'bedrock-converse';
  if (type === 'toolCall') return 'pi';
  if (AI_SDK_PARTS.has(type) || has(part, 'mediaType', 'providerOptions') || (type === 'image' && has(part, 'image')))
    return 'ai-sdk';
  if (ANTHROPIC_BLOCKS.has(type) || type.endsWith('_tool_result') || has(part, 'source')) return 'anthropic';
  return has(part, 'image_url', 'input_audio', 'refusal', 'file') && !ITEM_PARTS.has(type) ? 'openai-chat' : undefined;
}

const PI_ROLES = new Set(['toolResult', 'bashExecution', 'branchSummary', 'compactionSummary']);
/** A block of Converse is named by its only field. */
const CONVERSE_BLOCKS = new Set([
  'text',
  'toolUse',
  'toolResult',
  'reasoningContent',
  'cachePoint',
  'image',
  'document',
  'video',
  'audio',
  'guardContent',
  'citationsContent',
  'searchResult',
]);
const LANGCHAIN_TYPES = new Set(['human', 'ai', 'system', 'tool']);
const AI_SDK_PARTS = new Set([
  'tool-call',
  'tool-result',
  'tool-approval-request',
  'tool-approval-response',
  'reasoning',
]);
const ANTHROPIC_BLOCKS = new Set([
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'server_tool_use',
  'mcp_tool_use',
  'compaction',
]);

const ITEM_PARTS = new Set(['input_text', 'output_text', 'input_image', 'input_file']);

const has = (message: Fields, ...keys: readonly string[]): boolean =>
  keys.some((key) => message[key] !== undefined && message[key] !== null);

function itemFormat(item: Fields): FormatName | undefined {
  const type = asString(item.type) ?? '';
  const isAgents = type === 'function_call_result' || type === 'hosted_tool_call';
  if (isAgents || has(item, 'callId', 'providerData', 'rawContent')) return 'openai-agents';
  if (has(item, 'call_id') || type.endsWith('_call_output')) return 'openai-responses';
  if (type.startsWith('mcp_')) return 'openai-responses';
  if (type === 'reasoning') return Array.isArray(item.summary) ? 'openai-responses' : 'openai-agents';
  return asList(item.content).some((part) => has(part, 'providerData')) ? 'openai-agents' : undefined;
}

function likelyFormat(messages: readonly Fields[]): FormatName | undefined {
  if (messages.some(isItem)) return 'openai-responses';
  const spoken = messages.filter(isSpoken);
  if (spoken.length === 0) return undefined;
  const hasSystem = spoken.some(({ role }) => role === 'system' || role === 'developer');
  return !hasSystem && spoken.some(({ content }) => Array.isArray(content)) ? 'anthropic' : 'openai-chat';
}

function isItem(message: Fields): boolean {
  const type = asString(message.type) ?? '';
  if (type === 'message' || type === 'item_reference' || type === 'compaction' || type.endsWith('_call')) return true;
  return asList(message.content).some((part) => ITEM_PARTS.has(asString(part.type) ?? ''));
}

const isSpoken = ({ role, content, parts }: Fields): boolean =>
  typeof role === 'string' &&
  parts === undefined &&
  (typeof content === 'string' || content === null || Array.isArray(content));
