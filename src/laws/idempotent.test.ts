import { describe, expect, it } from 'vitest';
import { dispatchBlocks, isMaskedDispatch, isNote, isPlaceholder, readNotice } from './idempotent.ts';

const HANDLE = `p_${'abcdefgh234567'.padEnd(26, 'z')}`;
const BLOCK = 'BEGIN_DISPATCH_RESULT {"task":"2.1"} END_DISPATCH_RESULT';

describe('isPlaceholder', () => {
  it.each([
    '[read_file src/a.ts: 212 lines, 7431 chars masked]',
    `[read_file src/a.ts: 212 lines, 7431 chars masked · recall ${HANDLE}]`,
    `[read_file src/a.ts: 212 lines, 7431 chars masked · ${HANDLE}]`,
    '[bash failed, exit 1: "TypeError: x is not a function" — 3210 chars masked]',
    '[screenshot: 1 file, 30000 chars masked]',
    '[observation masked — 4200 chars]',
    '[Observation omitted for brevity]',
    'Old environment output: (12 lines omitted)',
    '[result masked — ~1250 tokens removed]',
    '[file_read result masked -- 3 lines, starts with: import x]',
    '[shell_exec result masked -- exit_code=0, stdout=12 bytes]',
    '[file_write result masked -- 12 bytes]',
    `[dispatch output masked — 12 chars]\n${BLOCK}`,
    `[dispatch output masked — 12 chars]\n${BLOCK}\n${BLOCK}`,
    `[bash: 3 lines, 900 chars masked · recall ${HANDLE}]\n${BLOCK}`,
    `[dispatch output masked — 12 chars]\nBEGIN_DISPATCH_RESULT${'x'.repeat(5000)}END_DISPATCH_RESULT`,
  ])('knows %s', (text) => {
    expect(isPlaceholder(text)).toBe(true);
  });

  it.each([
    '',
    'masked',
    '[masked]',
    '[{"masked": true}]',
    'text [Observation omitted for brevity]',
    '[Observation omitted for brevity] text',
    '[Observation omitted for brevity]\n',
    ' [observation masked — 4200 chars]',
    '[observation masked — many chars]',
    '[observation masked - 4200 chars]',
    '[bash: 12 lines, 900 chars masked · recall p_short]',
    '[bash: 12 lines,\n900 chars masked]',
    '[[a]: 12 lines, 900 chars masked]',
    '[conversation truncated — 4 older messages omitted]',
    '[dispatch output masked — 12 chars]',
    '[dispatch output masked — 12 chars]\n',
    `[dispatch output masked — 12 chars]\n${BLOCK} and more`,
    `[dispatch output masked — 12 chars]\nBEGIN_DISPATCH_RESULT never ends`,
    `[a ${'x'.repeat(300)}: 12 lines, 900 chars masked]`,
    '[observation masked — 4200 chars] text',
    'text Old environment output: (12 lines omitted)',
    'Old environment output: (12 lines omitted) text',
    'text [result masked — ~1250 tokens removed]',
    '[result masked — ~1250 tokens removed] text',
    'text [file_read result masked -- 3 lines]',
    '[file_read result masked -- 3 lines] text',
    `text [dispatch output masked — 12 chars]\n${BLOCK}`,
    `[dispatch output masked — 12 chars] text\n${BLOCK}`,
    `text\n${BLOCK}`,
    `[bash result masked -- ${'x'.repeat(300)}]`,
  ])('takes %j as output', (text) => {
    expect(isPlaceholder(text)).toBe(false);
  });

  it('knows one of 300 characters, and takes one of 301 as output', () => {
    const ofLength = (length: number): string => `${'[bash '.padEnd(length - 18, 'x')} 900 chars masked]`;
    expect([300, 301].map((length) => ofLength(length).length)).toEqual([300, 301]);
    expect([300, 301].map((length) => isPlaceholder(ofLength(length)))).toEqual([true, false]);
  });

  it('knows the text that a user chose, though it ends like a handle', () => {
    expect(isPlaceholder(`gone · ${HANDLE}`, `gone · ${HANDLE}`)).toBe(true);
  });

  it('knows the text that a user chose, with its handle behind it or without', () => {
    expect(isPlaceholder('gone', 'gone')).toBe(true);
    expect(isPlaceholder(`gone · recall ${HANDLE}`, 'gone')).toBe(true);
    expect(isPlaceholder(`gone · ${HANDLE}`, 'gone')).toBe(true);
    expect(isPlaceholder('gone for good', 'gone')).toBe(false);
    expect(isPlaceholder('gone')).toBe(false);
  });
});

