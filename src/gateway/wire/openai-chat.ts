import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { openaiChat as format } from '../../formats/openai-chat.ts';
import { priceLists } from '../../plan/prices.ts';
import { readBlocks } from './cache-markers.ts';
import { anyMessage, type Home, isFilled, partAt, type Wire } from './wire.ts';

/** The home of both of OpenAI's APIs. */
export const openai = { name: 'openai', address: 'https://api.openai.com' } as const satisfies Home;

/** OpenAI's Chat Completions, and compatible APIs. Anthropic's models behind it take cache markers. */
export const openaiChat = {
  home: openai,
  routes: [{ path: /\/chat\/completions$/ }],
  format: anyMessage(format),
  messages: 'messages',
  overhead: ['tools', 'functions'],
  resultSigns: ['"tool"', '"function"'],
  prices: priceLists['gpt-5'],
  answers: (message) => asString(message.tool_call_id) ?? asString(message.name) ?? '',
  // Qwen Code, with DashScope.
  sessionIn: (field) => ((field('metadata') ?? {}) as Fields).sessionId,
  readBlocks,
  asksForJson: (field) => String((field('response_format') as Fields | undefined)?.type).startsWith('json'),
  usageSigns: ['usage'],
  usageIn: ({ usage, model }) => ({ usage, model }),
  // Only the last event has a reason. In all others it is null.
  endSigns: ['"finish_reason":"', '"finish_reason": "', '"tool_calls":[{', '"tool_calls": [{'],
  endIn: (event) => {
    const { finish_reason: reason, message, delta } = partAt(event, 'choices', 0);
    const { tool_calls, function_call } = (delta ?? message ?? {}) as Fields;
    return {
      isComplete: typeof reason === 'string' ? reason === 'stop' : undefined,
      hasCall: isFilled(tool_calls) || isRecord(function_call),
    };
  },
} as const satisfies Wire;
