import { describe, expect, it } from 'vitest';
import { forgetToken, keepToken, keptToken, tokenIn } from './token.ts';

const keeper = (): Storage => {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as Storage;
};

describe('tokenIn', () => {
  it.each([
    ['http://127.0.0.1:8080/_palimpsest/#token=abc-_123', 'abc-_123'],
    ['#token=a%2Bb', 'a+b'],
    ['#token=100%', '100%'],
    ['  abc123\n', 'abc123'],
    ['Bearer abc123', 'abc123'],
  ])('finds it in %j', (text, token) => {
    expect(tokenIn(text)).toBe(token);
  });

  it.each(['', '   ', 'two words', 'http://127.0.0.1:8080/_palimpsest/', '#token='])('finds none in %j', (text) => {
    expect(tokenIn(text)).toBeUndefined();
  });
});

describe('keptToken', () => {
  it('is that of the link, and is still there without it', () => {
    const kept = keeper();
    expect(keptToken('', kept)).toBeUndefined();
    expect(keptToken('#token=one', kept)).toBe('one');
    expect(keptToken('#/c/123', kept)).toBe('one');
    keepToken('two', kept);
    expect(keptToken('', kept)).toBe('two');
    forgetToken(kept);
    expect(keptToken('', kept)).toBeUndefined();
  });
});
