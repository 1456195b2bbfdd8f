import { describe, expect, it } from 'vitest';
import { isOverflow, overflowTable } from './overflow.ts';

describe('isOverflow', () => {
  it.each(overflowTable.map(({ provider, says }) => [provider, says]))('knows the words of %s', (_provider, says) => {
    expect(isOverflow(new Error(says))).toBe(true);
  });

  it('looks where clients put the words of a provider', () => {
    const words = 'prompt is too long: 213462 tokens > 200000 maximum';
    const openai = Object.assign(new Error('400 bad request'), { status: 400, code: 'context_length_exceeded' });
    const anthropic = Object.assign(new Error('400'), { status: 400, error: { error: { message: words } } });
    const aiSdk = Object.assign(new Error('Bad Request'), { statusCode: 400, responseBody: `{"message":"${words}"}` });
    const wrapped = new Error('the model failed', { cause: new Error(words) });
    for (const error of [openai, anthropic, aiSdk, wrapped]) expect(isOverflow(error)).toBe(true);
  });

  it('does not take a limit per minute for a full window', () => {
    const words = 'Rate limit reached: too many tokens per minute';
    expect(isOverflow(Object.assign(new Error(words), { status: 429 }))).toBe(false);
  });

  it.each([
    'Too many tokens, please wait before trying again.',
    'Too many tokens per day, please wait before trying again.',
    'Invalid API key',
    'tool_use ids were found without tool_result blocks',
    'Connection error.',
    'max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens',
  ])('leaves other errors alone: %s', (text) => {
    expect(isOverflow(new Error(text))).toBe(false);
  });

  it('survives what is no error, and circles', () => {
    const circle: { error?: unknown; message: string } = { message: 'x' };
    circle.error = circle;
    for (const value of [undefined, null, 7, 'prompt is too long', circle]) {
      expect(isOverflow(value)).toBe(value === 'prompt is too long');
    }
  });
});
