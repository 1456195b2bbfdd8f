import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { openaiChat } from './openai-chat.ts';

const call = (...ids: string[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'read', arguments: '{}' } })),
});
const result = (id: string, content: unknown = 'text') => ({ role: 'tool', tool_call_id: id, content });
const user = { role: 'user', content: 'Hurry.' };

describe('openai-chat', () => {
  it('says in the words of the provider which calls were not answered', () => {
    expect(openaiChat.check([call('c1', 'c2'), result('c2'), user])).toEqual([
      {
        law: 'pairs',
        message: 0,
        about: 'c1',
        text: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: c1",
      },
    ]);
  });

  it('reports a result that comes only behind a steering message, once as missing and once as unasked', () => {
    const violations = openaiChat.check([call('c1'), user, result('c1')]);
    expect(violations.map(({ about, message }) => [about, message])).toEqual([
      ['c1', 0],
      ['c1', 2],
    ]);
    expect(openaiChat.view([call('c1'), user, result('c1')]).at(-1)?.callId).toBe('c1');
  });

  it('reports a result without a call', () => {
    expect(openaiChat.check([user, result('c1')])).toMatchObject([
      { law: 'pairs', message: 1, about: 'c1', text: expect.stringContaining("messages with role 'tool' must be") },
    ]);
  });

  it('reports an image in a result, which the provider rejects, and hides it with the rest', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const list = [call('c1'), result('c1', [{ type: 'text', text: 'A picture:' }, image])];
    expect(openaiChat.check(list)).toMatchObject([{ law: 'roles', message: 1, about: 'c1' }]);
    expect(openaiChat.view(list)[1]).toMatchObject({ text: 'A picture:', media: [{ type: 'image', tokens: 765 }] });
    expect(openaiChat.check(masked(openaiChat, list))).toEqual([]);
  });

  it('pairs the legacy function call by its name', () => {
    const list = [
      { role: 'assistant', content: null, function_call: { name: 'read', arguments: '{"path":"a"}' } },
      { role: 'function', name: 'read', content: 'text' },
    ];
    expect(openaiChat.view(list).map(({ callId, tool }) => [callId, tool])).toEqual([
      ['function read', 'read'],
      ['function read', 'read'],
    ]);
    expect(openaiChat.check(list)).toEqual([]);
    expect(masked(openaiChat, list)[1]).toEqual({ role: 'function', name: 'read', content: '[masked]' });
  });

  it('reads the input of a custom tool', () => {
    const custom = { id: 'c1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } };
    expect(openaiChat.view([{ role: 'assistant', tool_calls: [custom] } as never])).toMatchObject([
      { kind: 'action', tool: 'patch', text: '*** Begin' },
    ]);
  });

  it.each([
    ['reasoning_content', 'Hm.', { text: 'Hm.', bound: true }],
    ['reasoning', 'Hm.', { text: 'Hm.', bound: true }],
    ['reasoning_details', [{ type: 'reasoning.encrypted', data: 'QUJD' }], { bound: true, media: [{ bytes: 3 }] }],
    ['reasoning_details', [{ type: 'reasoning.text', text: 'Hm.', signature: 's' }], { text: 'Hm.', signed: true }],
    ['thinking_blocks', [{ type: 'thinking', thinking: 'Hm.', signature: 's' }], { text: 'Hm.', signed: true }],
  ])('binds %s', (key, value, segment) => {
    const twice = key === 'reasoning_content' || key === 'reasoning' ? {} : { reasoning_content: 'the same again' };
    const [first, ...rest] = openaiChat.view([{ role: 'assistant', content: '', [key]: value, ...twice }]);
    expect(first).toMatchObject({ kind: 'reasoning', ...segment });
    expect(rest).toEqual([]);
  });

  it('sizes a part of a type it does not know', () => {
    const part = { type: 'hologram', text: 'not all of it', data: 'x'.repeat(400) };
    expect(openaiChat.view([{ role: 'user', content: [part, 'bare text'] }])[0]).toMatchObject({
      text: 'bare text',
      media: [{ type: 'other', tokens: Math.ceil(JSON.stringify(part).length / 4) }],
    });
  });
});
