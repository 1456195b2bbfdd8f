import { describe, expect, it } from 'vitest';
import { pair, prose, user } from '../../test/support/chat.ts';
import { chat } from '../formats/chat.ts';
import type { ChatMessage, Edit, Plan } from '../message.ts';
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
  it('takes no message as edited where an edit names a segment that is not there', () => {
    const plan: Plan = { version: 1, edits: [{ kind: 'replace', segment: 99, text: 'short', why: 'mask' }] };
    const copied = before.map((message) => ({ ...message }));
    const violations = noMutation.check({ format: chat, before, after: copied, segments: chat.view(before), plan });
    expect(violations).toHaveLength(before.length);
  });
  it('names each message that is another object, or none', () => {
    expect(check(after.map((message) => ({ ...message })))).toEqual([0, 3, 5]);
    expect(check(after.slice(0, -1))).toEqual([5]);
    const [violation] = noMutation.check({
      format: chat,
      before,
      after: [user('task'), ...before.slice(1)],
      segments: chat.view(before),
      plan: { version: 1, edits: [] },
    });
    const text = 'Message 0 was replaced though no edit names it.';
    expect(violation).toEqual({ law: 'no-mutation', message: 0, text });
  });
});
