import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { bedrockConverse } from './bedrock-converse.ts';
import { detectFormat } from './detect-format.ts';

const user = { role: 'user', content: [{ text: 'Go.' }] };
const call = (id: string, more: object = {}) => ({ toolUse: { toolUseId: id, name: 'read', input: {}, ...more } });
const result = (id: string, content: object[], more: object = {}) => {
  return { toolResult: { toolUseId: id, content, ...more } };
};
const reply = (...content: object[]) => ({ role: 'assistant', content });
const answer = (...content: object[]) => ({ role: 'user', content });
const PNG = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAZAAAAEsCAIAAABi1XKV'), (c) => c.charCodeAt(0));

describe('bedrock-converse', () => {
  it('masks texts, JSON, images and documents of a result, and keeps id, status and cache point', () => {
    const content = [
      { text: 'one' },
      { json: { rows: [1, 2] } },
      { image: { format: 'png', source: { bytes: PNG } } },
      { document: { format: 'txt', name: 'd', source: { text: 'words of a document' } } },
    ];
    const cachePoint = { cachePoint: { type: 'default' } };
    const list = [user, reply(call('c1')), answer(result('c1', content, { status: 'error' }), cachePoint)];
    const [segment] = bedrockConverse.view(list).slice(-1);
    expect(segment).toMatchObject({ kind: 'observation', tool: 'read', isError: true, text: 'one\n{"rows":[1,2]}' });
    expect(segment?.media).toMatchObject([{ type: 'image', tokens: 160 }, { type: 'file' }]);
    expect(masked(bedrockConverse, list)[2]).toEqual(
      answer(result('c1', [{ text: '[masked]' }], { status: 'error' }), cachePoint),
    );
    expect(bedrockConverse.check(masked(bedrockConverse, list))).toEqual([]);
  });

  it('binds reasoning, and knows what is signed', () => {
    const thoughts = [
      { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2ln' } } },
      { reasoningContent: { reasoningText: { text: 'Hm.' } } },
      { reasoningContent: { redactedContent: new Uint8Array(400) } },
      { reasoningContent: { redactedContent: 'QUJD'.repeat(100) } },
    ];
    const view = bedrockConverse.view([user, reply(...thoughts)]).slice(1);
    expect(view.map(({ kind, bound, signed }) => [kind, bound, signed])).toEqual([
      ['reasoning', true, true],
      ['reasoning', true, undefined],
      ['reasoning', true, true],
      ['reasoning', true, true],
    ]);
    expect(view.map(({ media }) => media?.[0]?.tokens)).toEqual([undefined, undefined, 100, 75]);
  });

  it('never edits the result of a tool that the provider ran, inside the reply', () => {
    const ran = reply(
      call('s1', { type: 'server_tool_use' }),
      result('s1', [{ text: 'found' }], { type: 'web_search' }),
    );
    expect(bedrockConverse.view([user, ran]).slice(1)).toMatchObject([
      { kind: 'action', bound: true },
      { kind: 'observation', callId: 's1', bound: true },
    ]);
    expect(bedrockConverse.check([user, ran, user])).toEqual([]);
    expect(masked(bedrockConverse, [user, ran])[1]).toBe(ran);
  });

  it('reads guarded and cited texts, and sizes what it does not know', () => {
    const guarded = answer({ guardContent: { text: { text: 'guarded words', qualifiers: [] } } });
    const cited = reply({ citationsContent: { content: [{ text: 'cited words' }], citations: [] } });
    const unknown = reply({ hologram: { words: 'x'.repeat(100) } });
    expect(bedrockConverse.view([guarded, cited, unknown]).map(({ kind, text }) => [kind, text])).toEqual([
      ['user', 'guarded words'],
      ['reasoning', 'cited words'],
      ['reasoning', ''],
    ]);
    expect(bedrockConverse.view([unknown])[0]?.media).toMatchObject([{ type: 'other' }]);
  });

  it.each([
    ['a missing result', [user, reply(call('c1')), user], 'Expected toolResult blocks at messages.2.content'],
    ['a result without a call', [user, answer(result('c9', []))], 'c9'],
    ['a list that begins with a reply', [reply({ text: 'Hi.' })], 'must start with a user message'],
    ['an empty text', [user, reply(call('c1')), answer(result('c1', [{ text: '' }]))], 'must be non-empty'],
  ])('reports %s', (_name, list, words) => {
    expect(bedrockConverse.check(list).map(({ text }) => text)).toContainEqual(expect.stringContaining(words));
  });

  it('is told from Anthropic by blocks without a type', () => {
    expect(detectFormat([user])).toBe('bedrock-converse');
    expect(detectFormat([{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }])).toBe('anthropic');
  });
});
