import { describe, expect, it } from 'vitest';
import { readCall } from './read-call.ts';

const argumentsOf = (args: object): string[] => readCall(JSON.stringify(args)).texts.map(({ argument }) => argument);

describe('the texts of a call', () => {
  it('are named by their arguments', () => {
    expect(argumentsOf({ path: 'a.ts', old_string: 'x', new_string: 'y', replace_all: true })).toEqual([
      'path',
      'old_string',
      'new_string',
    ]);
  });

  it('have different names where an argument has several', () => {
    expect(argumentsOf({ edits: [{ oldText: 'a', newText: 'b' }, { oldText: 'c' }], list: ['x', 'y'] })).toEqual([
      'edits.1.oldText',
      'edits.1.newText',
      'edits.2.oldText',
      'list.1',
      'list.2',
    ]);
    expect(readCall('{"edits":[{"oldText":"a"}]}').texts[0]?.field).toBe('oldText');
  });

  it('are strings only, and at most 100', () => {
    expect(argumentsOf({ none: null, count: 3, name: 'x' })).toEqual(['name']);
    expect(argumentsOf({ list: Array.from({ length: 150 }, (_, i) => `item ${i}`) })).toHaveLength(100);
  });

  it('are the whole text where the arguments are no object', () => {
    expect(readCall('ls -la').texts).toEqual([{ argument: '', field: '', text: 'ls -la' }]);
  });
});
