import { summaryHeader } from './summary.ts';

/** What stands in the place of messages that were left out: a summary, a notice, or both. */
export interface Notes {
  readonly summary?: string;
  readonly notice?: Notice;
}

export interface Notice {
  readonly omitted: number;
  /** ` · recall p_…`, or nothing. */
  readonly handle: string;
}

export const NO_NOTES: Notes = {};

const NOTICE = /^\[conversation truncated — (\d+) older messages? omitted( · (?:recall )?p_[a-z2-7]{26})?\]$/;

export function writeNotice({ omitted, handle }: Notice): string {
  return `[conversation truncated — ${omitted} older messages omitted${handle}]`;
}

export function noteTexts({ summary, notice }: Notes): string[] {
  return [...(summary === undefined ? [] : [summary]), ...(notice === undefined ? [] : [writeNotice(notice)])];
}

/** An earlier notice or summary of ours, which a framework carried forward; undefined for any other text. */
export function readNote(text: string): Notes | undefined {
  if (text.startsWith(summaryHeader)) return { summary: text };
  const match = text.length < 200 ? NOTICE.exec(text) : null;
  return match ? { notice: { omitted: Number(match[1]), handle: match[2] ?? '' } } : undefined;
}
