import { describe, expect, it } from 'vitest';
import { type AnthropicMessage, anthropic } from '../formats/anthropic.ts';
import type { Edit, Segment, Violation } from '../message.ts';
import { metadata } from './metadata.ts';

const marker = { type: 'ephemeral' };
const result = { type: 'tool_result', tool_use_id: 'a', content: 'long output', cache_control: marker };
const words = { type: 'text', text: 'go on' };
const message = { role: 'user', content: [result, words], extra: { any: 'thing' } };
const segment: Segment = { kind: 'observation', turn: 1, message: 1, path: ['content', 0, 'content'], text: '' };
const first = { role: 'user', content: 'task' };

function check(edited: unknown, edits: readonly Edit[] = [], after: unknown[] = [first, edited]): Violation[] {
  return metadata.check({
    format: anthropic,
    before: [first, message],
    after: after as AnthropicMessage[],
    segments: [segment],
    plan: { version: 1, edits: [{ kind: 'replace', segment: 0, text: 'short', why: 'mask' }, ...edits] },
  });
}

describe('metadata', () => {
  const edited = anthropic.edit(message, segment, 'short');

  it('is content with an edit of the content alone', () => {
    expect(check(edited)).toEqual([]);
  });
  it('looks for the message where drops and notes moved it', () => {
    expect(check(edited, [{ kind: 'drop', from: 0, to: 1 }], [edited])).toEqual([]);
    const note: Edit = { kind: 'insert', before: 1, role: 'user', text: 'note' };
    expect(check(edited, [note, note], [first, first, first, edited])).toEqual([]);
    expect(check(edited, [note], [first, edited, first])).toHaveLength(1);
  });
  it.each([
    ['a field of the message is changed', { ...message, role: 'assistant' }],
    ['a field of the message is copied', { ...message, extra: { any: 'thing' } }],
    ['a field of the message is lost', { role: 'user', content: message.content }],
    ['the id is changed', { ...message, content: [{ ...result, tool_use_id: 'b' }, words] }],
    ['the cache marker is lost', { ...message, content: [{ ...result, cache_control: undefined }, words] }],
    ['a field is added to the result', { ...message, content: [{ ...result, is_error: true }, words] }],
    ['a block is lost', { ...message, content: [result] }],
    ['the message is gone', undefined],
    ['the message is no object', 'text'],
  ])('complains where %s', (_, changed) => {
    expect(check(changed)).toMatchObject([{ law: 'metadata', message: 1 }]);
  });
});
