import { describe, expect, it } from 'vitest';
import type { Edit } from '../message.ts';
import { isStructural, movedTo } from './law.ts';

const mask: Edit = { kind: 'replace', segment: 0, text: 'x', why: 'mask' };
const drop = (from: number, to: number): Edit => ({ kind: 'drop', from, to });
const note = (before: number): Edit => ({ kind: 'insert', before, role: 'system', text: 'n' });

describe('isStructural', () => {
  it('is a plan that leaves out or puts in messages', () => {
    expect([[], [mask], [mask, drop(0, 1)], [note(0)]].map((edits) => isStructural({ version: 1, edits }))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});

describe('movedTo', () => {
  it.each<[Edit[], number[]]>([
    [[], [0, 1, 2, 3]],
    [[mask], [0, 1, 2, 3]],
    [[drop(1, 3)], [0, -1, -1, 1]],
    [
      [note(0), note(0)],
      [2, 3, 4, 5],
    ],
    [
      [drop(0, 2), note(1)],
      [-1, -1, 1, 2],
    ],
    [
      [drop(1, 2), drop(3, 4), note(3)],
      [0, -1, 1, -1],
    ],
    [[note(4)], [0, 1, 2, 3]],
  ])('%j moves four messages to %j', (edits, places) => {
    expect([...movedTo(4, edits)]).toEqual(places);
  });
});
