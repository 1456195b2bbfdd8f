import { asString, type Fields } from '../../formats/lens.ts';
import { openaiChat as format } from '../../formats/openai-chat.ts';
import { priceLists } from '../../plan/prices.ts';
import { readBlocks } from './cache-markers.ts';
import { anyMessage, type Home, type Wire } from './wire.ts';

/** The home of both of OpenAI's APIs. */
export const openai = { name: 'openai', address: 'https://api.openai.com' } as const satisfies Home;

/** OpenAI's Chat Completions, and what speaks like it. Models of Anthropic's behind it take cache markers. */
export const openaiChat = {
  home: openai,
  routes: [{ path: /\/chat\/completions$/ }],
  format: anyMessage(format),
  messages: 'messages',
  overhead: ['tools', 'functions'],
  resultSigns: ['"tool"', '"function"'],
  prices: priceLists['gpt-5'],
  answers: (message) => asString(message.tool_call_id) ?? asString(message.name) ?? '',
  readBlocks,
  asksForJson: (valueIn) => String((valueIn('response_format') as Fields | undefined)?.type).startsWith('json'),
  usageSigns: ['usage'],
  usageIn: ({ usage, model }) => ({ usage, model }),
} as const satisfies Wire;
