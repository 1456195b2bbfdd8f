import { describe, expect, it } from 'vitest';
import { sizeEncrypted, sizeMedia, sizeUnknown, type Vendor } from './media.ts';

const big = (value: number, bytes: number): number[] =>
  Array.from({ length: bytes }, (_, i) => (value >> (8 * (bytes - 1 - i))) & 0xff);
const little = (value: number, bytes: number): number[] => big(value, bytes).reverse();
const ascii = (text: string): number[] => [...text].map((character) => character.charCodeAt(0));

const heads: Record<string, (width: number, height: number) => number[]> = {
  png: (w, h) => [0x89, ...ascii('PNG'), 13, 10, 26, 10, ...big(13, 4), ...ascii('IHDR'), ...big(w, 4), ...big(h, 4)],
  gif: (w, h) => [...ascii('GIF89a'), ...little(w, 2), ...little(h, 2)],
  jpeg: (w, h) => [
    ...[0xff, 0xd8, 0xff, 0xe0, ...big(16, 2), ...Array(14).fill(0)],
    ...[0xff, 0xc0, ...big(17, 2), 8, ...big(h, 2), ...big(w, 2), ...Array(12).fill(0)],
  ],
  'webp, lossy': (w, h) => [...riff('VP8 '), ...Array(6).fill(0), ...little(w, 2), ...little(h, 2)],
  'webp, lossless': (w, h) => [...riff('VP8L').concat(0x2f), ...little((w - 1) | ((h - 1) << 14), 4)],
  'webp, extended': (w, h) => [...riff('VP8X'), ...Array(4).fill(0), ...little(w - 1, 3), ...little(h - 1, 3)],
};

const riff = (chunk: string): number[] => [...ascii('RIFF'), 0, 0, 0, 0, ...ascii('WEBP'), ...ascii(chunk), 0, 0, 0, 0];
const base64 = (bytes: readonly number[]): string => Buffer.from(bytes).toString('base64');
const tokens = (vendor: Vendor, data: unknown): number => sizeMedia(vendor, 'image/png', data).tokens;

describe('sizeMedia', () => {
  it.each(Object.entries(heads))('reads width and height of a %s', (_name, head) => {
    const bytes = head(1000, 700);
    const expected = Math.ceil((1000 * 700) / 750);
    expect(tokens('anthropic', base64(bytes))).toBe(expected);
    expect(tokens('anthropic', `data:image/x;base64,${base64(bytes)}`)).toBe(expected);
    expect(tokens('anthropic', Uint8Array.from(bytes))).toBe(expected);
    expect(tokens('anthropic', Uint8Array.from(bytes).buffer)).toBe(expected);
  });

  it('skips what is no letter of base64, such as line breaks', () => {
    const png = base64((heads.png as (w: number, h: number) => number[])(1000, 700));
    expect(tokens('anthropic', png.replace(/.{4}/g, '$&\r\n\u00e9\u{1f600}-'))).toBe(tokens('anthropic', png));
  });

  it.each([
    ['anthropic', 100, 100, 14],
    ['anthropic', 3000, 3000, 1600],
    ['openai', 512, 512, 255],
    ['openai', 2048, 4096, 1105],
    ['gemini', 384, 384, 258],
    ['gemini', 1000, 700, 516],
  ] as const)('sizes an image for %s by its formula: %i × %i', (vendor, width, height, expected) => {
    expect(tokens(vendor, base64((heads.png as (w: number, h: number) => number[])(width, height)))).toBe(expected);
  });

  it.each([
    ['anthropic', 1600],
    ['openai', 765],
    ['gemini', 258],
  ] as const)('takes an image it cannot look at for a large one: %s', (vendor, expected) => {
    for (const data of [undefined, null, 'https://example.com/a.png', 'file_123', 'data:', {}, new Uint8Array(0)])
      expect(tokens(vendor, data)).toBe(expected);
  });

  it('never sizes anything as zero, nor by the length of its base64', () => {
    const megabytes = 'A'.repeat(4_000_000);
    for (const type of ['image/png', 'audio/wav', 'video/mp4', 'application/pdf']) {
      expect(sizeMedia('anthropic', type, undefined).tokens).toBeGreaterThan(0);
      expect(sizeMedia('anthropic', type, megabytes).tokens).toBeLessThan(megabytes.length / 8);
      expect(sizeMedia('anthropic', type, megabytes).bytes).toBe(3_000_000);
    }
  });
});

describe('sizeUnknown', () => {
  it('is the size of the JSON, and at least one token where there is none', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(sizeUnknown({ type: 'x' })).toEqual({ type: 'other', bytes: 12, tokens: 3 });
    expect([cyclic, undefined, 10n].map((value) => sizeUnknown(value).tokens)).toEqual([1, 1, 1]);
  });
});

describe('sizeEncrypted', () => {
  it('is a quarter of the bytes behind the base64', () => {
    expect(sizeEncrypted('A'.repeat(400))).toEqual({ type: 'other', bytes: 300, tokens: 75 });
    expect(sizeEncrypted(undefined).tokens).toBe(1);
  });
});
