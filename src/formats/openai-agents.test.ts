import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { detectFormat } from './detect-format.ts';
import type { Item } from './items.ts';
import { openaiAgents } from './openai-agents.ts';

const call = { type: 'function_call', callId: 'c1', name: 'read', arguments: '{}', status: 'completed' };
const result = (output: unknown) => {
  return { type: 'function_call_result', callId: 'c1', name: 'read', status: 'completed', output } as Item;
};

describe('openai-agents', () => {
  it.each([
    ['a string', 'text', '[masked]'],
    [
      'a text',
      { type: 'text', text: 'text', providerData: { a: 1 } },
      { type: 'text', text: '[masked]', providerData: { a: 1 } },
    ],
    [
      'an image',
      { type: 'image', image: { data: 'iVBORw0KGgo=', mediaType: 'image/png' } },
      { type: 'text', text: '[masked]' },
    ],
    ['a list', [{ type: 'input_text', text: 'text' }], [{ type: 'input_text', text: '[masked]' }]],
    [
      'a marked list',
      [
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image: 'data:', promptCacheBreakpoint: { mode: 'explicit' } },
      ],
      [{ type: 'input_text', text: '[masked]', promptCacheBreakpoint: { mode: 'explicit' } }],
    ],
  ])('masks %s in its own shape', (_name, before, after) => {
    expect(masked(openaiAgents, [call, result(before)])[1]).toEqual(result(after));
  });

  it.each([
    [{ type: 'image', image: { url: 'https://example.com/a.png' } }, 'image'],
    [{ type: 'image', image: { data: new Uint8Array(300) } }, 'image'],
    [{ type: 'file', file: { data: 'QUJD', mediaType: 'application/pdf', filename: 'a.pdf' } }, 'file'],
    [{ type: 'input_file', file: { id: 'file_1' } }, 'file'],
  ])('sizes %j', (output, type) => {
    const [, segment] = openaiAgents.view([call, result(output)]);
    expect(segment?.media).toMatchObject([{ type }]);
    expect(segment?.media?.[0]?.tokens).toBeGreaterThan(100);
  });

  it('pairs a program with its output across the calls it makes', () => {
    const items = [
      { type: 'program', callId: 'p1', code: 'await read()', fingerprint: 'f' },
      call,
      result('text'),
      { type: 'program_output', callId: 'p1', output: 'done', status: 'completed' },
    ];
    expect(openaiAgents.view(items).map(({ kind, turn, callId, bound }) => [kind, turn, callId, bound])).toEqual([
      ['action', 1, 'p1', undefined],
      ['action', 1, 'c1', undefined],
      ['observation', 1, 'c1', undefined],
      ['observation', 2, 'p1', true],
    ]);
    expect(openaiAgents.check(items)).toEqual([]);
  });

  it('knows thinking that Anthropic signed', () => {
    const reasoning = (providerData: object) => ({ type: 'reasoning', content: [], providerData }) as Item;
    const items = [
      reasoning({ model: 'anthropic:claude-opus-5-5', anthropic: { signature: 's' } }),
      reasoning({ anthropic: { redactedData: 'r' } }),
      reasoning({ encrypted_content: 'e' }),
    ];
    expect(openaiAgents.view(items).map(({ bound, signed }) => [bound, signed])).toEqual([
      [true, true],
      [true, true],
      [true, undefined],
    ]);
  });

  it('is told from the Responses API by what only it has', () => {
    const reply = (part: object) => [{ type: 'message', role: 'assistant', status: 'completed', content: [part] }];
    expect(detectFormat(reply({ type: 'output_text', text: 'Hi', providerData: {} }))).toBe('openai-agents');
    expect(detectFormat(reply({ type: 'output_text', text: 'Hi', annotations: [] }))).toBe('openai-responses');
  });
});
