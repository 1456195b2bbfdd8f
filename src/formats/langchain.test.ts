import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import { fit } from '../plan/fit.ts';
import { polling } from '../plan/policies/sliding-window.ts';
import { detectFormat } from './detect-format.ts';
import { type LangChainMessage, langchain } from './langchain.ts';

/** Built like `BaseMessage` of @langchain/core 1: fields, the constructor's arguments, and a brand under a symbol. */
class Message {
  declare readonly type: string;
  declare readonly lc_kwargs: Record<string, unknown>;

  constructor(type: string, fields: Record<string, unknown>) {
    const lc_kwargs = { additional_kwargs: {}, response_metadata: {}, ...fields };
    const content = fields.contentBlocks ?? fields.content;
    Object.assign(this, lc_kwargs, { content, lc_kwargs, type, [Symbol.for('langchain.message')]: true });
  }
  getType(): string {
    return this.type;
  }
}

class HumanMessage extends Message {}
class ToolMessage extends Message {}

const human = new HumanMessage('human', { content: 'Go.', name: 'alice', id: 'm0', additional_kwargs: { a: 1 } });
const ai = { type: 'ai', content: '', tool_calls: [{ id: 'c1', name: 'read', args: { path: 'a' } }] };
const tool = { type: 'tool', tool_call_id: 'c1', content: 'text' };

