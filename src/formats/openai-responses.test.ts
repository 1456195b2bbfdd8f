import { describe, expect, it } from 'vitest';
import { masked } from '../../test/support/format-samples.ts';
import type { Item } from './items.ts';
import { openaiResponses } from './openai-responses.ts';

const list = (...items: object[]): Item[] => items as Item[];
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'read', arguments: '{}' });
const output = (id: string, value: unknown = 'text') => ({ type: 'function_call_output', call_id: id, output: value });
const user = { role: 'user', content: 'Hurry.' };
const check = (...items: object[]) => openaiResponses.check(list(...items));
const view = (...items: object[]) => openaiResponses.view(list(...items));

describe('openai-responses', () => {
  it('takes all items of a reply for one turn', () => {
    const items = [{ type: 'reasoning', id: 'rs_1', summary: [] }, call('c1'), call('c2'), output('c1'), output('c2')];
    const reply = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] };
    expect(view(user, ...items, reply).map(({ turn }) => turn)).toEqual([0, 1, 1, 1, 1, 1, 2]);
  });

  it('says in the words of the provider what is missing', () => {
    expect(check(call('c1'), call('c2'), user, output('c1'))).toEqual([]);
    expect(check(call('c1'), output('c9'), call('c2'))).toMatchObject([
      { about: 'c9', message: 1, text: 'No tool call found for function call output with call_id c9.' },
      { about: 'c1', message: 0, text: 'No tool output found for function call c1.' },
    ]);
  });

  it('reports reasoning without the item it belongs to', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
    const text = "Item 'rs_1' of type 'reasoning' was provided without its required following item.";
    expect(check(reasoning, user)).toEqual([{ law: 'bound-reasoning', message: 0, about: 'rs_1', text }]);
    expect(check(reasoning, call('c1'))).toEqual([]);
  });

  it('reports an item that is there twice', () => {
    const item = { ...call('c1'), id: 'fc_1' };
    expect(check(item, output('c1'), item, output('c1'))).toMatchObject([
      { law: 'metadata', message: 2, about: 'fc_1' },
    ]);
  });

  it('does not miss the call that only a reference names', () => {
    const items = [{ type: 'item_reference', id: 'fc_1' }, output('c1')];
    expect(check(...items)).toEqual([]);
    expect(view(...items).map(({ kind, turn, callId }) => [kind, turn, callId])).toEqual([
      ['reasoning', 1, undefined],
      ['observation', 1, undefined],
    ]);
  });

  it('sizes encrypted reasoning and never edits it', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'A'.repeat(400) };
    expect(view(reasoning)).toMatchObject([{ bound: true, media: [{ bytes: 300, tokens: 75 }] }]);
  });

  it('keeps what a hosted tool found with its call, and never edits it', () => {
    const segments = view(
      { type: 'mcp_call', id: 'mcp_1', name: 'search', arguments: '{"q":1}', output: 'found' },
      { type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo=' },
      { type: 'code_interpreter_call', id: 'ci_1', code: '1+1', outputs: [{ type: 'logs', logs: '2' }] },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      { type: 'mcp_call', id: 'mcp_2', name: 'search', arguments: '{}', error: 'no' },
    );
    expect(segments.map(({ kind, callId, bound, isError }) => [kind, callId, bound, isError])).toEqual([
      ['action', 'mcp_1', undefined, undefined],
      ['observation', 'mcp_1', true, undefined],
      ['action', 'ig_1', undefined, undefined],
      ['observation', 'ig_1', true, undefined],
      ['action', 'ci_1', undefined, undefined],
      ['observation', 'ci_1', true, undefined],
      ['action', 'ws_1', undefined, undefined],
      ['action', 'mcp_2', undefined, undefined],
      ['observation', 'mcp_2', true, true],
    ]);
    expect(segments[3]?.media).toMatchObject([{ type: 'image' }]);
  });

  it('masks the streams of a shell and keeps how it ended', () => {
    const failed = { stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 2 } };
    const fine = { stdout: 'c', stderr: '', outcome: { type: 'exit', exit_code: 0 } };
    const items = list(
      { type: 'shell_call', call_id: 'c1', action: { commands: ['x', 'y'] } },
      { type: 'shell_call_output', call_id: 'c1', output: [failed, fine] },
    );
    expect(openaiResponses.view(items)[1]).toMatchObject({ text: 'ab\nc', isError: true, tool: 'shell' });
    const after = masked(openaiResponses, items)[1];
    expect(after).toMatchObject({ output: [{ stdout: '[masked]', stderr: '', outcome: failed.outcome }] });
  });

  it('pairs a local shell by the id of the item or by call_id', () => {
    const shell = { type: 'local_shell_call', id: 'lsh_1', call_id: 'c1', action: { type: 'exec', command: ['ls'] } };
    const byId = { type: 'local_shell_call_output', id: 'lsh_1', output: 'a' };
    const byCall = { type: 'local_shell_call_output', call_id: 'c1', output: 'a' };
    for (const answer of [byId, byCall]) {
      expect(view(shell, answer)[1]?.callId).toBe('c1');
      expect(check(shell, answer)).toEqual([]);
    }
  });

  it('pairs custom tools and patches, whose failure is in their status', () => {
    const items = list(
      { type: 'custom_tool_call', call_id: 'c1', name: 'apply', input: 'x' },
      { type: 'apply_patch_call', call_id: 'c2', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
      { type: 'custom_tool_call_output', call_id: 'c1', output: 'text' },
      { type: 'apply_patch_call_output', call_id: 'c2', status: 'failed', output: 'no such file' },
    );
    const segments = openaiResponses.view(items);
    expect(segments.map(({ callId, isError }) => [callId, isError])).toEqual([
      ['c1', undefined],
      ['c2', undefined],
      ['c1', undefined],
      ['c2', true],
    ]);
    expect(openaiResponses.check(items)).toEqual([]);
  });

  it('never puts text in the place of a screenshot', () => {
    const screenshot = { type: 'computer_screenshot', image_url: 'data:image/png;base64,iVBORw0KGgo=' };
    const items = list(
      { type: 'computer_call', call_id: 'c1', action: { type: 'screenshot' } },
      { type: 'computer_call_output', call_id: 'c1', output: screenshot },
    );
    expect(openaiResponses.view(items)[1]).toMatchObject({ bound: true, media: [{ type: 'image' }] });
    expect(masked(openaiResponses, items)[1]).toBe(items[1]);
  });

  it('does not take an item it does not know for the word of the user', () => {
    const segments = view(
      user,
      { type: 'additional_tools', tools: [] },
      { type: 'mcp_list_tools', id: 'l', tools: [] },
    );
    expect(segments.map(({ kind, turn, bound }) => [kind, turn, bound])).toEqual([
      ['user', 0, undefined],
      ['system', 0, true],
      ['reasoning', 1, true],
    ]);
  });
});
