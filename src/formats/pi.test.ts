import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { detectFormat } from './detect-format.ts';
import { pi } from './pi.ts';

const user = { role: 'user', content: 'Go.', timestamp: 7 };
const reply = (content: unknown, more: object = {}) => {
  return { role: 'assistant', content, api: 'anthropic-messages', stopReason: 'stop', timestamp: 8, ...more };
};
const call = (id: string) => ({ type: 'toolCall', id, name: 'read', arguments: { path: 'a.ts' } });
const result = (toolCallId: string, content: unknown, more: object = {}) => {
  return { role: 'toolResult', toolCallId, toolName: 'read', content, isError: false, timestamp: 9, ...more };
};
const text = (words: string) => ({ type: 'text', text: words });

describe('pi', () => {
  it('masks texts and images of a result, and keeps its error, details and times', () => {
    const image = { type: 'image', data: 'iVBORw0KGgoAAAANSUhEUgAAAZAAAAEsCAIAAABi1XKV', mimeType: 'image/png' };
    const failed = result('c1', [text('one'), image], { isError: true, details: { diff: 'x' } });
    const list = [user, reply([call('c1')]), failed];
    expect(pi.view(list).at(-1)).toMatchObject({
      isError: true,
      tool: 'read',
      media: [{ type: 'image', tokens: 160 }],
    });
    expect(masked(pi, list)[2]).toEqual({ ...failed, content: [text('[masked]')] });
  });

  it.each([
    ['anthropic-messages', { thinkingSignature: 'c2ln' }, true, true, undefined],
    ['bedrock-converse-stream', { thinkingSignature: 'c2ln' }, true, true, undefined],
    ['anthropic-messages', { thinkingSignature: 'QUJD'.repeat(100), redacted: true }, true, true, 75],
    ['anthropic-messages', {}, undefined, undefined, undefined],
    [
      'openai-responses',
      { thinkingSignature: JSON.stringify({ encrypted_content: 'A'.repeat(400) }) },
      true,
      undefined,
      80,
    ],
    ['google-generative-ai', { thinkingSignature: 'c2ln' }, true, undefined, undefined],
    [undefined, { thinkingSignature: 'c2ln' }, true, true, undefined],
  ])('binds thinking of %s with %j', (api, signature, bound, signed, tokens) => {
    const [segment] = pi.view([reply([{ type: 'thinking', thinking: 'Hm.', ...signature }], { api })]);
    expect([segment?.kind, segment?.text]).toEqual(['reasoning', 'Hm.']);
    expect([segment?.bound, segment?.signed, segment?.media?.[0]?.tokens]).toEqual([bound, signed, tokens]);
  });

  it('binds texts and calls that are signed', () => {
    const parts = [
      { ...text('Hi.'), textSignature: 's' },
      { ...call('c1'), thoughtSignature: 's' },
    ];
    expect(pi.view([reply(parts)]).map(({ bound }) => bound)).toEqual([true, true]);
  });

  it('reads the messages of an application, which it sends as those of the user', () => {
    const own = [
      { role: 'compactionSummary', summary: 'Earlier: all went well.', tokensBefore: 9, timestamp: 1 },
      { role: 'bashExecution', command: 'npm test', output: 'all pass', exitCode: 0, timestamp: 1 },
      { role: 'bashExecution', command: 'env', output: 'SECRET', excludeFromContext: true, timestamp: 1 },
      { role: 'custom', customType: 'note', content: 'A note.', timestamp: 1 },
      { role: 'system', content: [text('Be brief.')], sections: { a: 'Section.' }, timestamp: 1 },
    ];
    expect(pi.view(own).map(({ kind, text: words }) => [kind, words])).toEqual([
      ['user', 'Earlier: all went well.'],
      ['user', 'npm test'],
      ['user', 'all pass'],
      ['user', 'A note.'],
      ['system', 'Be brief.'],
      ['system', '{"a":"Section."}'],
    ]);
    expect(masked(pi, own)).toEqual(own);
  });

  it('wants no results for calls of a reply that failed or was stopped, which pi does not send', () => {
    for (const stopReason of ['error', 'aborted'])
      expect(pi.check([user, reply([call('c1')], { stopReason }), user, reply([])])).toEqual([]);
    expect(pi.check([user, reply([call('c1')]), user])).toMatchObject([{ law: 'pairs', message: 1, about: 'c1' }]);
    expect(pi.check([user, result('c9', [])])).toMatchObject([{ law: 'pairs', message: 1, about: 'c9' }]);
  });

  it('gives a note the time of the first message, so that it is the same in every request', () => {
    expect(pi.note('user', 'A note.', [user, reply([])])).toEqual({ role: 'user', content: 'A note.', timestamp: 7 });
    expect(pi.note('user', 'A note.', [])).toMatchObject({ timestamp: 0 });
  });

  it('is told from others by its roles, its calls or its stop reason', () => {
    expect(detectFormat([user, result('c1', [text('one two')])])).toBe('pi');
    expect(detectFormat([user, reply([call('c1')], { stopReason: undefined })])).toBe('pi');
    expect(detectFormat([user, reply([{ type: 'thinking', thinking: 'Hm, hm.' }])])).toBe('pi');
  });
});
