import { asString } from '../../formats/lens.ts';
import { openaiChat as format } from '../../formats/openai-chat.ts';
import { priceLists } from '../../plan/prices.ts';
import { readBlocks } from './cache-blocks.ts';
import { anyMessage, type Wire } from './wire.ts';

/** OpenAI's Chat Completions, and what speaks like it. Models of Anthropic's behind it take cache markers. */
export const openaiChat = {
  provider: 'openai',
  routes: [{ path: /\/chat\/completions$/ }],
  format: anyMessage(format),
  messages: 'messages',
  overhead: ['tools', 'functions'],
  resultSigns: ['"tool"', '"function"'],
  prices: priceLists['gpt-5'],
  answers: (message) => asString(message.tool_call_id) ?? asString(message.name) ?? '',
  readBlocks,
  usageIn: ({ usage }) => ({ usage }),
} as const satisfies Wire;
