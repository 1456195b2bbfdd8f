import { describe, expect, it } from 'vitest';
import { addUsage, readUsage } from './usage.ts';

const usage = (promptTokens: number, completionTokens: number, cachedTokens = 0, cacheWriteTokens = 0) => ({
  promptTokens,
  completionTokens,
  cachedTokens,
  cacheWriteTokens,
});

describe('readUsage', () => {
  it.each([
    ['Ollama', { model: 'llama3.2', prompt_eval_count: 26, eval_count: 290, done: true }, usage(26, 290)],
    ['Ollama, where the prompt was cached and not counted', { eval_count: 290, done: true }, usage(0, 290)],
    [
      'OpenAI chat: cached tokens are among the prompt tokens',
      { usage: { prompt_tokens: 2006, completion_tokens: 300, prompt_tokens_details: { cached_tokens: 1920 } } },
      usage(2006, 300, 1920),
    ],
    [
      'OpenRouter tells what was written too',
      {
        usage: {
          prompt_tokens: 500,
          completion_tokens: 20,
          prompt_tokens_details: { cached_tokens: 100, cache_write_tokens: 50 },
        },
      },
      usage(500, 20, 100, 50),
    ],
    [
      'DeepSeek',
      {
        usage: {
          prompt_tokens: 1000,
          completion_tokens: 5,
          prompt_cache_hit_tokens: 640,
          prompt_cache_miss_tokens: 360,
        },
      },
      usage(1000, 5, 640),
    ],
    [
      'OpenAI Responses',
      { usage: { input_tokens: 328, output_tokens: 52, input_tokens_details: { cached_tokens: 128 } } },
      usage(328, 52, 128),
    ],
    [
      'the last event of a Responses stream',
      { type: 'response.completed', response: { usage: { input_tokens: 10, output_tokens: 2 } } },
      usage(10, 2),
    ],
    [
      'Anthropic: the whole prompt is what was new, read and written',
      {
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: 100_000,
          cache_creation_input_tokens: 2000,
          output_tokens: 400,
        },
      },
      usage(102_050, 400, 100_000, 2000),
    ],
    [
      'Anthropic without a cache',
      {
        usage: {
          input_tokens: 50,
          cache_read_input_tokens: null,
          cache_creation_input_tokens: null,
          output_tokens: 4,
        },
      },
      usage(50, 4),
    ],
    [
      'the first event of an Anthropic stream',
      {
        type: 'message_start',
        message: { usage: { input_tokens: 9, cache_read_input_tokens: 90, output_tokens: 1 } },
      },
      usage(99, 1, 90),
    ],
    ['the last event of an Anthropic stream', { type: 'message_delta', usage: { output_tokens: 15 } }, usage(0, 15)],
    [
      'Bedrock counts apart from the cache',
      { usage: { inputTokens: 10, outputTokens: 3, cacheReadInputTokens: 80, cacheWriteInputTokens: 10 } },
      usage(100, 3, 80, 10),
    ],
    [
      'Gemini: thoughts are output',
      {
        usageMetadata: {
          promptTokenCount: 1200,
          cachedContentTokenCount: 1000,
          candidatesTokenCount: 30,
          thoughtsTokenCount: 70,
        },
      },
      usage(1200, 100, 1000),
    ],
    ['AI SDK 5', { usage: { inputTokens: 90, outputTokens: 9, cachedInputTokens: 64 } }, usage(90, 9, 64)],
    [
      'AI SDK 6',
      {
        totalUsage: {
          inputTokens: 90,
          outputTokens: 9,
          inputTokenDetails: { noCacheTokens: 16, cacheReadTokens: 64, cacheWriteTokens: 10 },
        },
      },
      usage(90, 9, 64, 10),
    ],
    [
      'a model of the AI SDK',
      { usage: { inputTokens: { total: 90, cacheRead: 64, cacheWrite: 10 }, outputTokens: { total: 9 } } },
      usage(90, 9, 64, 10),
    ],
    [
      'LangChain',
      {
        usage_metadata: {
          input_tokens: 90,
          output_tokens: 9,
          total_tokens: 99,
          input_token_details: { cache_read: 64, cache_creation: 10 },
        },
      },
      usage(90, 9, 64, 10),
    ],
    ['its own', usage(90, 9, 64, 10), usage(90, 9, 64, 10)],
    ['its own, in part', { promptTokens: 90, completionTokens: 9 }, usage(90, 9)],
  ])('reads %s', (_, response, expected) => {
    expect(readUsage(response)).toEqual(expected);
    const { usage: bare } = response as { usage?: unknown };
    if (bare !== undefined) expect(readUsage(bare)).toEqual(expected);
  });

  it.each([undefined, null, 'usage', 17, [], {}, { usage: null }, { usage: {} }, { choices: [{ message: {} }] }])(
    'answers undefined where nothing was told: %j',
    (response) => {
      expect(readUsage(response)).toBeUndefined();
    },
  );

  it('takes what is no count for untold', () => {
    expect(readUsage({ promptTokens: Number.NaN, completionTokens: -4 })).toEqual(usage(0, 0));
    expect(readUsage({ prompt_tokens: 5, completion_tokens: null })).toEqual(usage(5, 0));
    expect(readUsage({ usage: { prompt_tokens: null, input_tokens: 50, output_tokens: 4 } })).toEqual(usage(50, 4));
  });

  it('reads no further than a response goes', () => {
    const circle: Record<string, unknown> = {};
    circle.message = circle;
    circle.response = circle;
    expect(readUsage(circle)).toBeUndefined();
  });
});

describe('addUsage', () => {
  it('sums all four counts', () => {
    expect(addUsage(usage(100, 50, 10, 1), usage(200, 80, 20, 2))).toEqual(usage(300, 130, 30, 3));
  });

  it('answers the one that is known, or none', () => {
    expect(addUsage(usage(1, 2), undefined)).toEqual(usage(1, 2));
    expect(addUsage(undefined, usage(1, 2))).toEqual(usage(1, 2));
    expect(addUsage(undefined, undefined)).toBeUndefined();
  });
});
