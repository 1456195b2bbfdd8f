import { describe, expect, it } from 'vitest';
import { originalHandle, withLastLine, withoutLastLine } from './last-line.ts';

const HANDLE = `p_${'abcdefgh234567'.padEnd(26, 'z')}`;
const LINE = `[shortened from 12 chars · recall ${HANDLE}]`;

describe('withLastLine', () => {
  it('says how long the original was and how to recall it, on a line of its own', () => {
    expect(withLastLine('short', 'the original', ` · recall ${HANDLE}`)).toBe(`short\n${LINE}`);
    expect(withLastLine('short\n', 'the original', ` · recall ${HANDLE}`)).toBe(`short\n${LINE}`);
  });
  it('says nothing where no handle is shown', () => {
    expect(withLastLine('short', 'the original', '')).toBe('short');
  });
});

describe('originalHandle', () => {
  it.each([
    LINE,
    `output\n${LINE}`,
    `output\n[shortened from 7431 chars · ${HANDLE}]`,
    `output\n[truncated: kept first+last+failures ~120 of ~4000 tokens (shell) · recall ${HANDLE}]`,
    `${'x'.repeat(5000)}\n${LINE}`,
  ])('is read from the last line: %#', (text) => {
    expect(originalHandle(text)).toBe(HANDLE);
  });
  it.each([
    '',
    'output',
    `output ${LINE}`,
    `${LINE}\noutput`,
    `${LINE}\n`,
    `[shortened from many chars · recall ${HANDLE}]`,
    '[shortened from 12 chars · recall p_short]',
    '[shortened from 12 chars]',
  ])('is not read from %j', (text) => {
    expect(originalHandle(text)).toBeUndefined();
  });
});

describe('withoutLastLine', () => {
  it('gives back a text that `withLastLine` made longer, with its newline and without', () => {
    expect(withoutLastLine(`short\n${LINE}`)).toEqual(['short', 'short\n']);
    expect(withoutLastLine(LINE)).toEqual(['', '']);
  });
  it('leaves any other text as it is', () => {
    expect(withoutLastLine('short\ntext')).toEqual(['short\ntext']);
  });
});
