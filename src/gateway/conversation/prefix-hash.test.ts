import { describe, expect, it } from 'vitest';
import { firstPrefix, type Hashed, nextPrefixes } from './prefix-hash.ts';

const seed = firstPrefix('anthropic');
const nextPrefix = (prefix: string, pieces: readonly Hashed[]): string => nextPrefixes(prefix, pieces).at(-1) ?? prefix;
const said = (text: string, callId?: string): Hashed => ({ kind: 'observation', text, callId });

describe('a prefix', () => {
  it('is the same for the same pieces, and another for others', () => {
    expect(nextPrefix(seed, [said('a', '1')])).toBe(nextPrefix(seed, [said('a', '1')]));
    const others = [[said('b', '1')], [said('a', '2')], [said('a')], [said('a', '1'), said('', '1')]];
    const hashes = new Set([[said('a', '1')], ...others].map((pieces) => nextPrefix(seed, pieces)));
    expect(hashes.size).toBe(5);
  });

  it('cannot be forged by moving words from one piece to the next', () => {
    expect(nextPrefix(seed, [said('ab', 'c')])).not.toBe(nextPrefix(seed, [said('b', 'ca')]));
    expect(nextPrefix(seed, [said('a\nobservation 0 1 b')])).not.toBe(nextPrefix(seed, [said('a'), said('b')]));
  });

  it('depends on all that came before, and on the API', () => {
    const [one, other] = [nextPrefix(seed, [said('a')]), nextPrefix(seed, [said('b')])];
    expect(nextPrefix(one, [said('c')])).not.toBe(nextPrefix(other, [said('c')]));
    expect(firstPrefix('gemini')).not.toBe(seed);
  });

  it('is not changed by a system prompt', () => {
    expect(nextPrefix(seed, [{ kind: 'system', text: 'It is noon', callId: undefined }])).toBe(seed);
  });

  it('of a message that grew begins with the one it was', () => {
    const [before, after] = [[said('a')], [said('a'), said('b')]].map((pieces) => nextPrefixes(seed, pieces));
    expect(after).toEqual([...(before ?? []), expect.any(String)]);
  });

  it('tells halves of characters apart', () => {
    expect(nextPrefix(seed, [said('\ud800')])).not.toBe(nextPrefix(seed, [said('\ud801')]));
  });

  it('stays the same from version to version, so that conversations in a store are found again', () => {
    const texts = [
      'It is noon.',
      'déjà vu',
      'all\n'.repeat(30_000),
      '\udc00',
      'déjà\n'.repeat(999),
      '\udc00'.repeat(1999),
    ];
    expect(
      nextPrefixes(
        seed,
        texts.map((text) => said(text, 'call 1')),
      ),
    ).toEqual([
      'c041f8ee504a565f448953cf8162bc63',
      'c78c72610e23bc179f6e58d0da71b4c3',
      '9ee0b687f7f3df6b5ce64f3f87c0dfa2',
      '998126aef48f1612d7b171cce7e6c0e2',
      '7dd09b71c93218503622a3106ecd0db5',
      '8474ade867083d5ba6c4fc4d69667079',
    ]);
  });

  it('may be a part of the name of a session', () => {
    expect(nextPrefix(seed, [said('a')])).toMatch(/^[0-9a-f]{32}$/);
  });
});
