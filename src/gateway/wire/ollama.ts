import { asString, type Fields } from '../../formats/lens.ts';
import { ollama as format } from '../../formats/ollama.ts';
import { type Prices, priceLists } from '../../plan/prices.ts';
import { anyMessage, isFilled, type Wire } from './wire.ts';

/**
 * A server on this machine bills nothing, but it evaluates every token after the first difference from the last prompt. A token in its
 * memory costs next to nothing, as at DeepSeek, whose numbers these are. Servers unload a model after some idle time; an hour is the
 * longest default among them.
 */
export const localPrices: Prices = {
  ...priceLists.deepseek,
  name: 'local',
  lifeMs: 3_600_000,
  source: 'the time to evaluate a prompt: an estimate',
};

/** Ollama's own chat API. */
export const ollama = {
  home: {
    name: 'ollama',
    address: 'http://127.0.0.1:11434',
    speaks: ['openai-chat', 'openai-responses', 'anthropic'],
    prices: localPrices,
    // Below `/api/v1` others serve OpenAI's APIs.
    signs: { path: /^\/api\/(?!v\d)/ },
  },
  routes: [{ path: /^\/api\/chat$/ }],
  format: anyMessage(format),
  messages: 'messages',
  overhead: ['tools'],
  resultSigns: ['"tool"'],
  prices: localPrices,
  answers: (message) => asString(message.tool_call_id) ?? asString(message.tool_name) ?? '',
  asksForJson: (field) => Boolean(field('format')),
  usageSigns: ['eval_count'],
  cutsPrompts: true,
  // The counts are members of the answer, in a stream of its last line. Some versions leave out the count of a cached prompt.
  usageIn: ({ prompt_eval_count, eval_count, model }) =>
    prompt_eval_count === undefined ? {} : { usage: { prompt_eval_count, eval_count }, model },
  endSigns: ['"done":true', '"done": true', '"tool_calls"'],
  endIn: ({ done, done_reason = 'stop', message }) => ({
    isComplete: done === true ? done_reason === 'stop' : undefined,
    hasCall: isFilled(((message ?? {}) as Fields).tool_calls),
  }),
} as const satisfies Wire;
