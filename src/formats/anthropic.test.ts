import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { type AnthropicMessage, anthropic } from './anthropic.ts';

const user = (...content: object[]): AnthropicMessage => ({ role: 'user', content });
const reply = (...content: object[]): AnthropicMessage => ({ role: 'assistant', content });
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const use = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} });
const result = (id: string, content: unknown = 'text', more: object = {}) => {
  return { type: 'tool_result', tool_use_id: id, content, ...more };
};
const marker = { cache_control: { type: 'ephemeral' } };
const ask = user(text('Go.'));
const told = (messages: readonly AnthropicMessage[]) => anthropic.check(messages).map((violation) => violation.text);

describe('anthropic', () => {
  it('says in the words of the provider which calls were not answered at once', () => {
    expect(anthropic.check([ask, reply(use('c1'), use('c2')), user(result('c2')), reply(text('Done.'))])).toEqual([
      {
        law: 'pairs',
        message: 1,
        about: 'c1',
        text: 'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: c1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
      },
    ]);
  });

  it('wants all results of a reply in the next message', () => {
    const split = [ask, reply(use('c1'), use('c2')), user(result('c1')), user(result('c2'))];
    expect(anthropic.check(split).map(({ message, about }) => [message, about])).toEqual([
      [1, 'c2'],
      [3, 'c2'],
    ]);
    expect(anthropic.view(split).at(-1)?.callId).toBe('c2');
  });

  it('wants results before a steering text, not behind it', () => {
    expect(anthropic.check([ask, reply(use('c1')), user(result('c1'), text('Hurry.'))])).toEqual([]);
    const late = [ask, reply(use('c1')), user(text('Hurry.'), result('c1'))];
    expect(anthropic.check(late)).toMatchObject([{ message: 1, about: 'c1' }]);
    expect(anthropic.view(late).at(-1)?.callId).toBe('c1');
  });

  it('names a result without a call, one that comes twice, and a call id that comes twice', () => {
    expect(told([ask, user(result('c9'))])).toEqual([
      'messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: c9. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    ]);
    expect(told([ask, reply(use('c1')), user(result('c1'), result('c1'))])).toEqual([
      'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: c1',
    ]);
    expect(told([ask, reply(use('c1')), user(result('c1')), reply(use('c1')), user(result('c1'))])).toEqual([
      'messages.3.content.0: `tool_use` ids must be unique',
    ]);
  });

  it('names the result of a server tool whose call is gone', () => {
    const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [] };
    expect(told([ask, reply(found)])).toEqual([
      'messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: s1. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.',
    ]);
  });

  it('binds the result of a server tool, which is in the reply', () => {
    const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } };
    const hit = { type: 'web_search_result', url: 'u', encrypted_content: 'x'.repeat(400) };
    const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [hit] };
    const list = [ask, reply(search, found, text('Found.'))];
    const segment = anthropic.view(list)[2];
    expect(segment).toMatchObject({ kind: 'observation', callId: 's1', tool: 'web_search', bound: true });
    expect(segment?.media?.[0]?.tokens).toBeGreaterThan(100);
    expect(masked(anthropic, list)[1]).toBe(list[1]);
    expect(anthropic.check(list)).toEqual([]);
  });

  it.each([
    [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, true],
    [{ type: 'thinking', thinking: 'Hm.', signature: '' }, undefined],
    [{ type: 'thinking', thinking: 'Hm.' }, undefined],
    [{ type: 'redacted_thinking', data: 'QUJD' }, true],
  ])('binds %j', (block, signed) => {
    const [segment] = anthropic.view([reply(block)]);
    expect(segment).toMatchObject({ kind: 'reasoning', bound: true });
    expect(segment?.signed).toBe(signed);
  });

  it('keeps the cache marker on a masked block, and the last one inside a masked list', () => {
    const inner = [text('a', marker), { type: 'image', source: { type: 'url', url: 'u' }, ...marker }, text('b')];
    const list = [ask, reply(use('c1'), use('c2')), user(result('c1', 'a', marker), result('c2', inner))];
    expect(masked(anthropic, list)[2]).toEqual(
      user(result('c1', '[masked]', marker), result('c2', [text('[masked]', marker)])),
    );
  });

  it('allows four cache markers', () => {
    const marked = (count: number) => [user(...Array.from({ length: count }, (_, i) => text(`${i}`, marker)))];
    expect(anthropic.check(marked(4))).toEqual([]);
    expect(told(marked(5))).toEqual(['A maximum of 4 blocks with cache_control may be provided. Found 5.']);
  });

  it('reports what is empty, and a reply that comes first', () => {
    expect(told([user(text(''))])).toEqual(['messages: text content blocks must be non-empty']);
    expect(told([user(text('', marker))])).toContain('cache_control cannot be set for empty text blocks');
    const empty =
      'messages.0: all messages must have non-empty content except for the optional final assistant message';
    expect(told([user(), reply()])).toEqual([empty]);
    expect(told([{ role: 'user', content: '' }, reply()])).toEqual([empty]);
    expect(told([reply(text('Hi.'))])).toEqual(['messages: first message must use the "user" role']);
  });

  it('sizes images and documents of a result and lets them go with it', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'QUJD' };
    const content = [
      { type: 'image', source },
      { type: 'document', source },
      { type: 'search_result', title: 't' },
    ];
    const list = [ask, reply(use('c1')), user(result('c1', content, { is_error: true }))];
    const segment = anthropic.view(list)[2];
    expect(segment?.media?.map(({ type, tokens }) => [type, tokens])).toEqual([
      ['image', 1600],
      ['file', 2000],
      ['other', 9],
    ]);
    expect(masked(anthropic, list)[2]).toEqual(user(result('c1', [text('[masked]')], { is_error: true })));
    expect(anthropic.original(list[2] as AnthropicMessage, segment as never)).toBe(JSON.stringify(content));
  });

  it('keeps a result that refers to tools: without it they are gone', () => {
    const list = [ask, reply(use('c1')), user(result('c1', [{ type: 'tool_reference', tool_name: 't' }]))];
    expect(anthropic.view(list)[2]).toMatchObject({ kind: 'observation', bound: true });
  });

  it('takes consecutive replies for one turn', () => {
    const list = [ask, reply(text('a')), reply(use('c1')), user(result('c1')), reply(text('b'))];
    expect(anthropic.view(list).map(({ turn }) => turn)).toEqual([0, 1, 1, 1, 2]);
    expect(anthropic.check(list)).toEqual([]);
  });
});
