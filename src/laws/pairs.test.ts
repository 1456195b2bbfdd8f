import { describe, expect, it } from 'vitest';
import { answer, pair, parallelCalls, reply, user } from '../../test/support/chat.ts';
import { chat } from '../formats/chat.ts';
import type { ChatMessage, Format, Violation } from '../message.ts';
import { addedViolations, closedGroups } from './pairs.ts';

interface Row {
  readonly number: number;
  openCalls: number;
  readonly linked: Row[];
}
const rows = (count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({ number: i + 1, openCalls: 0, linked: [] }));
const link = (a: Row | undefined, b: Row | undefined): void => {
  if (!a || !b) throw new Error('no such row');
  a.linked.push(b);
  b.linked.push(a);
};
const numbers = (groups: readonly (readonly Row[])[]): number[][] =>
  groups.map((group) => group.map(({ number }) => number));

describe('closedGroups', () => {
  it('lets every turn go alone where no result came late', () => {
    expect(numbers(closedGroups(rows(3)))).toEqual([[1], [2], [3]]);
    expect(closedGroups([])).toEqual([]);
  });
  it('keeps a call with a result that came turns later, in the order of the turns', () => {
    const list = rows(4);
    link(list[2], list[0]);
    expect(numbers(closedGroups(list))).toEqual([[1, 3], [2], [4]]);
  });
  it('answers a group in the order of its turns, whatever the order of their links', () => {
    const list = rows(3);
    link(list[0], list[2]);
    link(list[0], list[1]);
    expect(numbers(closedGroups(list))).toEqual([[1, 2, 3]]);
  });
  it('follows links over several turns', () => {
    const list = rows(5);
    link(list[0], list[2]);
    link(list[2], list[4]);
    expect(numbers(closedGroups(list))).toEqual([[1, 3, 5], [2], [4]]);
  });
  it('leaves out a group that reaches beyond the turns given', () => {
    const list = rows(4);
    link(list[1], list[3]);
    expect(numbers(closedGroups(list.slice(0, 3)))).toEqual([[1], [3]]);
  });
  it('leaves out a group with an open call, and all that hangs on it', () => {
    const list = rows(3);
    (list[1] as Row).openCalls = 1;
    link(list[0], list[1]);
    expect(numbers(closedGroups(list))).toEqual([[3]]);
  });
});

describe('addedViolations', () => {
  const legal = [user('task'), ...pair('a', 'x'), ...pair('b', 'y')];

  it('names what the edited list breaks and the original did not', () => {
    expect(addedViolations(chat, legal, legal)).toEqual([]);
    const [orphan] = addedViolations(chat, legal, legal.toSpliced(1, 1));
    expect(orphan).toMatchObject({ law: 'pairs', about: 'a' });
    const answered = [...legal, reply('done')];
    const [unanswered] = addedViolations(chat, answered, answered.toSpliced(2, 1));
    expect(unanswered).toMatchObject({ law: 'pairs', about: 'a' });
  });
  it('lets a call stay open that is one of the last reply, written as one message each', () => {
    expect(addedViolations(chat, legal, legal.toSpliced(2, 1))).toEqual([]);
  });
  it('does not hold against an edit what was broken before, wherever it is now', () => {
    const broken = [user('task'), parallelCalls('x', 'y'), answer('x', '1'), ...pair('a', 'x'), ...pair('b', 'y')];
    expect(chat.check(broken)).toHaveLength(1);
    expect(addedViolations(chat, broken, broken.toSpliced(3, 2))).toEqual([]);
  });
  it('tells violations apart by what they are about, or else by what they say', () => {
    const ghost = (id: string): ChatMessage[] => [user('task'), answer(id, '1')];
    expect(addedViolations(chat, ghost('a'), ghost('b'))).toMatchObject([{ law: 'pairs', about: 'b' }]);
    const says = (text: string): Violation => ({ law: 'roles', message: 0, text });
    const format = { check: (messages: readonly Violation[]) => [...messages] } as unknown as Format<Violation>;
    expect(addedViolations(format, [says('a')], [says('b'), says('a')])).toEqual([says('b')]);
  });
  it('counts: a second violation of the same kind is an added one', () => {
    const once = [user('task'), answer('ghost', '1')];
    expect(addedViolations(chat, once, [...once, answer('ghost', '2')])).toHaveLength(1);
  });
});
