import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { openaiResponses as format } from '../../formats/openai-responses.ts';
import { priceLists } from '../../plan/prices.ts';
import { openai } from './openai-chat.ts';
import { anyMessage, type Wire } from './wire.ts';

const UNDER_WAY = new Set(['queued', 'in_progress']);

/** OpenAI's Responses. */
export const openaiResponses = {
  home: openai,
  routes: [{ path: /^(?:(?:\/[^/]+)*\/v1)?\/responses(?:\/compact)?$/ }],
  format: anyMessage(format),
  messages: 'input',
  overhead: ['instructions', 'tools'],
  resultSigns: ['_output', 'mcp_call', 'compaction'],
  prices: priceLists['gpt-5'],
  answers: (item) => asString(item.call_id) ?? asString(item.id) ?? '',
  // Codex. Not `prompt_cache_key`, which other clients share between conversations.
  sessionIn: (field) => ((field('client_metadata') ?? {}) as Fields).session_id,
  asksToCompact: ({ path, last }) => path.endsWith('/compact') || last?.type === 'compaction_trigger',
  asksForJson: (field) => {
    const { format } = (field('text') ?? {}) as Fields;
    return String((format as Fields | undefined)?.type).startsWith('json');
  },
  usageSigns: ['usage'],
  usageIn: ({ usage, model, response }) => {
    const inner = isRecord(response) ? response : {};
    return { usage: inner.usage ?? usage, model: inner.model ?? model };
  },
  endSigns: ['output_item.done'],
  endIn: ({ response, item, ...document }) => {
    const { status, output } = (isRecord(response) ? response : document) as Fields;
    const items: readonly unknown[] = [item, ...(Array.isArray(output) ? output : [])];
    return {
      isComplete: typeof status !== 'string' || UNDER_WAY.has(status) ? undefined : status === 'completed',
      // Calls that the provider runs itself have none.
      hasCall: items.some((one) => isRecord(one) && typeof one.call_id === 'string'),
    };
  },
} as const satisfies Wire;
