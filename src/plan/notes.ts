import { type Notice, readNotice, summaryHeader } from '../laws/idempotent.ts';

/** Replaces messages that were left out: a summary, a notice, or both. */
export interface Notes {
  readonly summary?: string;
  readonly notice?: Notice;
}

export const NO_NOTES: Notes = {};

export function writeNotice({ omitted, handle }: Notice): string {
  return `[conversation truncated — ${omitted} older messages omitted${handle}]`;
}

export function noteTexts({ summary, notice }: Notes): string[] {
  return [...(summary === undefined ? [] : [summary]), ...(notice === undefined ? [] : [writeNotice(notice)])];
}

/** An earlier notice or summary of ours, which a framework carried forward; undefined for any other text. */
export function readNote(text: string): Notes | undefined {
  if (text.startsWith(summaryHeader)) return { summary: text };
  const notice = readNotice(text);
  return notice && { notice };
}
