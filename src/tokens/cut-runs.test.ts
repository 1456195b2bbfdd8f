import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutRuns } from './cut-runs.ts';

const pieces = (text: string): string[] => [...cutRuns(text)];
const longestRun = (text: string): number => Math.max(0, ...(text.match(/\S+|\s+/g) ?? []).map((run) => run.length));

describe('cutRuns', () => {
  it('leaves a text without long runs in one piece', () => {
    const prose = 'words and more words '.repeat(1000);
    expect(pieces(prose)).toEqual([prose]);
    expect(pieces('x'.repeat(255))).toEqual(['x'.repeat(255)]);
    expect(pieces('')).toEqual(['']);
  });

  it('cuts a long run of letters, and one of blanks, into pieces of 256', () => {
    expect(pieces('x'.repeat(600)).map((piece) => piece.length)).toEqual([256, 256, 88]);
    expect(pieces(' '.repeat(512)).map((piece) => piece.length)).toEqual([256, 256]);
  });

  it('leaves the words around a long run with it', () => {
    expect(pieces(`ab ${'x'.repeat(300)} cd`)).toEqual([`ab ${'x'.repeat(256)}`, `${'x'.repeat(44)} cd`]);
  });

  it('loses nothing, leaves no run above 256, splits no character', () => {
    const units = ['x'.repeat(100), ' '.repeat(90), '\n', '😀'.repeat(70), 'word ', '\ud800'];
    const unit = fc.constantFrom(...units);
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 20 }), (parts) => {
        const text = parts.join('');
        const cut = pieces(text);
        expect(cut.join('')).toBe(text);
        expect(Math.max(...cut.map(longestRun))).toBeLessThanOrEqual(256);
        for (const [i, piece] of cut.entries()) {
          const seam = piece.slice(-1) + (cut[i + 1] ?? '').slice(0, 1);
          expect(seam).not.toMatch(/^[\ud800-\udbff][\udc00-\udfff]$/);
        }
      }),
    );
  });

  it('cuts a long run of different blanks too', () => {
    expect(Math.max(...pieces('\u00a0 '.repeat(300)).map(longestRun))).toBeLessThanOrEqual(256);
  });

  it('reads 10 MB of one unbroken run', () => {
    expect(pieces('x'.repeat(10_000_000)).length).toBe(Math.ceil(10_000_000 / 256));
  });
});
