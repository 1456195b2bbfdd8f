import { describe, expect, it } from 'vitest';
import { modelPrices } from './model-prices.ts';
import { createPriceBook, listPrices, type OwnModelPrices } from './price-book.ts';

const inputOf = (model: string, own?: OwnModelPrices): number | string | undefined => {
  const price = (own ? createPriceBook(own) : listPrices).priceOf(model);
  return price && ('subscription' in price ? 'subscription' : price.input);
};

describe('the list of prices', () => {
  it.each(Object.entries(modelPrices))(
    'has for %s a source, a date, and an answer that costs more',
    (_model, price) => {
      expect(price.source).toMatch(/^https:\/\//);
      expect(price.date).toMatch(/^2026-\d\d-\d\d$/);
      for (const rates of [price, ...(price.above ?? [])]) expect(rates.output).toBeGreaterThan(rates.input);
    },
  );

  it.each([
    // As clients in the corpus name them.
    ['claude-opus-4-6', 5],
    ['google/gemini-3-pro-preview', 2],
    ['claude-sonnet-4-5', 3],
    ['openai/gpt-4o', 2.5],
    ['gpt-4o-2024-08-06', 2.5],
    ['claude-haiku-4-5-20251001', 1],
    ['gemini-3-flash-preview', 0.5],
    ['gpt-5.4', 2.5],
    ['claude-3-7-sonnet-20250219', 3],
    ['gpt-5.1-codex', 1.25],
    // As providers write them.
    ['claude-sonnet-4-5@20250929', 3],
    ['publishers/anthropic/models/claude-opus-4-1@20250805', 15],
    ['models/gemini-2.5-pro', 1.25],
    ['anthropic/claude-sonnet-4.5', 3],
    ['openrouter/anthropic/claude-3.7-sonnet', 3],
    ['claude-opus-4-20250514', 15],
    ['claude-opus-4-0', 15],
    ['claude-3-5-haiku-latest', 0.8],
    ['qwen/qwen3-coder-plus', 1],
    ['gpt-4o-2024-05-13', 5],
    ['Claude-Opus-5', 5],
  ])('knows %s', (model, input) => {
    expect(inputOf(model)).toBe(input);
  });

  it.each([
    // Other models, whatever their names resemble.
    'claude-opus-6',
    'claude-opus-50',
    'claude-opus-4-9',
    'gpt-5-chat-latest',
    'gpt-5.5-pro',
    'gpt-4',
    'gpt-4.10',
    'gemini-2.5-pro-preview-tts',
    'my-claude-opus-4-6',
    'sonnet',
    'default',
    'openai/openrouter-llama-4-maverick',
    'meta-llama/llama-4-maverick',
    'swe-agent-llama-70b',
    // Variants of OpenRouter with a price of their own.
    'anthropic/claude-sonnet-4.5:free',
    'openai/gpt-5.1-codex:batch',
    // Bedrock bills by region, and Azure by deployment.
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'anthropic.claude-sonnet-4-5-20250929-v1:0',
    'azure/gpt-4o',
    // The price depends on the time of day.
    'deepseek-v4-pro',
    '',
    'constructor',
    '__proto__',
  ])('has no price for %s', (model) => {
    expect(inputOf(model)).toBeUndefined();
  });

  it('has no price for a request without a model', () => {
    expect(listPrices.priceOf(undefined)).toBeUndefined();
  });

  it('stays small however many names clients make up', () => {
    const book = createPriceBook();
    for (let i = 0; i < 5000; i++) book.priceOf(`made-up-${i}`);
    expect(book.priceOf('claude-opus-5')?.window).toBe(1_000_000);
  });
});

describe('own prices', () => {
  const own: OwnModelPrices = {
    'claude-opus-5': { input: 1, output: 2 },
    'claude-*': 'subscription',
    'claude-opus-*': { input: 3, output: 4 },
    'Azure/GPT-4o': { input: 5, output: 6 },
    '*.anthropic.claude-sonnet-4-5-*': { input: 3.3, output: 16.5 },
  };

  it.each([
    ['claude-opus-5', 1],
    ['anthropic/claude-opus-5', 1],
    ['claude-opus-5-20260724', 1],
    ['claude-opus-4-8', 3],
    ['claude-sonnet-5', 'subscription'],
    ['azure/gpt-4o', 5],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3.3],
    ['gpt-5.4', 2.5],
    ['opus', undefined],
  ])('come first, exact names before patterns and long patterns before short ones: %s', (model, input) => {
    expect(inputOf(model, own)).toBe(input);
  });

  it('match a pattern with several stars', () => {
    const stars: OwnModelPrices = { 'a*b*c': { input: 1, output: 1 } };
    expect(inputOf('abc', stars)).toBe(1);
    expect(inputOf('axxbyyc', stars)).toBe(1);
    expect(inputOf('acb', stars)).toBeUndefined();
    expect(inputOf('ac', stars)).toBeUndefined();
    expect(inputOf('aba', { 'ab*ba': { input: 1, output: 1 } })).toBeUndefined();
  });

  it('of a subscription have the window that is given, else that of the same model in the list', () => {
    const windowOf = (price: OwnModelPrices[string]): number | undefined =>
      createPriceBook({ 'claude-opus-5': price }).priceOf('claude-opus-5')?.window;
    expect(windowOf('subscription')).toBe(1_000_000);
    expect(windowOf({ subscription: true, window: 200_000 })).toBe(200_000);
    const book = createPriceBook({ '*': 'subscription' });
    expect(book.priceOf('claude-opus-5')?.window).toBe(1_000_000);
    // The list has no window for it: that of its family.
    expect(book.priceOf('claude-sonnet-4-5')?.window).toBe(200_000);
    expect(book.priceOf('an-unknown-model')?.window).toBeUndefined();
    expect(createPriceBook().priceOf('claude-sonnet-4-5')?.window).toBeUndefined();
    expect(createPriceBook({ mine: 'subscription' }).priceOf('mine')).toEqual({ subscription: true });
  });

  it.each([
    [{ mine: 'free' }, "the price of mine to be 'subscription', or an object with input and output but found 'free'"],
    [{ mine: 3 }, 'the price of mine'],
    [{ mine: null }, 'the price of mine'],
    [{ mine: { input: 3 } }, 'the price of mine option output to be a number of 0 or more but found undefined'],
    [{ mine: { input: -1, output: 1 } }, 'the price of mine option input to be a number of 0 or more but found -1'],
    [{ mine: { input: '3', output: 1 } }, "option input to be a number of 0 or more but found '3'"],
    [{ mine: { input: 1, output: 1, cachRead: 1 } }, 'did you mean cacheRead?'],
    [{ mine: { input: 1, output: 1, above: { tokens: 1 } } }, 'option above to be a list of rates'],
    [{ mine: { input: 1, output: 1, above: [{ tokens: 5, input: 1 }] } }, 'above option output'],
    [{ mine: { subscription: false } }, 'option subscription to be true'],
    [{ mine: { subscription: true, input: 3 } }, 'input'],
    [[], 'model prices to be an object with a price for each model but found a list of 0'],
  ])('that cannot be read are refused: %j', (prices, text) => {
    const make = (): unknown => createPriceBook(prices as unknown as OwnModelPrices);
    expect(make).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(text) }));
  });

  it('for long prompts must rise', () => {
    const above = [
      { tokens: 200, input: 1, output: 1 },
      { tokens: 100, input: 1, output: 1 },
    ];
    expect(() => createPriceBook({ mine: { input: 1, output: 1, above } })).toThrow('in rising order');
  });
});
