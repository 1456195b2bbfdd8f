import { describe, expect, it } from 'vitest';
import { LruMap } from './lru-map.ts';

describe('LruMap', () => {
  it('forgets what was not set for longest', () => {
    const recent = new LruMap<string, number>(2);
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('a', 3);
    recent.set('a', 4);
    recent.set('c', 5);
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([4, undefined, 5]);
  });

  it('forgets what is set to undefined, and counts it as new when it comes back', () => {
    const recent = new LruMap<string, number>(2);
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('b', undefined);
    expect(recent.get('b')).toBeUndefined();
    recent.set('b', 3);
    recent.set('c', 4);
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([undefined, 3, 4]);
  });
});
