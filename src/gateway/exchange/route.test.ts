import { describe, expect, it } from 'vitest';
import { routeOf } from './route.ts';

const post = (url: string, headers: Record<string, string> = {}) => routeOf({ method: 'POST', url, headers });
const get = (url: string, headers: Record<string, string> = {}) => routeOf({ method: 'GET', url, headers });

describe('routeOf', () => {
  it.each([
    ['/v1/messages', 'anthropic', 'anthropic'],
    ['/v1/messages?beta=true', 'anthropic', 'anthropic'],
    ['/v1/messages/count_tokens', 'anthropic', 'anthropic'],
    ['/v1/chat/completions', 'openai', 'openai-chat'],
    ['/chat/completions', 'openai', 'openai-chat'],
    ['/v1/responses', 'openai', 'openai-responses'],
    ['/v1/responses/compact', 'openai', 'openai-responses'],
    ['/v1beta/models/gemini-3:generateContent', 'gemini', 'gemini'],
    ['/v1/models/gemini-3:streamGenerateContent?alt=sse', 'gemini', 'gemini'],
    ['/openai/v1/chat/completions', 'openai', 'openai-chat'],
    ['/anthropic/v1/messages', 'anthropic', 'anthropic'],
  ])('knows POST %s', (url, provider, api) => {
    expect(post(url)).toMatchObject({ provider, api });
  });

  it.each([
    ['/v1/threads/x/messages', 'openai'],
    ['/v1/responses/resp_1/cancel', 'openai'],
    ['/v1/responses/compact/x', 'openai'],
    ['/v1/messages/batches', 'anthropic'],
    ['/v1beta/models/gemini-3:countTokens', 'gemini'],
    ['/openai/v1/messages', 'openai'],
    ['/v1/embeddings', 'openai'],
  ])('lets POST %s pass through to %s', (url, provider) => {
    expect(post(url)).toMatchObject({ provider, api: undefined });
  });

  it('reads only what is posted', () => {
    expect(get('/v1/messages')).toMatchObject({ provider: 'anthropic', api: undefined });
  });

  it('tells by the headers whose key it is where the path does not', () => {
    expect(get('/v1/models')?.provider).toBe('openai');
    expect(get('/v1/models', { 'anthropic-version': '2023-06-01' })?.provider).toBe('anthropic');
    expect(get('/v1/models', { 'x-api-key': 'k' })?.provider).toBe('anthropic');
    expect(get('/v1/models', { 'x-goog-api-key': 'k' })?.provider).toBe('gemini');
    expect(get('/upload/v1/files?key=k')?.provider).toBe('gemini');
  });

  it('takes the prefix away and leaves all else as it came', () => {
    expect(get('/openai/v1/%7Ex?a=b&c=%20//')?.target).toBe('/v1/%7Ex?a=b&c=%20//');
    expect(get('/openai')?.target).toBe('/');
    expect(get('/openai?x=1')?.target).toBe('/?x=1');
    expect(get('/openaiv1/x')?.target).toBe('/openaiv1/x');
    expect(get('/v1//files')?.target).toBe('/v1//files');
  });

  it.each([
    '',
    '*',
    'evil.example/v1/messages',
    'http://evil.example/v1/messages',
    '//evil.example/v1/messages',
    '///evil.example',
    '/\\evil.example/v1/messages',
    '/openai//evil.example/v1/messages',
    '/anthropic/\\evil.example',
    '/../v1/messages',
    '/v1/../../admin',
    '/v1/%2e%2e/admin',
    '/v1/.%2E/admin',
    '/v1/..%2fadmin',
    '/v1%2f..%2fadmin',
    '/v1/..;/admin',
    '/v1/./messages',
    '/v1/..',
    '/openai/../x',
    '/v1/x#y',
    '?x',
  ])('forwards nothing to %j', (url) => {
    expect(post(url)).toBeUndefined();
  });

  it('takes dots in names, and anything in a query', () => {
    expect(get('/v1/models/gpt-4.1')?.target).toBe('/v1/models/gpt-4.1');
    expect(get('/v1/files/..hidden')?.target).toBe('/v1/files/..hidden');
    expect(get('/v1/x?path=/../y')?.target).toBe('/v1/x?path=/../y');
  });
});
