import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { openaiResponses as format } from '../../formats/openai-responses.ts';
import { priceLists } from '../../plan/prices.ts';
import { openai } from './openai-chat.ts';
import { anyMessage, type Wire } from './wire.ts';

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
  asksToCompact: ({ path, last }) => path.endsWith('/compact') || last?.type === 'compaction_trigger',
  asksForJson: (valueIn) => {
    const { format } = (valueIn('text') ?? {}) as Fields;
    return String((format as Fields | undefined)?.type).startsWith('json');
  },
  usageSigns: ['usage'],
  usageIn: ({ usage, model, response }) => {
    const inner = isRecord(response) ? response : {};
    return { usage: inner.usage ?? usage, model: inner.model ?? model };
  },
} as const satisfies Wire;
