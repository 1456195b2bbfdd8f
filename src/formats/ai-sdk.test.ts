import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { type AiSdkMessage, aiSdk } from './ai-sdk.ts';

const user: AiSdkMessage = { role: 'user', content: 'Go.' };
const call = (id: string, more: object = {}) => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: 'read',
  input: {},
  ...more,
});
const result = (id: string, output: unknown) => ({ type: 'tool-result', toolCallId: id, toolName: 'read', output });
const reply = (...content: object[]): AiSdkMessage => ({ role: 'assistant', content });
const tool = (...content: object[]): AiSdkMessage => ({ role: 'tool', content });
const list = (output: unknown) => [user, reply(call('c1')), tool(result('c1', output))];
const options = { anthropic: { cacheControl: { type: 'ephemeral' } } };

describe('ai-sdk', () => {
  it.each([
    ['text', { type: 'text', value: 'a' }, { type: 'text', value: '[masked]' }],
    ['json', { type: 'json', value: { a: 1 } }, { type: 'text', value: '[masked]' }],
    ['error-text', { type: 'error-text', value: 'a' }, { type: 'error-text', value: '[masked]' }],
    ['error-json', { type: 'error-json', value: {} }, { type: 'error-text', value: '[masked]' }],
    [
      'marked text',
      { type: 'text', value: 'a', providerOptions: options },
      { type: 'text', value: '[masked]', providerOptions: options },
    ],
    [
      'content',
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a', providerOptions: options },
          { type: 'image-url', url: 'u', providerOptions: { openai: { imageDetail: 'low' } } },
        ],
      },
      { type: 'content', value: [{ type: 'text', text: '[masked]', providerOptions: options }] },
    ],
  ])('masks an output of %s', (_name, before, after) => {
    expect(masked(aiSdk, list(before))).toEqual(list(after));
  });

  it.each([
    ['a denied execution', { type: 'execution-denied', reason: 'No.' }],
    ['an output of a type to come', { type: 'hologram', value: 'x' }],
    ['no output at all', undefined],
  ])('never edits %s', (_name, output) => {
    const messages = list(output);
    expect(aiSdk.view(messages).at(-1)).toMatchObject({ kind: 'observation', bound: true });
    expect(masked(aiSdk, messages)[2]).toBe(messages[2]);
  });

  it.each([
    [{ type: 'media', data: 'QUJD', mediaType: 'image/png' }, 'image'],
    [{ type: 'image-data', data: 'QUJD', mediaType: 'image/png' }, 'image'],
    [{ type: 'image-url', url: 'https://example.com/a.png' }, 'image'],
    [{ type: 'image-file-id', fileId: 'f' }, 'image'],
    [{ type: 'file-data', data: 'QUJD', mediaType: 'application/pdf' }, 'file'],
    [{ type: 'file-url', url: 'https://example.com/a.pdf' }, 'file'],
    [{ type: 'file-id', fileId: 'f' }, 'file'],
    [{ type: 'file', data: { type: 'data', data: 'QUJD' }, mediaType: 'image/png' }, 'image'],
    [{ type: 'custom', providerOptions: {} }, 'other'],
  ])('sizes %j', (part, type) => {
    expect(aiSdk.view(list({ type: 'content', value: [part] })).at(-1)?.media).toMatchObject([{ type }]);
  });

  it('binds the result of a tool the provider ran, which is in the reply', () => {
    const executed = reply(call('c1', { providerExecuted: true }), result('c1', { type: 'json', value: [1] }));
    expect(aiSdk.view([user, executed])[2]).toMatchObject({ kind: 'observation', callId: 'c1', bound: true });
    expect(aiSdk.check([user, executed, user])).toEqual([]);
    expect(masked(aiSdk, [user, executed])[1]).toBe(executed);
  });

  it('does not take an approval for the word of the user, nor miss the result that follows it', () => {
    const approval = { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' };
    const answer = { type: 'tool-approval-response', approvalId: 'a1', approved: true };
    const open = [user, reply(call('c1'), approval), tool(answer)];
    expect(aiSdk.view(open).filter(({ kind }) => kind === 'user')).toHaveLength(1);
    expect(aiSdk.check(open)).toEqual([]);
    expect(aiSdk.check([...open, tool(result('c1', { type: 'text', value: 'a' }))])).toEqual([]);
    const executed = [user, reply(call('c1', { providerExecuted: true }), approval), tool(answer, result('c1', {}))];
    expect(aiSdk.check(executed)).toEqual([]);
    expect(aiSdk.view(executed).at(-1)).toMatchObject({ kind: 'observation', callId: 'c1', bound: true });
  });

  it.each([
    ['anthropic', { signature: 's' }, true, undefined],
    ['anthropic', { redactedData: 'QUJD' }, true, 3],
    ['bedrock', { signature: 's' }, true, undefined],
    ['openai', { itemId: 'rs_1', reasoningEncryptedContent: 'QUJD' }, undefined, 3],
    ['google', { thoughtSignature: 's' }, undefined, undefined],
  ])('binds reasoning of %s with %j', (provider, value, signed, bytes) => {
    const part = { type: 'reasoning', text: 'Hm.', providerOptions: { [provider]: value } };
    const [segment] = aiSdk.view([reply(part)]);
    expect(segment).toMatchObject({ kind: 'reasoning', text: 'Hm.', bound: true });
    expect([segment?.signed, segment?.media?.[0]?.bytes]).toEqual([signed, bytes]);
  });

  it('says in the words of the SDK which results are missing, wherever it looks for them', () => {
    const missing = [user, reply(call('c1'), call('c2')), user];
    expect(aiSdk.check(missing).map(({ text, about }) => [text, about])).toEqual([
      ['Tool results are missing for tool calls c1, c2.', 'c1'],
      ['Tool results are missing for tool calls c1, c2.', 'c2'],
    ]);
    expect(aiSdk.check([user, reply(call('c1')), reply({ type: 'text', text: 'Done.' })])).toMatchObject([
      { message: 1, text: 'Tool result is missing for tool call c1.' },
    ]);
  });

  it('reports a result without a call', () => {
    expect(aiSdk.check([user, tool(result('c9', {}))])).toMatchObject([{ law: 'pairs', message: 1, about: 'c9' }]);
  });
});
