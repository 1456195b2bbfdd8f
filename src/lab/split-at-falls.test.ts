import { describe, expect, it } from 'vitest';
import { contextFrom, system, turn, user } from '../../test/support/logs/contexts.ts';
import type { ReplyFacts } from './run.ts';
import { splitAtFalls } from './split-at-falls.ts';

const messages = [system(100), user(100), ...turn('a', 50), ...turn('b', 50), ...turn('c', 50), ...turn('d')];
const prompts = (...counts: readonly (number | undefined)[]): ReplyFacts[] =>
  counts.map((prompt) => (prompt === undefined ? {} : { usage: { prompt, cached: 0, output: 5 } }));
const contextWith = (...counts: readonly (number | undefined)[]) =>
  contextFrom(messages, { replies: prompts(...counts), times: messages.map((_, i) => i) });

describe('splitAtFalls', () => {
  it('leaves a context whole whose prompts grow, or lose a tenth', () => {
    for (const context of [contextWith(200, 260, 320, 380), contextWith(200, 260, 240, 300), contextFrom(messages)])
      expect(splitAtFalls(context)).toEqual([context]);
  });

  it('begins a context where the prompt shrinks, with the reply before it as a turn that was billed', () => {
    const [first, second, ...more] = splitAtFalls(contextWith(200, 260, 90, 150));
    expect(more).toEqual([]);
    // System, user, a with its result, b: request 3 was the first after the fall.
    expect(first).toMatchObject({ messages: messages.slice(0, 5), carriedTurns: 0, replies: prompts(200, 260) });
    expect(second).toMatchObject({ messages: messages.slice(4), carriedTurns: 1, replies: prompts(260, 90, 150) });
    expect(second?.times).toEqual([4, 5, 6, 7, 8]);
  });

  it('compares with the last usage that is known', () => {
    expect(splitAtFalls(contextWith(1000, undefined, 90, 150)).map(({ replies }) => replies?.length)).toEqual([2, 3]);
    expect(splitAtFalls(contextWith(undefined, undefined, 90, 150))).toHaveLength(1);
  });

  it('counts every request once, however often the prompt shrinks', () => {
    const parts = splitAtFalls(contextWith(1000, 100, 1000, 100));
    const billed = parts.map((part) => (part.replies?.length ?? 0) - part.carriedTurns);
    expect(billed).toEqual([1, 2, 1]);
  });
});
