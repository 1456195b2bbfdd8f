import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { type GeminiContent, gemini } from './gemini.ts';

const user = (...parts: object[]): GeminiContent => ({ role: 'user', parts });
const model = (...parts: object[]): GeminiContent => ({ role: 'model', parts });
const call = (name: string, more: object = {}) => ({ functionCall: { name, args: {}, ...more } });
const response = (name: string, value: unknown, more: object = {}) => {
  return { functionResponse: { name, response: value, ...more } };
};
const ask = user({ text: 'Go.' });
const ids = (messages: readonly GeminiContent[]) =>
  gemini
    .view(messages)
    .filter(({ kind }) => kind === 'observation')
    .map(({ callId }) => callId);

describe('gemini', () => {
  it('pairs calls without an id by name and order', () => {
    const list = [
      ask,
      model(call('a'), call('b'), call('a')),
      user(response('a', {}), response('b', {}), response('a', {})),
    ];
    expect(ids(list)).toEqual(['function a', 'function b', 'function a']);
    expect(ids([...list, user(response('a', {}))]).at(-1)).toBeUndefined();
  });

  it('pairs by name where only one side has an id, and never across two ids', () => {
    expect(ids([model(call('a', { id: '1' })), user(response('a', {}))])).toEqual(['1']);
    expect(ids([model(call('a')), user(response('a', {}, { id: '1' }))])).toEqual(['function a']);
    expect(ids([model(call('a', { id: '1' })), user(response('a', {}, { id: '2' }))])).toEqual([undefined]);
  });

  it('masks the response and its media, and keeps id, name and scheduling', () => {
    const media = [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }];
    const fields = { id: '1', scheduling: 'SILENT', parts: media };
    const list = [ask, model(call('a', { id: '1' })), user(response('a', { rows: [1, 2] }, fields))];
    expect(gemini.view(list)[2]).toMatchObject({ text: '{"rows":[1,2]}', media: [{ type: 'image', tokens: 258 }] });
    expect(masked(gemini, list)[2]).toEqual(
      user(response('a', { output: '[masked]' }, { id: '1', scheduling: 'SILENT' })),
    );
  });

  it('masks the files behind a response as results of its call, and no file of the user', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } };
    const file = { fileData: { mimeType: 'application/pdf', fileUri: 'u' } };
    const list = [
      user({ text: 'Look.' }, image),
      model(call('a', { id: '1' }), call('b', { id: '2' })),
      user(response('a', { output: 'x' }, { id: '1' }), image, file, response('b', { output: 'y' }, { id: '2' })),
      model(call('a', { id: '3' })),
      user(response('a', { output: 'z' }, { id: '3' }), { text: 'And this?' }, image),
    ];
    const kinds = gemini.view(list).filter(({ message }) => message % 2 === 0);
    expect(kinds.map(({ kind, callId }) => [kind, callId])).toEqual([
      ['user', undefined],
      ['user', undefined],
      ['observation', '1'],
      ['observation', '1'],
      ['observation', '1'],
      ['observation', '2'],
      ['observation', '3'],
      ['user', undefined],
      ['user', undefined],
    ]);
    expect(kinds[3]).toMatchObject({
      path: ['parts', 1],
      tool: 'a',
      text: '',
      media: [{ type: 'image', tokens: 258 }],
    });
    const note = { text: '[masked]' };
    const output = { output: '[masked]' };
    expect(masked(gemini, list)).toEqual([
      list[0],
      list[1],
      user(response('a', output, { id: '1' }), note, note, response('b', output, { id: '2' })),
      list[3],
      user(response('a', output, { id: '3' }), { text: 'And this?' }, image),
    ]);
    expect(gemini.check(masked(gemini, list))).toEqual([]);
    expect(gemini.original(list[2] as GeminiContent, kinds[3] as never)).toBe(JSON.stringify(image));
  });

  it('takes a response for failed only if its error says something', () => {
    const view = (value: unknown) => gemini.view([ask, model(call('a')), user(response('a', value))])[2];
    expect(view({ error: 'no' })).toMatchObject({ isError: true, text: 'no' });
    expect(view({ output: 'yes', error: null })?.isError).toBeUndefined();
    expect(masked(gemini, [ask, model(call('a')), user(response('a', { error: 'no' }))])[2]).toEqual(
      user(response('a', { error: '[masked]' })),
    );
  });

  it('makes no failure of a response with an empty error', () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
    const list = [ask, model(call('a')), user(response('a', { error: '' }, { parts: [image] }))];
    const sent = masked(gemini, list);
    expect(sent[2]).toEqual(user(response('a', { output: '[masked]' })));
    expect(gemini.view(list)[2]?.isError).toBeUndefined();
    expect(gemini.view(sent)[2]?.isError).toBeUndefined();
  });

  it('stores the text of a plain response and the JSON of a richer one', () => {
    const stored = (value: unknown) => {
      const list = [ask, model(call('a')), user(response('a', value))];
      return gemini.original(list[2] as GeminiContent, gemini.view(list)[2] as never);
    };
    expect(stored({ output: 'line' })).toBe('line');
    // As ADK writes it.
    expect(stored({ result: 'line' })).toBe('line');
    expect(stored({ rows: [1] })).toContain('"rows":[1]');
  });

  it('keeps the field of a plain response', () => {
    const sent = (value: unknown) => {
      const answered = user(response('a', value, { id: '1' }));
      return masked(gemini, [ask, model(call('a')), answered])[2];
    };
    expect(sent({ result: 'line' })).toEqual(user(response('a', { result: '[masked]' }, { id: '1' })));
    expect(sent({ result: 'line', more: 1 })).toEqual(user(response('a', { output: '[masked]' }, { id: '1' })));
    expect(sent(['line'])).toEqual(user(response('a', { output: '[masked]' }, { id: '1' })));
  });

  it('binds what carries a thought signature', () => {
    const parts = [
      { text: 'Hm.', thought: true, thoughtSignature: 's' },
      { ...call('a'), thoughtSignature: 's' },
    ];
    expect(gemini.view([model(...parts)])).toMatchObject([
      { kind: 'reasoning', bound: true },
      { kind: 'action', bound: true },
    ]);
  });

  it('sizes what it does not know', () => {
    const parts = [
      { executableCode: { code: 'x'.repeat(100) } },
      { fileData: { mimeType: 'video/mp4', fileUri: 'u' } },
    ];
    expect(gemini.view([model(...parts)]).map(({ media }) => media?.[0]?.type)).toEqual(['other', 'video']);
  });

  it.each([
    [
      'a count that differs',
      [ask, model(call('a'), call('b')), user(response('a', {}))],
      'number of function response parts',
    ],
    [
      'a text between call and response',
      [ask, model(call('a')), ask, user(response('a', {}))],
      'number of function response parts',
    ],
    ['a response without a call', [ask, user(response('a', {}))], 'immediately after a function call turn'],
    ['a call that comes first', [model(call('a'))], 'immediately after a user turn'],
    ['a call behind a reply', [ask, model({ text: 'Hm.' }), model(call('a'))], 'immediately after a user turn'],
    ['a call without the signature that others have', signedOnce(), 'missing a thought_signature'],
  ] as const)('reports %s', (_name, list, words) => {
    expect(gemini.check(list).map(({ text }) => text)).toContainEqual(expect.stringContaining(words));
  });

  it('wants a signature only of the first call of a step, and only since the last word of the user', () => {
    const signed = { ...call('a'), thoughtSignature: 's' };
    const steps = [model(signed, call('b')), user(response('a', {}), response('b', {}))];
    expect(gemini.check([ask, ...steps, ...steps])).toEqual([]);
    const unsigned = [model(call('a')), user(response('a', {}))];
    expect(gemini.check([ask, ...unsigned, ask, ...steps])).toEqual([]);
    expect(gemini.check([ask, ...unsigned])).toEqual([]);
  });
});

function signedOnce(): GeminiContent[] {
  const step = (part: object) => [model(part), user(response('a', {}))];
  return [ask, ...step({ ...call('a'), thoughtSignature: 's' }), ...step(call('a'))];
}
