import { describe, expect, it } from 'vitest';
import type { AnthropicMessage } from '../../formats/anthropic.ts';
import { type AnthropicParameters, fromAnthropic } from './from-anthropic.ts';

interface Asked {
  readonly body: Record<string, unknown>;
  readonly options: { readonly headers?: Record<string, string> };
}

const requires = [
  {
    field: 'thinking.block_binding.prefix_mismatch_behavior',
    value: 'drop_block',
    header: 'anthropic-beta',
    headerValue: 'thinking-binding-controls-2026-08-01',
  },
];

/** The request to a client that answers with these blocks or events. */
async function ask(parameters: Partial<AnthropicParameters>, more: object = {}, answer: unknown = { content: [] }) {
  const asked: Asked[] = [];
  const client = {
    messages: {
      create: async (body: object, options = {}) => {
        asked.push({ body: body as Asked['body'], options });
        return answer;
      },
    },
  };
  const messages: AnthropicMessage[] = [{ role: 'user', content: 'Well?' }];
  const model = fromAnthropic(client, { model: 'claude-opus-5-5', ...parameters });
  const reply = await model({ messages, tools: [], ...more }, new AbortController().signal);
  return { reply, ...(asked[0] as Asked) };
}

describe('fromAnthropic', () => {
  it('asks the provider to cache the prompt, for as long as it is told', async () => {
    expect((await ask({})).body.cache_control).toEqual({ type: 'ephemeral' });
    expect((await ask({ cache: '1h' })).body.cache_control).toEqual({ type: 'ephemeral', ttl: '1h' });
    expect((await ask({ cache: false })).body).not.toHaveProperty('cache_control');
    await expect(ask({ cache: '2h' as never })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });

  it('marks the prefix that was not edited, so that it is found in the cache', async () => {
    const messages = [
      { role: 'user', content: 'Well?' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool_use', id: 't', name: 'x', input: {} },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: '[masked]' }] },
    ];
    const { body } = await ask({}, { messages, cacheMarkers: [2] });
    const sent = body.messages as { content: { cache_control?: object }[] }[];
    expect(sent[1]?.content.map((block) => block.cache_control)).toEqual([undefined, { type: 'ephemeral' }]);
    expect(sent[2]).toBe(messages[2]);
    expect((await ask({ cache: false }, { messages, cacheMarkers: [2] })).body.messages).toBe(messages);
  });

  it('opts into losing thinking that is bound to words that were edited, where it thinks', async () => {
    const thinking = { type: 'adaptive' };
    const { body, options } = await ask({ thinking }, { requires });
    expect(body.thinking).toEqual({ type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } });
    expect(options.headers).toEqual({ 'anthropic-beta': 'thinking-binding-controls-2026-08-01' });
    expect((await ask({}, { requires })).body).not.toHaveProperty('thinking');
    const own = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } };
    expect((await ask({ thinking: own }, { requires })).body.thinking).toEqual(own);
  });

  it('keeps signed thinking as it came, streamed or not', async () => {
    const block = { type: 'thinking', thinking: 'I think', signature: 'c2ln' };
    const whole = await ask({}, {}, { content: [block], stop_reason: 'end_turn' });
    expect(whole.reply.messages).toEqual([{ role: 'assistant', content: [block] }]);
    const { reply } = await ask({}, { onText: () => {} }, stream(block, ['thinking_delta', 'thinking', 'I think']));
    expect(reply.messages).toEqual([{ role: 'assistant', content: [block] }]);
  });

  it('tells calls whose input was cut off', async () => {
    const block = { type: 'tool_use', id: 't', name: 'write', input: {} };
    const { reply } = await ask(
      {},
      { onText: () => {} },
      stream(block, ['input_json_delta', 'partial_json', '{"a": "b']),
    );
    expect(reply.calls).toEqual([{ id: 't', name: 'write', arguments: {}, malformed: 'they were cut off' }]);
  });

  it('tells a call that was cut off and came in one piece: its input can be read, but is not all', async () => {
    const block = { type: 'tool_use', id: 't', name: 'write', input: { path: 'a' } };
    const cut = await ask({}, {}, { content: [block], stop_reason: 'max_tokens' });
    expect(cut.reply.calls[0]?.malformed).toBe('they were cut off');
    const whole = await ask({}, {}, { content: [block], stop_reason: 'tool_use' });
    expect(whole.reply.calls[0]).not.toHaveProperty('malformed');
  });

  it('keeps the tools that the provider runs itself', async () => {
    const search = { type: 'web_search_20250305', name: 'web_search' };
    const { body } = await ask({ tools: [search] }, { tools: [{ name: 'read', description: '', parameters: {} }] });
    expect(body.tools).toEqual([search, { name: 'read', description: '', input_schema: {} }]);
  });

  it.each([
    ['max_tokens', 'length'],
    ['pause_turn', 'pause'],
    ['refusal', 'refusal'],
    ['model_context_window_exceeded', 'context-full'],
    ['end_turn', 'end'],
  ])('reads %s as %s', async (stop_reason, stop) => {
    expect((await ask({}, {}, { content: [{ type: 'text', text: 'x' }], stop_reason })).reply.stop).toBe(stop);
  });

  it('does not take a stream that broke off for an answer, and throws what is said in one', async () => {
    const begin = { type: 'message_start', message: { content: [] } };
    const onText = (): void => {};
    await expect(ask({}, { onText }, events(begin))).rejects.toThrow(/ended before the answer did/);
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    await expect(ask({}, { onText }, events(begin, error))).rejects.toThrow(/Overloaded/);
  });
});

async function* events(...list: readonly object[]): AsyncGenerator<object> {
  yield* list;
}

function stream(block: Record<string, unknown>, [type, field, text]: readonly [string, string, string]) {
  const half = Math.floor(text.length / 2);
  const delta = (part: object) => ({ type: 'content_block_delta', index: 0, delta: part });
  const { signature } = block;
  return events(
    { type: 'message_start', message: { content: [], usage: { input_tokens: 5, output_tokens: 1 } } },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { ...block, ...(signature ? { thinking: '', signature: '' } : {}) },
    },
    delta({ type, [field]: text.slice(0, half) }),
    delta({ type, [field]: text.slice(half) }),
    ...(signature ? [delta({ type: 'signature_delta', signature })] : []),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  );
}
