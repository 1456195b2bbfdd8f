import { describe, expect, it } from 'vitest';
import { answerLimits } from '../../limits.ts';
import { redactCredentials } from './redact.ts';

const { redactedChars, secretsPerRequest } = answerLimits;
/** Ends in a space. */
const words = (chars: number): string => `${'the quick brown fox '.repeat(chars / 20 + 1).slice(0, chars - 1)} `;
const withKey = (key: string) => ({ rawHeaders: ['x-api-key', key], url: '/' });

describe('redactCredentials', () => {
  it('removes the credentials of the request in every spelling, and each where they overlap', () => {
    const request = { rawHeaders: ['Authorization', 'Bearer a/b"c-12345', 'Cookie', 'c-12345-and-more'], url: '/' };
    for (const written of [
      'a/b"c-12345',
      'a/b\\"c-12345',
      'a\\/b\\"c-12345',
      'a%2Fb%22c-12345',
      'a/b"c-12345-and-more',
    ])
      expect(redactCredentials(`bad key ${written}!`, request)).toBe('bad key (redacted)!');
    expect(redactCredentials('no to k-in-query', { rawHeaders: [], url: '/v1?key=k-in-query' })).toBe(
      'no to (redacted)',
    );
  });

  it.each(['odd-key-of-a-provider/1234567890', 'sk-proj-1234567890abcdef', `AIza${'x'.repeat(35)}`])(
    'shows no part of a key where the text is cut, at any place of %s',
    (key) => {
      for (let before = 1; before <= key.length; before++) {
        const text = words(redactedChars - before) + key + words(1000);
        for (const request of [withKey(key), ...(key.startsWith('odd') ? [] : [{ rawHeaders: [], url: '/' }])]) {
          const redacted = redactCredentials(text, request);
          expect(redacted).toBe(`${words(redactedChars - before)}(redacted)`);
        }
      }
    },
  );

  it('shows no part of a long key or token that goes on far beyond the cut', () => {
    const key = 'k/'.repeat(5000);
    const token = `eyJ${'h'.repeat(600)}.${'p'.repeat(5000)}.s`;
    const text = (secret: string): string => words(redactedChars - 100) + secret;
    expect(redactCredentials(text(key), withKey(key))).toBe(`${words(redactedChars - 100)}(redacted)`);
    expect(redactCredentials(text(token), withKey('another-key'))).toBe(`${words(redactedChars - 100)}(redacted)`);
  });

  it('keeps the beginning of a long text, and nothing of it where the request has too many values', () => {
    expect(redactCredentials(words(1_000_000), withKey('a-key'))).toBe(words(redactedChars));
    const values = (count: number): string => Array.from({ length: count }, (_, i) => `value-${i}`).join(';');
    expect(redactCredentials('no to value-7', withKey(values(secretsPerRequest - 1)))).toBe('no to (redacted)');
    expect(redactCredentials('no to value-7', withKey(values(secretsPerRequest)))).toBe('(redacted)');
  });

  it.each([
    ['many values in the request', (chars: number) => words(chars), secretsPerRequest - 1],
    ['beginnings of tokens', (chars: number) => '-eyJ'.repeat(chars / 4), 0],
  ])('does no more work on a longer text: %s', (_name, text, count) => {
    const request = withKey(Array.from({ length: count }, (_, i) => `tttt-${i}`).join(';'));
    const work = (chars: number): number => {
      const long = text(chars);
      const times = Array.from({ length: 5 }, () => {
        const began = performance.now();
        redactCredentials(long, request);
        return performance.now() - began;
      });
      return Math.min(...times);
    };
    work(32 * 1024);
    // It was 8 times the work for the first, and 64 times for the second.
    expect(work(256 * 1024) / work(32 * 1024)).toBeLessThan(4);
  });
});