describe('langchain', () => {
  it('keeps an edited instance what it is, with everything next to the content', () => {
    const fields = {
      content: 'long',
      tool_call_id: 'c1',
      status: 'error',
      artifact: { rows: 3 },
      id: 'm1',
      name: 'read',
    };
    const before = new ToolMessage('tool', fields);
    const after = masked(langchain, [human, ai, before])[2] as ToolMessage;
    expect(after).toBeInstanceOf(ToolMessage);
    expect(after).toMatchObject({ ...fields, content: '[masked]', lc_kwargs: { ...fields, content: '[masked]' } });
    expect((after as unknown as { artifact: unknown }).artifact).toBe(fields.artifact);
    expect(Object.getOwnPropertySymbols(after)).toEqual(Object.getOwnPropertySymbols(before));
    expect(before).toMatchObject({ content: 'long', lc_kwargs: { content: 'long' } });
  });

  it('does not serialise the blocks that a mask hides', () => {
    const contentBlocks = [{ type: 'text', text: 'secret' }];
    const after = masked(langchain, [human, ai, new ToolMessage('tool', { contentBlocks, tool_call_id: 'c1' })])[2];
    expect(JSON.stringify((after as Message).lc_kwargs)).not.toContain('secret');
  });

  it('makes a note in the likeness of a human message, without its name, id and extras', () => {
    const note = langchain.note('user', 'A note.', [human]) as HumanMessage;
    expect(note).toBeInstanceOf(HumanMessage);
    expect(note).toMatchObject({ content: 'A note.', id: undefined, name: undefined, additional_kwargs: {} });
    expect(note.lc_kwargs).toEqual({ content: 'A note.', additional_kwargs: {}, response_metadata: {} });
    expect(langchain.note('user', 'A note.', [])).toEqual({ type: 'human', content: 'A note.' });
  });

  it('reads and edits serialised and stored messages in their own shape', () => {
    const serialised = (name: string, kwargs: object) => ({
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', name],
      kwargs,
    });
    const list: LangChainMessage[] = [
      serialised('HumanMessage', { content: 'Go.' }),
      serialised('AIMessage', { content: '', tool_calls: ai.tool_calls }),
      serialised('ToolMessage', { content: 'text', tool_call_id: 'c1' }),
      { type: 'ai', data: { content: '', tool_calls: ai.tool_calls } },
      { type: 'tool', data: { content: 'text', tool_call_id: 'c1', status: 'error' } },
    ];
    expect(detectFormat(list)).toBe('langchain');
    expect(langchain.view(list).map(({ kind, callId, isError }) => [kind, callId, isError])).toEqual([
      ['user', undefined, undefined],
      ['action', 'c1', undefined],
      ['observation', 'c1', undefined],
      ['action', 'c1', undefined],
      ['observation', 'c1', true],
    ]);
    const edited = masked(langchain, list);
    expect(edited[2]).toEqual(serialised('ToolMessage', { content: '[masked]', tool_call_id: 'c1' }));
    expect(edited[4]).toEqual({ type: 'tool', data: { content: '[masked]', tool_call_id: 'c1', status: 'error' } });
    expect(langchain.note('user', 'A note.', list)).toEqual(serialised('HumanMessage', { content: 'A note.' }));
  });

  it('reads and edits the content of standard blocks where only they were serialised', () => {
    const message = {
      lc: 1,
      id: ['ToolMessage'],
      kwargs: { content_blocks: [{ type: 'text', text: 'a' }], tool_call_id: 'c1' },
    };
    expect(masked(langchain, [ai, message])[1]).toMatchObject({
      kwargs: { content_blocks: [{ type: 'text', text: '[masked]' }] },
    });
  });

  it('does not count a call twice that is in the content too', () => {
    const content = [
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'c1', name: 'read', input: {} },
    ];
    expect(langchain.view([{ ...ai, content }]).map(({ kind }) => kind)).toEqual(['reasoning', 'action']);
  });

  it('shortens a call in every place that an integration may send it from', () => {
    const args = { path: 'a.ts', old_string: 'const total = sum(values);\n'.repeat(20), new_string: '' };
    const reply = (id: string) => {
      const written = JSON.stringify(args, undefined, 1);
      return new Message('ai', {
        content: [{ type: 'tool_use', id, name: 'edit', input: args }],
        tool_calls: [{ id, name: 'edit', args }],
        response_metadata: {
          id: 'resp_1',
          output: [{ type: 'reasoning' }, { type: 'function_call', id: 'fc', call_id: id, arguments: written }],
        },
        additional_kwargs: { tool_calls: [{ id, type: 'function', function: { name: 'edit', arguments: written } }] },
      });
    };
    const ids = ['c1', 'c2', 'c3', 'c4', 'c5'];
    const list = [
      human,
      ...ids.flatMap((id) => [
        reply(id),
        new ToolMessage('tool', { tool_call_id: id, name: 'edit', content: 'line\n'.repeat(100) }),
      ]),
    ];
    const policy = polling({ turns: 1, every: 4, oldTexts: true });
    const { messages, plan } = fit(list, { format: 'langchain', policy });
    expect(plan.edits.filter((edit) => edit.kind === 'replace' && edit.why === 'old-text')).toHaveLength(1);
    const whole = JSON.stringify(list[3]);
    const short = JSON.stringify(messages[3]);
    // Four places, each in the fields and in the arguments of the constructor.
    expect([whole, short].map((text) => text.match(/old text left out/g)?.length ?? 0)).toEqual([0, 8]);
    expect(short).not.toContain('sum(values);\\n');
    expect(messages[3]).toMatchObject({
      response_metadata: { id: 'resp_1', output: [{ type: 'reasoning' }, { id: 'fc' }] },
    });
  });

  it('finds raw calls where there are no others', () => {
    const raw = { id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } };
    const list = [{ type: 'ai', content: '', additional_kwargs: { tool_calls: [raw] } }, tool];
    expect(langchain.view(list)).toMatchObject([
      { kind: 'action', callId: 'c1', tool: 'read', text: '{"path":"a"}' },
      { kind: 'observation', callId: 'c1', tool: 'read' },
    ]);
    expect(langchain.check(list)).toEqual([]);
  });

  it('accepts an answer to a call that could not be parsed, and none', () => {
    const bad = {
      type: 'ai',
      content: '',
      tool_calls: [],
      invalid_tool_calls: [{ id: 'c1', name: 'read', args: '{' }],
    };
    expect(langchain.view([bad, tool])).toMatchObject([{ kind: 'reasoning' }, { kind: 'observation', callId: 'c1' }]);
    expect(langchain.check([bad, tool])).toEqual([]);
    expect(langchain.check([bad, human, ai])).toEqual([]);
  });

  it.each([
    [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { text: 'Hm.', signed: true },
    ],
    [{ type: 'reasoning', reasoning: 'Hm.' }, { text: 'Hm.' }],
    [
      { type: 'reasoning_content', reasoningText: { text: 'Hm.', signature: 's' } },
      { text: 'Hm.', signed: true },
    ],
    [{ type: 'redacted_thinking', data: 'QUJD' }, { signed: true }],
    [{ type: 'server_tool_call_result', output: 'x' }, { media: [{ type: 'other' }] }],
  ])('binds %j', (block, segment) => {
    expect(langchain.view([{ type: 'ai', content: [block] }])).toMatchObject([
      { kind: 'reasoning', bound: true, ...segment },
    ]);
  });

  it('binds reasoning that is kept beside the content', () => {
    const reasoning = { id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'QUJD' };
    const additional_kwargs = { reasoning, reasoning_content: 'Hm.' };
    expect(langchain.view([{ type: 'ai', content: 'Done.', additional_kwargs }])).toMatchObject([
      { text: 'Hm.', bound: true },
      { text: 'Hm.', bound: true, media: [{ bytes: 3 }] },
      { text: 'Done.' },
    ]);
  });

  it('accepts a human message between a call and its result, and reports a result without a call', () => {
    expect(langchain.check([ai, human, tool])).toEqual([]);
    expect(langchain.check([human, tool])).toMatchObject([{ law: 'pairs', message: 1, about: 'c1' }]);
    expect(langchain.check([ai, { type: 'ai', content: 'Done.' }])).toMatchObject([{ message: 0, about: 'c1' }]);
  });
});
