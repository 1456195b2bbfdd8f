import { describe, expect, it } from 'vitest';
import { chat } from '../formats/chat.ts';
import { loneSurrogates, text } from './text.ts';

describe('loneSurrogates', () => {
  it.each([
    ['', 0],
    ['a😀b', 0],
    ['\ud800', 1],
    ['\udc00', 1],
    ['\udc00\ud800', 2],
    ['\ud83d\ud83d\ude00', 1],
    ['😀\ude00', 1],
  ])('%j has %i', (given, lone) => {
    expect(loneSurrogates(given)).toBe(lone);
  });
});

describe('text', () => {
  const broken = (replacement: string, original: string): number => {
    const segments = [{ kind: 'observation', turn: 1, message: 0, path: ['content'], text: original }] as const;
    const edits = [{ kind: 'replace', segment: 0, text: replacement, why: 'mask' }] as const;
    return text.check({ format: chat, before: [], after: [], segments, plan: { version: 1, edits } }).length;
  };

  it('refuses an empty replacement', () => {
    expect(broken('', 'original')).toBe(1);
  });
  it('refuses a halved character, unless the original had as many halves', () => {
    expect(broken('a\ud83d', 'a😀')).toBe(1);
    expect(broken('a\ud83d', 'a\ud83d and more')).toBe(0);
    expect(broken('a', 'a😀')).toBe(0);
  });
});
