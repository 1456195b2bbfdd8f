import type { Format, FormatName } from '../message.ts';
import { aiSdk } from './ai-sdk.ts';
import { anthropic } from './anthropic.ts';
import { chat } from './chat.ts';
import { gemini } from './gemini.ts';
import { langchain, typeOf } from './langchain.ts';
import { asList, type Fields, isRecord } from './lens.ts';
import { openaiAgents } from './openai-agents.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

export const formats = {
  chat,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  gemini,
  'ai-sdk': aiSdk,
  langchain,
  'openai-agents': openaiAgents,
} as const satisfies Record<FormatName, unknown>;

/** The format with this name, for lists whose type is only known at run time. */
export const formatByName = (name: FormatName): Format<unknown> => formats[name] as unknown as Format<unknown>;

/** Names the format of a list, or answers undefined. Lists of plain text read the same in most: `openai-chat`. */
export function detectFormat(messages: readonly unknown[]): FormatName | undefined {
  let guess: FormatName | undefined;
  for (const message of messages) {
    if (!isRecord(message)) return undefined;
    const certain = certainFormat(message);
    if (certain) return certain;
    guess = likelyFormat(message) ?? guess;
  }
  return guess;
}

/** What only one format has. */
function certainFormat(message: Fields): FormatName | undefined {
  if (message.lc === 1 || typeof message._getType === 'function' || typeof message.getType === 'function')
    return 'langchain';
  if (message.role === undefined && LANGCHAIN_TYPES.has(String(typeOf(message)))) return 'langchain';
  if (Array.isArray(message.parts)) return 'gemini';
  if (message.role === undefined || message.type === 'message') return itemFormat(message);
  if (has(message, 'tool_calls', 'tool_call_id', 'function_call') || message.role === 'developer') return 'openai-chat';
  if (has(message, 'toolCalls', 'toolCallId', 'pairId', 'pairRole', 'tags')) return 'chat';
  for (const part of asList(message.content)) {
    const found = partFormat(part, String(part.type));
    if (found) return found;
  }
  return undefined;
}

function partFormat(part: Fields, type: string): FormatName | undefined {
  if (AI_SDK_PARTS.has(type) || has(part, 'mediaType')) return 'ai-sdk';
  if (ANTHROPIC_BLOCKS.has(type) || type.endsWith('_tool_result') || has(part, 'source')) return 'anthropic';
  return has(part, 'image_url', 'input_audio', 'refusal', 'file') ? 'openai-chat' : undefined;
}

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
  'compaction',
]);

const ITEM_PARTS = new Set(['input_text', 'output_text', 'input_image', 'input_file']);

const has = (message: Fields, ...keys: readonly string[]): boolean =>
  keys.some((key) => message[key] !== undefined && message[key] !== null);

function itemFormat(item: Fields): FormatName | undefined {
  const type = String(item.type);
  if (has(item, 'callId') || type === 'function_call_result' || type === 'hosted_tool_call') return 'openai-agents';
  if (has(item, 'call_id', 'encrypted_content') || type.endsWith('_call_output')) return 'openai-responses';
  if (type === 'reasoning') return Array.isArray(item.summary) ? 'openai-responses' : 'openai-agents';
  return undefined;
}

function likelyFormat(message: Fields): FormatName | undefined {
  const isItem = message.type === 'message' || String(message.type).endsWith('_call');
  if (isItem || asList(message.content).some((part) => ITEM_PARTS.has(String(part.type)))) return 'openai-responses';
  if (typeof message.role !== 'string') return undefined;
  if (typeof message.content === 'string' || message.content === null) return 'openai-chat';
  return Array.isArray(message.content) ? (message.role === 'system' ? 'openai-chat' : 'anthropic') : undefined;
}
