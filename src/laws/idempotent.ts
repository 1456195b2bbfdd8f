import { replacementLaw } from './law.ts';

/**
 * Law 7, idempotent, also for a history that is fed back: frameworks carry our output forward, so we must recognise it.
 * A result is masked if and only if its entire text is a placeholder. Anything longer, or with text around it, is output, whatever it
 * says.
 */
export const idempotent = replacementLaw('idempotent', (_edit, { text }) =>
  isPlaceholder(text) ? 'A replacement of what is a placeholder already.' : undefined,
);

/** No placeholder is longer, except for the blocks that a dispatch result keeps. */
export const MAX_PLACEHOLDER = 300;

const HANDLE = 'p_[a-z2-7]{26}';
/** A handle as placeholders, notices and summaries show it. */
export const SHOWN_HANDLE = `(?: · (?:recall )?${HANDLE})?`;
const SUFFIX = new RegExp(` · (?:recall )?${HANDLE}$`);
const HOUSE = new RegExp(String.raw`^\[[^[\]\n]+ \d+ chars masked${SHOWN_HANDLE}\]$`);
const STYLES: readonly RegExp[] = [
  HOUSE,
  /^\[observation masked — \d+ chars\]$/,
  /^\[Observation omitted for brevity\]$/,
  /^Old environment output: \(\d+ lines omitted\)$/,
  /^\[result masked — ~\d+ tokens removed\]$/,
  /^\[[^[\]\n]+ result masked -- [^[\]\n]+\]$/,
];
const DISPATCH = /^\[dispatch output masked — \d+ chars\]$/;
const NOTICE = new RegExp(String.raw`^\[conversation truncated — (\d+) older messages omitted(${SHOWN_HANDLE})\]$`);

/** Whether a text is a placeholder of ours; `own` is one that the caller chose. */
export function isPlaceholder(text: string, own?: string): boolean {
  if (text.length > MAX_PLACEHOLDER) return text.startsWith('[') && isMaskedDispatch(text);
  const bare = text.replace(SUFFIX, '');
  return text === own || bare === own || STYLES.some((style) => style.test(bare)) || isMaskedDispatch(text);
}

const BEGIN = 'BEGIN_DISPATCH_RESULT';
const END = 'END_DISPATCH_RESULT';

/** The complete blocks of a dispatch result. A block without an end does not affect the others. */
export function dispatchBlocks(content: string): string[] {
  const blocks: string[] = [];
  for (let from = 0; ; ) {
    const end = content.indexOf(END, from);
    if (end < 0) return blocks;
    const before = content.slice(from, end);
    const begin = before.lastIndexOf(BEGIN);
    if (begin >= 0) blocks.push(content.slice(from + begin, end + END.length));
    from = end + END.length;
  }
}

/** Our line, then complete blocks and nothing else. */
export function isMaskedDispatch(text: string): boolean {
  const lineEnd = text.indexOf('\n');
  if (lineEnd < 0) return false;
  const line = text.slice(0, lineEnd);
  const rest = text.slice(lineEnd + 1);
  return (DISPATCH.test(line) || HOUSE.test(line)) && rest !== '' && dispatchBlocks(rest).join('\n') === rest;
}

export const summaryHeader = 'Conversation summary (contract):';

/** The content of a notice: how many messages it replaces, and the handle that it shows, if any. */
export interface Notice {
  readonly omitted: number;
  /** ` · recall p_…`, or nothing. */
  readonly handle: string;
}

export function readNotice(text: string): Notice | undefined {
  const match = text.length < 200 ? NOTICE.exec(text) : null;
  return match ? { omitted: Number(match[1]), handle: match[2] ?? '' } : undefined;
}

/** A notice or a summary of ours. */
export const isNote = (text: string): boolean => text.startsWith(summaryHeader) || readNotice(text) !== undefined;

const MANAGER_NOTICE = /^\[(?:Context (?:compressed: |window )\d|Session restarted\. Session #\d).*\]$/;

/** Whether a text is a notice of the manager: about masks, a full window or a restart. */
export const isManagerNotice = (text: string): boolean => text.length < 300 && MANAGER_NOTICE.test(text);

/** A message that we wrote. Some formats have no place for it but a message of the user. */
export const isOurs = (text: string): boolean => isNote(text) || isManagerNotice(text);
