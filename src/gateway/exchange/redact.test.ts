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

  const odd = 'Zx9-KeyOfNoKnownKind/+=42';
  const percent = encodeURIComponent(odd);
  const base64 = Buffer.from('Zx9>>>KeyOfNoKnownKind').toString('base64');
  it.each([
    ['in lower case', odd, odd.toLowerCase()],
    ['in upper case', odd, odd.toUpperCase()],
    ['percent-encoded', odd, percent],
    ['percent-encoded with small letters', odd, percent.replaceAll(/%../g, (code) => code.toLowerCase())],
    ['percent-encoded twice', odd, encodeURIComponent(percent)],
    ['with slashes escaped for JSON', odd, odd.replace('/', '\\/')],
    ['with some characters escaped for JSON', odd, odd.replace('/', '\\u002f').replace('=', '\\u003D')],
    ['escaped for JSON twice', odd, odd.replace('/', '\\\\u002f')],
    ['escaped for HTML', 'ab&cd<ef>"gh\'', 'ab&amp;cd&lt;ef&#62;&quot;gh&#x27;'],
    ['in base64', 'Zx9>>>KeyOfNoKnownKind', base64],
    ['in base64url', 'Zx9>>>KeyOfNoKnownKind', Buffer.from('Zx9>>>KeyOfNoKnownKind').toString('base64url')],
    ['in base64 in an address', 'Zx9>>>KeyOfNoKnownKind', encodeURIComponent(base64).replace(/%3d/gi, '')],
    ['as text, sent as UTF-8', Buffer.from('ké-schlüssel').toString('latin1'), 'ké-schlüssel'],
    ['as text, sent as Latin-1', 'ké-schlüssel', 'ké-schlüssel'],
    ['as it was sent, with an escape in it', 'abc%2fdef%2f123', 'abc%2fdef%2f123'],
  ])('removes a key that a provider writes %s', (_name, sent, written) => {
    const redacted = redactCredentials(`bad key ${written} !`, withKey(sent));
    expect(redacted.replace(/=+ !$/, ' !')).toBe('bad key (redacted) !');
  });

  const basic = `Basic ${Buffer.from('alice:hunter2-secret').toString('base64')}`;
  const signed =
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20201116/us-east-1/bedrock, SignedHeaders=host, Signature=deadbeefdeadbeef00';
  it.each([
    ['user and password', 'authorization', basic, 'alice:hunter2-secret'],
    ['a password', 'Proxy-Authorization', basic.replace('Basic ', 'basic  '), 'hunter2-secret'],
    ['the value of a cookie', 'cookie', 'a=1; sid=s3cr3t-value-1; b=2', 's3cr3t-value-1'],
    ['the quoted value of a cookie', 'cookie', 'sid="s3cr3t-value-1"', 's3cr3t-value-1'],
    ['a signature', 'authorization', signed, 'deadbeefdeadbeef00'],
    ['a signature of its own header', 'x-signature', 'deadbeefdeadbeef00', 'DEADBEEFDEADBEEF00'],
  ])('removes %s without the rest of its header', (_name, header, value, written) => {
    const request = { rawHeaders: [header, value], url: '/' };
    expect(redactCredentials(`no to ${written}!`, request)).toBe('no to (redacted)!');
  });

  it.each([
    ['key=abc%2bdef%2b123456', 'abc%2bdef%2b123456'],
    ['key=abc%2bdef%2b123456', 'abc%2Bdef%2B123456'],
    ['key=abc%2bdef%2b123456', 'abc+def+123456'],
    ['key=abc+def+123456', 'abc def 123456'],
    ...[
      'sig',
      'x_sig',
      'subscription-key',
      'api_token',
      'client_secret',
      '%6bey',
      'X-Amz-Signature',
      'a=1&access_token',
    ].map((name) => [`${name}=abcdef123456`, 'abcdef123456']),
  ] as [string, string][])('removes the secret of the query %s, written as %s', (query, written) => {
    const request = { rawHeaders: [], url: `/v1/x?${query}#end` };
    expect(redactCredentials(`no to ${written}!`, request)).toBe('no to (redacted)!');
  });

  it('keeps values of the query that are no secrets', () => {
    const request = { rawHeaders: [], url: '/v1/x?api-version=2026-11-16&design=abcdef&monkey=' };
    expect(redactCredentials('no to 2026-11-16 abcdef', request)).toBe('no to 2026-11-16 abcdef');
  });

  it.each(['bearer ', 'Bearer  ', 'BEARER\t', 'Bearer%20'])(
    'removes a key that is not of the request after %j',
    (scheme) => {
      const text = `authorization: ${scheme}0123456789abcdef0123`;
      expect(redactCredentials(text, { rawHeaders: [], url: '/' })).toBe(`authorization: ${scheme}(redacted)`);
    },
  );

  it('removes the beginning of a long key that a provider cuts', () => {
    const key = Array.from({ length: 500 }, (_, i) => i.toString(36)).join('/');
    expect(redactCredentials(`no to ${key.slice(0, 200)}...`, withKey(key))).toBe('no to (redacted)...');
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
    ['escapes', (chars: number) => '\\%5c'.repeat(chars / 4), secretsPerRequest - 1],
    ['beginnings of tokens', (chars: number) => '-eyJ'.repeat(chars / 4), 0],
  ])('does no more work on a longer text: %s', (_name, text, count) => {
    const request = withKey(Array.from({ length: count }, (_, i) => `tttt-${i}`).join(';'));
    const work = (chars: number): number => {
      const long = text(chars);
      const times = Array.from({ length: 5 }, () => {
        const began = process.cpuUsage();
        for (let i = 0; i < 10; i++) redactCredentials(long, request);
        return process.cpuUsage(began).user;
      });
      return Math.min(...times);
    };
    work(32 * 1024);
    // It was 8 times the work for the first, and 64 times for the second.
    expect(work(256 * 1024) / work(32 * 1024)).toBeLessThan(4);
  });
});
