import { describe, expect, it } from 'vitest';
import { pair, prose, user } from '../../test/seeds/support.ts';
import { chat } from '../formats/chat.ts';
import type { ChatMessage, Edit } from '../message.ts';
import { noMutation } from './no-mutation.ts';

const before = [user('task'), ...pair('a', prose(400)), ...pair('b', prose(400)), user('next')];
const edits: readonly Edit[] = [
  { kind: 'replace', segment: 4, text: 'short', why: 'mask' },
  { kind: 'drop', from: 1, to: 3 },
  { kind: 'insert', before: 0, role: 'system', text: 'note' },
];
const after = chat.apply(before, { version: 1, edits });
const check = (list: readonly ChatMessage[]): (number | undefined)[] =>
  noMutation
    .check({ format: chat, before, after: list, segments: chat.view(before), plan: { version: 1, edits } })
    .map(({ message }) => message);

describe('noMutation', () => {
  it('lets the edited be new and asks all else to be the object that came in', () => {
    expect(check(after)).toEqual([]);
  });
  it('names each message that is another object, or none', () => {
    expect(check(after.map((message) => ({ ...message })))).toEqual([0, 3, 5]);
    expect(check(after.slice(0, -1))).toEqual([5]);
  });
});
