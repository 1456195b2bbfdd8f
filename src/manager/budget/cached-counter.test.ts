import { describe, expect, it } from 'vitest';
import { countTokens } from '../../tokens/count-tokens.ts';
import { cachedCounter } from './cached-counter.ts';

describe('cachedCounter', () => {
  const watched = () => {
    let counted = 0;
    const counter = cachedCounter((text) => {
      counted += 1;
      return countTokens(text);
    });
    return { counter, counted: () => counted };
  };

  it('counts as the other does, and a long text once', () => {
    const { counter, counted } = watched();
    const text = 'a line of output\n'.repeat(100);
    expect([counter(text), counter(`${text}`), counter('short')]).toEqual([
      countTokens(text),
      countTokens(text),
      countTokens('short'),
    ]);
    expect(counted()).toBe(2);
  });

  it('forgets when there is too much to remember, and goes on', () => {
    const { counter, counted } = watched();
    const texts = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(1_000_000));
    for (const text of texts) counter(text);
    expect(counted()).toBe(10);
    counter(texts[9] ?? '');
    expect(counted()).toBe(10);
    counter(texts[0] ?? '');
    expect(counted()).toBe(11);
  });

  it('keeps one cache, though a session and its manager both ask for one', () => {
    const { counter } = watched();
    expect(cachedCounter(counter)).toBe(counter);
  });
});
