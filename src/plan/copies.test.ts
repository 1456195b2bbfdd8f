import { describe, expect, it } from 'vitest';
import { answer, parallelCalls, prose, user } from '../../test/support/chat.ts';
import { chat } from '../formats/chat.ts';
import type { ChatMessage, Edit, Format } from '../message.ts';
import { Copies } from './copies.ts';

const IDS = ['a', 'b', 'c'];
const messages = [user('task'), parallelCalls(...IDS), ...IDS.map((id) => answer(id, prose(400)))];
const segments = chat.view(messages);
const results = segments.flatMap(({ kind }, i) => (kind === 'observation' ? [i] : []));
const mask = (i: number, text = '[masked]'): Edit => ({
  kind: 'replace',
  segment: results[i] as number,
  text,
  why: 'mask',
});
const newCopies = (format: Format<ChatMessage> = chat) => new Copies({ format, messages, segments });
const applied = (...edits: readonly Edit[]) => chat.apply(messages, { version: 1, edits });

describe('copies', () => {
  it('are kept where the plan gets more edits', () => {
    const copies = newCopies();
    const first = copies.apply([mask(0), mask(2)]);
    const second = copies.apply([mask(0), mask(1), mask(2)]);
    expect(second).toEqual(applied(mask(0), mask(1), mask(2)));
    expect(second.map((message, i) => message === first[i])).toEqual([true, true, true, false, true]);
  });
  it.each<[string, Edit[]]>([
    ['is gone', [mask(1)]],
    ['reads otherwise', [mask(0, '[other]'), mask(1)]],
    ['is the only one, and gone', []],
  ])('are made again where an edit %s', (_name, edits) => {
    const copies = newCopies();
    copies.apply([mask(0), mask(1)]);
    expect(copies.apply(edits)).toEqual(applied(...edits));
  });
  it('leave messages out and put notes in without being made again', () => {
    const copies = newCopies();
    const [, , , , kept] = copies.apply([mask(2)]);
    const list: Edit[] = [
      { kind: 'drop', from: 2, to: 4 },
      { kind: 'insert', before: 1, role: 'system', text: 'a note' },
    ];
    const edited = copies.apply([mask(2), ...list]);
    expect(edited).toEqual(applied(mask(2), ...list));
    expect(edited.at(-1)).toBe(kept);
    expect(copies.apply([mask(2)])).toEqual(applied(mask(2)));
  });
  it('are all made again after a format threw in the middle', () => {
    let left = 1;
    const edit: typeof chat.edit = (...args) => {
      if (left-- === 0) throw new Error('broken');
      return chat.edit(...args);
    };
    const copies = newCopies({ ...chat, edit });
    expect(() => copies.apply([mask(0), mask(1)])).toThrow('broken');
    expect(copies.apply([])).toEqual(messages);
    expect(copies.apply([mask(1)])).toEqual(applied(mask(1)));
  });
  it('are made again on every call where they cannot be compared', () => {
    const edit: typeof chat.edit = (...args) => ({ ...chat.edit(...args), bytes: new Uint8Array(4) });
    const copies = newCopies({ ...chat, edit });
    const edits = [mask(0)];
    expect(copies.apply(edits)[2]).not.toBe(copies.apply(edits)[2]);
  });
});
