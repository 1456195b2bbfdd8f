import { describe, expect, it } from 'vitest';
import type { Kind, Segment } from '../message.ts';
import { checkTask, userTurns } from './task.ts';

const at = (kind: Kind, text: string, turn = 0): Segment => ({ kind, text, turn, message: turn, path: ['content'] });
const [system, task, later, newest] = [
  at('system', 'sys'),
  at('user', 'task'),
  at('user', 'later', 1),
  at('user', 'newest', 2),
];

describe('userTurns', () => {
  it('are the first and the last turn in which a user spoke', () => {
    const rows = [false, true, true, true, false].map((hasUser) => ({ hasUser, hasWords: hasUser }));
    expect([...userTurns(rows)]).toEqual([rows[1], rows[3]]);
    expect(userTurns(rows).has(rows[2])).toBe(false);
    expect([...userTurns(rows.slice(0, 1))]).toEqual([undefined]);
  });
  it('are those with words of their own too, where others read like our notes', () => {
    const rows = [false, true, false, true, false].map((hasWords) => ({ hasUser: true, hasWords }));
    expect(userTurns(rows)).toEqual(new Set([rows[0], rows[4], rows[1], rows[3]]));
  });
});

describe('checkTask', () => {
  it('asks for the system prompt, the first and the newest user message', () => {
    const before = [system, task, later, newest];
    expect(checkTask(before, before)).toEqual([]);
    expect(checkTask(before, [system, task, newest])).toEqual([]);
    for (const lost of [system, task, newest]) {
      const left = before.filter((segment) => segment !== lost);
      expect(checkTask(before, left).map(({ law }) => law)).toContain('task');
    }
  });
  it('asks for every part of the system prompt, and for none that came later', () => {
    const second = at('system', 'more');
    const reminder = at('system', 'reminder', 3);
    expect(checkTask([system, second, task, reminder], [system, task, reminder])).toHaveLength(1);
    expect(checkTask([system, second, task, reminder], [system, second, task])).toEqual([]);
  });
  it('does not ask for a greeting before the task', () => {
    expect(checkTask([system, at('reasoning', 'Hello'), task], [system, task])).toEqual([]);
  });
  it('does not ask for notes of ours', () => {
    const notice = at('user', '[conversation truncated — 4 older messages omitted]');
    expect(checkTask([notice, task], [task])).toEqual([]);
  });
  it('is content with a list that has neither', () => {
    expect(checkTask([], [])).toEqual([]);
  });
});
