import { describe, expect, it } from 'vitest';
import { chat } from '../formats/chat.ts';
import type { Media, Segment } from '../message.ts';
import { hiddenChars, monotone } from './monotone.ts';

const segment = (text: string, ...media: Media[]): Segment => ({
  kind: 'observation',
  turn: 1,
  message: 0,
  path: ['content'],
  text,
  ...(media.length > 0 ? { media } : {}),
});
const image = (bytes: number, tokens = 1): Media => ({ type: 'image', bytes, tokens });
const broken = (text: string, hidden: Segment): number =>
  monotone.check({
    format: chat,
    before: [],
    after: [],
    segments: [hidden],
    plan: { version: 1, edits: [{ kind: 'replace', segment: 0, text, why: 'mask' }] },
  }).length;

describe('monotone', () => {
  it('asks a replacement to be shorter than what it hides', () => {
    expect(broken('abc', segment('abcd'))).toBe(0);
    expect(broken('abcd', segment('abcd'))).toBe(1);
    expect(broken('', segment(''))).toBe(1);
  });
  it('counts images and files with the text', () => {
    expect(broken('abcd', segment('', image(5)))).toBe(0);
    expect(broken('abcdefgh', segment('abc', image(5)))).toBe(1);
  });
});

describe('hiddenChars', () => {
  it('takes a file for its bytes, or for its tokens where its address is short', () => {
    expect(hiddenChars(segment('abc'))).toBe(3);
    expect(hiddenChars(segment('abc', image(100), image(10, 50)))).toBe(303);
  });
});
