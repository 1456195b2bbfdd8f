import { asString, type Fields } from '../../formats/lens.ts';
import { openaiResponses as format } from '../../formats/openai-responses.ts';
import { priceLists } from '../../plan/prices.ts';
import { openai } from './openai-chat.ts';
import { anyMessage, type Wire } from './wire.ts';

/** OpenAI's Responses. */
export const openaiResponses = {
  home: openai,
  routes: [{ path: /^(?:\/[^/]+)*\/v1\/responses$|^\/responses$/ }],
  format: anyMessage(format),
  messages: 'input',
  overhead: ['instructions', 'tools'],
  resultSigns: ['_output', 'mcp_call', 'compaction'],
  prices: priceLists['gpt-5'],
  answers: (item) => asString(item.call_id) ?? asString(item.id) ?? '',
  // Codex. Not `prompt_cache_key`, which other clients share between conversations.
  sessionIn: (field) => ((field('client_metadata') ?? {}) as Fields).session_id,
  asksToCompact: ({ type }) => type === 'compaction_trigger',
  usageSigns: ['usage'],
  usageIn: ({ usage, response }) => ({ usage: (response as { readonly usage?: unknown } | null)?.usage ?? usage }),
} as const satisfies Wire;
