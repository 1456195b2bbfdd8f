import { describe, expect, it } from 'vitest';
import { ConversationMemory } from '../conversation/conversation-memory.ts';
import type { Api } from '../wire/index.ts';
import { decide, openRequest } from './decide.ts';
import type { GatewayRequest } from './decision.ts';
import { decideSmallTalk } from './small-talk.ts';
import { toTitle } from './task.ts';

const PATHS: Readonly<Partial<Record<Api, string>>> = {
  anthropic: '/v1/messages',
  'openai-chat': '/v1/chat/completions',
  'openai-responses': '/v1/responses',
  gemini: '/v1beta/models/gemini-3-pro:streamGenerateContent',
};

function requestOf(api: Api, body: object | string): GatewayRequest {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { api, path: PATHS[api] ?? '/', headers: {}, body: Buffer.from(text) };
}

const user = { role: 'user', content: 'Hello there,\nhow are you?' };
const reply = { role: 'assistant', content: 'Fine. Which function is slow?' };

const TALK: readonly (readonly [Api, object])[] = [
  ['anthropic', { model: 'claude-sonnet-5', max_tokens: 5, messages: [user, reply, user], stream: true }],
  ['openai-chat', { model: 'gpt-4o', messages: [{ role: 'system', content: 'Be kind' }, user, reply, user] }],
  ['openai-responses', { model: 'gpt-5', input: [user, reply, user] }],
  ['gemini', { contents: [{ role: 'user', parts: [{ text: 'Hello there,\nhow are you?' }] }] }],
];

describe('decideSmallTalk', () => {
  it.each(TALK)('answers for %s what would have been decided', (api, body) => {
    const plain = decideSmallTalk(requestOf(api, body), {});
    const memory = new ConversationMemory();
    const whole = decide(openRequest(requestOf(api, body), memory), memory, { now: 0 });
    expect(plain?.conversation).toBe(whole.conversation);
    expect(toTitle(plain?.task ?? '')).toBe('Hello there,');
    expect([whole.task, plain?.body, plain?.fresh]).toEqual(['Hello there,', undefined, []]);
    const { act, model, prices, masked, epoch } = whole.explanation;
    expect(plain?.explanation).toMatchObject({
      act,
      masked,
      epoch,
      ...(model === undefined ? {} : { model }),
    });
    expect(plain?.explanation.prices.name).toBe(prices.name);
  });

  const results: readonly (readonly [Api, object])[] = [
    [
      'anthropic',
      { messages: [user, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }] }] },
    ],
    ['anthropic', { messages: [user], system: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] }],
    ['openai-chat', { messages: [user, { role: 'tool', tool_call_id: 'a', content: 'x' }] }],
    ['openai-responses', { input: [user, { type: 'function_call_output', call_id: 'a', output: 'x' }] }],
    ['gemini', { contents: [{ role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }] }] }],
  ];

  it.each(results)('leaves a request of %s that has results, or markers, to be read', (api, body) => {
    expect(decideSmallTalk(requestOf(api, body), {})).toBeUndefined();
  });

  it.each([
    ['a history that the provider keeps', { previous_response_id: 'r', input: [user] }],
    ['context management', { context_management: {}, input: [user] }],
    ['a text in the place of messages', { input: 'Hello' }],
    ['no messages', { input: [] }],
    ['only a system prompt', { input: [{ role: 'system', content: 'x' }] }],
    ['something else in the list', { input: [5] }],
    ['more than it looks at', { input: [{ role: 'user', content: 'x'.repeat(20_000) }] }],
    ['no JSON', '{"input":['],
    ['another JSON', '5'],
  ])('leaves %s to be read', (_what, body) => {
    expect(decideSmallTalk(requestOf('openai-responses', body), {})).toBeUndefined();
  });
});