describe('dispatchBlocks', () => {
  it('finds every complete block, delimiters included', () => {
    expect(dispatchBlocks(`a ${BLOCK} b ${BLOCK} c`)).toEqual([BLOCK, BLOCK]);
  });
  it('finds none without an end, without a beginning, or where the end comes first', () => {
    expect(dispatchBlocks('')).toEqual([]);
    expect(dispatchBlocks('BEGIN_DISPATCH_RESULT x')).toEqual([]);
    expect(dispatchBlocks('x END_DISPATCH_RESULT')).toEqual([]);
    expect(dispatchBlocks('END_DISPATCH_RESULT x BEGIN_DISPATCH_RESULT')).toEqual([]);
  });
  it('gives up a block that never ends, and no other', () => {
    expect(dispatchBlocks(`BEGIN_DISPATCH_RESULT lost ${BLOCK}`)).toEqual([BLOCK]);
    expect(dispatchBlocks(`${BLOCK} BEGIN_DISPATCH_RESULT lost`)).toEqual([BLOCK]);
    expect(dispatchBlocks(`${BLOCK} END_DISPATCH_RESULT ${BLOCK}`)).toEqual([BLOCK, BLOCK]);
    expect(dispatchBlocks(`END_DISPATCH_RESULT ${BLOCK}`)).toEqual([BLOCK]);
  });
});

describe('isMaskedDispatch', () => {
  it('asks for the line, then complete blocks and nothing else', () => {
    expect(isMaskedDispatch(`[dispatch output masked — 5 chars]\n${BLOCK}`)).toBe(true);
    expect(isMaskedDispatch(`[dispatch output masked — 5 chars]\n\n${BLOCK}`)).toBe(false);
    expect(isMaskedDispatch(`${BLOCK}`)).toBe(false);
  });
});

describe('readNotice', () => {
  it('reads how many messages were left out, and the handle as it is shown', () => {
    expect(readNotice('[conversation truncated — 12 older messages omitted]')).toEqual({ omitted: 12, handle: '' });
    expect(readNotice(`[conversation truncated — 3 older messages omitted · recall ${HANDLE}]`)).toEqual({
      omitted: 3,
      handle: ` · recall ${HANDLE}`,
    });
  });
  it('reads nothing out of anything else', () => {
    expect(readNotice('x [conversation truncated — 12 older messages omitted]')).toBeUndefined();
    expect(readNotice('[conversation truncated — 12 older messages omitted]\nand more')).toBeUndefined();
    expect(readNotice('')).toBeUndefined();
    const ofLength = (length: number): string =>
      `[conversation truncated — ${'1'.repeat(length - 50)} older messages omitted]`;
    expect([199, 200].map((length) => ofLength(length).length)).toEqual([199, 200]);
    expect(readNotice(ofLength(199))).toBeDefined();
    expect(readNotice(ofLength(200))).toBeUndefined();
  });
});

describe('isNote', () => {
  it('knows a notice and a summary, and no placeholder', () => {
    expect(isNote('Conversation summary (contract):\n- Covers: 3 earlier messages')).toBe(true);
    expect(isNote('[conversation truncated — 12 older messages omitted]')).toBe(true);
    expect(isNote('[Observation omitted for brevity]')).toBe(false);
    expect(isNote('A Conversation summary (contract):')).toBe(false);
  });
});
