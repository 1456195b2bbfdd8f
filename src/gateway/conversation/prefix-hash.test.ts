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

  it('may be a part of the name of a session', () => {
    expect(nextPrefix(seed, [said('a')])).toMatch(/^[0-9a-f]{32}$/);
  });
});
