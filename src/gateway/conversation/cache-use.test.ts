import { describe, expect, it } from 'vitest';
import { CacheUse } from './cache-use.ts';
import type { Listed } from './cached-history.ts';

/** Messages by their prefixes; one that ends in `!` has a tool result. */
const listed = (...prefixes: readonly string[]): Listed[] =>
  prefixes.map((prefix) => {
    const results = new Map(prefix.endsWith('!') ? [['content', { start: 0, end: 0, markers: '' }]] : []);
    const read = {
      message: {},
      title: '',
      said: 'nothing',
      results,
      fixed: new Set<string>(),
      originals: new Map(),
    } as const;
    return {
      ...{ start: 0, end: 0, prefix, prefixes: [prefix], values: 1 },
      read: {
        ...read,
        blocks: undefined,
        isReply: false,
        hasRecall: false,
        share: { read: 0, unknown: 0, pairs: 0 },
      },
    };
  });

describe('CacheUse', () => {
  it('tells when each model was used last, whichever answer ends first', () => {
    const use = new CacheUse();
    const request = listed('a');
    expect([use.isUsed(request), use.usedAt(request, 'm')]).toEqual([false, undefined]);
    use.use(request, 'm', 7);
    use.use(request, 'm', 5);
    use.use(request, undefined, 9);
    const times = [use.usedAt(request, 'm'), use.usedAt(request, 'other'), use.usedAt(request)];
    expect([use.isUsed(request), ...times]).toEqual([true, 7, undefined, 9]);
  });

  it('finds the request before the first result', () => {
    const use = new CacheUse();
    use.use(listed('a'), 'm', 7);
    expect(use.usedAt(listed('a', 'call', 'r!'), 'm')).toBe(7);
  });

  it('counts a fork that shares the first result, and not a session that shares less', () => {
    const use = new CacheUse();
    use.use(listed('a', 'call', 'r!', 'x'), 'm', 7);
    expect(use.usedAt(listed('a', 'call', 'r!', 'y'), 'm')).toBe(7);
    expect(use.usedAt(listed('a', 'other', 'q!'), 'm')).toBeUndefined();
    expect(use.isUsed(listed('a', 'other', 'q!'))).toBe(false);
  });
});
