import { describe, expect, it } from 'vitest';
import { NO_NOTES, noteTexts, readNote, writeNotice } from './notes.ts';

const SUMMARY = 'Conversation summary (contract):\n- Covers: 2 earlier messages';
const NOTICE = '[conversation truncated — 7 older messages omitted]';

describe('notes', () => {
  it('the notice says how many messages are left out', () => {
    expect(writeNotice({ omitted: 7, handle: '' })).toBe(NOTICE);
    expect(writeNotice({ omitted: 7, handle: ' · recall p_x' })).toBe(
      '[conversation truncated — 7 older messages omitted · recall p_x]',
    );
  });
  it('the summary comes before the notice', () => {
    expect(noteTexts(NO_NOTES)).toEqual([]);
    expect(noteTexts({ notice: { omitted: 7, handle: '' }, summary: SUMMARY })).toEqual([SUMMARY, NOTICE]);
  });
  it('what was written is read back', () => {
    expect(readNote(SUMMARY)).toEqual({ summary: SUMMARY });
    expect(readNote(NOTICE)).toEqual({ notice: { omitted: 7, handle: '' } });
  });
  it.each(['', 'Fix the build.', `${NOTICE} and more`, `Re: ${SUMMARY}`])('%j is no note', (text) => {
    expect(readNote(text)).toBeUndefined();
  });
});
