import { describe, expect, it } from 'vitest';
import { type AnthropicMessage, anthropic } from '../formats/anthropic.ts';
import type { Edit, Segment, Violation } from '../message.ts';
import { metadata } from './metadata.ts';
import { shortenOldText } from './old-texts.ts';

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
    ['the message is null', null],
  ])('complains where %s', (_, changed) => {
    const text = 'The edit of message 1 changes more than the content of its result.';
    expect(check(changed)).toEqual([{ law: 'metadata', message: 1, text, about: '' }]);
  });
  it('counts own fields only, and lets LangChain repeat the content in `lc_kwargs`', () => {
    const inherits = (own: object, inherited: object): object => Object.assign(Object.create(inherited), own);
    const checkOne = (old: unknown, now: unknown): string | undefined =>
      metadata.checkOne({ kind: 'replace', segment: 0, text: 'short', why: 'mask' }, plain, old, now);
    const plain: Segment = { ...segment, path: ['content'] };
    expect(checkOne(inherits({ content: 'long' }, { a: 1 }), { content: 'short' })).toBeUndefined();
    expect(checkOne({ content: 'long' }, inherits({ content: 'short' }, { a: 1 }))).toBeUndefined();
    const repeated = (content: string): object => ({ content, lc_kwargs: { content } });
    expect(checkOne(repeated('long'), repeated('short'))).toBeUndefined();
  });
  it('lets an edit of a call change old texts only', () => {
    const call = (old_string: string, path = 'a.ts'): object => ({
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'a', name: 'edit', input: { path, old_string } }],
    });
    const action: Segment = { ...segment, kind: 'action', path: ['content', 0, 'input'] };
    const long = 'x'.repeat(400);
    const short = shortenOldText(long) as string;
    const checkOne = (now: unknown): string | undefined =>
      metadata.checkOne({ kind: 'replace', segment: 0, text: short, why: 'old-text' }, action, call(long), now);
    expect(checkOne(call(short))).toBeUndefined();
    expect(checkOne(call(short, 'b.ts'))).toBe('The edit of message 1 changes more than the old texts of its calls.');
  });
});
