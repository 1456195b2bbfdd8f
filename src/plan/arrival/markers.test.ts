import { describe, expect, it } from 'vitest';
import { isMarker, linesSpokenOf } from './markers.ts';

describe('isMarker', () => {
  it.each([
    '[… 1 line]',
    '[… 12 lines]',
    '[the line above 5 more times]',
    '[the 2 lines above 5 more times]',
    '[Observation omitted for brevity]',
    '[bash: 3 lines, 900 chars masked]',
    '[conversation truncated — 4 older messages omitted]',
    '[output lines 1–9: same as lines 1–9 of the last read a.ts above]',
  ])('knows %s', (line) => {
    expect(isMarker(line)).toBe(true);
  });
  it.each([
    '',
    'text',
    '[1, 2, 3]',
    '[… many lines]',
    'x [… 12 lines]',
    '[… 12 lines] x',
    ' [… 12 lines]',
    '[the 9 lines above 5 more times]',
    '[the line above 5 more times] x',
    `[bash: ${'x'.repeat(400)} 3 lines, 900 chars masked]`,
  ])('takes %j for output', (line) => {
    expect(isMarker(line)).toBe(false);
  });
});

describe('linesSpokenOf', () => {
  it('is how many lines above it a fold repeats', () => {
    expect(linesSpokenOf('[the line above 5 more times]')).toBe(1);
    expect(linesSpokenOf('[the 8 lines above 15 more times]')).toBe(8);
    expect(linesSpokenOf('[… 12 lines]')).toBe(0);
  });
});
