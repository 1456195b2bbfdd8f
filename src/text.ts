/** Cuts at most `end` UTF-16 units, never through a surrogate pair. */
export function headOf(text: string, end: number): string {
  if (end >= text.length) return text;
  return text.slice(0, splitsPair(text, end) ? end - 1 : Math.max(0, end));
}

/** The last `length` UTF-16 units at most, never beginning inside a surrogate pair. */
export function tailOf(text: string, length: number): string {
  const start = text.length - length;
  if (start <= 0) return text;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

function splitsPair(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return false;
  return isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
}

const isHigh = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
const isLow = (code: number): boolean => code >= 0xdc00 && code < 0xe000;

/** The head of a text in at most `max` characters, with an ellipsis if there is room for one. */
export function clipText(text: string, max: number): string {
  if (max <= 0) return '';
  if (text.length <= max) return text;
  return max <= 3 ? headOf(text, max) : `${headOf(text, max - 3)}...`;
}

/** At most `max` characters of a long line: those around the query, or around the beginning of a long query. */
export function clipAround(line: string, { query, max }: { readonly query: string; readonly max: number }): string {
  if (line.length <= max) return line;
  const before = Math.floor(max / 3);
  const at = Math.max(0, line.toLowerCase().indexOf(query.toLowerCase().slice(0, before)));
  const start = Math.max(0, Math.min(at - before, line.length - max));
  const shown = headOf(tailOf(line, line.length - start), max);
  return `${start > 0 ? '…' : ''}${shown}${start + max < line.length ? '…' : ''}`;
}

/** The first lines that fit into `room` characters, each with its newline. */
export function takeLines(lines: readonly string[], room: number): readonly string[] {
  let left = room;
  const end = lines.findIndex((line) => {
    left -= line.length + 1;
    return left < 0;
  });
  return end < 0 ? lines : lines.slice(0, end);
}

/** Copies a part of a text that is kept for long. Without the copy, engines keep the whole text in memory too. */
export const ownCopy = (text: string): string => ` ${text}`.slice(1);

/** Makes text from outside safe to quote inside one of our lines: one line, no brackets, nothing invisible, no handle. */
export function quote(text: string, max = 60): string {
  if (text.length <= max && !UNCLEAN.test(text)) return text;
  // Cleans more than is kept, because removed characters leave room.
  const head = headOf(text, max * 4);
  const plain = /^[ -~]*$/.test(head) ? head : head.replace(INVISIBLE, ' ');
  const line = plain
    .replace(HANDLE_LIKE, ' ')
    .replace(/[[{]/g, '(')
    .replace(/[\]}]/g, ')')
    // Most blanks are single ones.
    .replace(/\s{2,}|[^\S ]/g, ' ')
    .trim();
  return clipText(line, max);
}

/** Found in hardly any name or path. */
const UNCLEAN = /[^\w./@:+=,~ -]|^ | $| {2}|p_/;
// At least as long as a handle: `http_handlers.py` and `app_settings.ts` are names.
const HANDLE_LIKE = /p_[a-z2-7]{26,}/g;
// Control, zero-width and bidirectional characters, separators, and surrogates without their other half.
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function countLines(text: string): number {
  if (text === '') return 0;
  let lines = 1;
  for (let i = text.indexOf('\n'); i >= 0 && i < text.length - 1; i = text.indexOf('\n', i + 1)) lines += 1;
  return lines;
}

/** `1 session`, `1,234 sessions` */
export const counted = (count: number, noun: string): string => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `950`, `4.1k`, `16k`, `1.2M` */
export function shortCount(count: number): string {
  if (count < 999.5) return String(Math.round(count));
  if (count < 9950) return `${(count / 1000).toFixed(1)}k`;
  return count < 999_500 ? `${Math.round(count / 1000)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/** `1,234` */
export const grouped = (n: number | string): string => `${n}`.replace(/\B(?<!\.\d*)(?=(?:\d{3})+(?!\d))/g, ',');

/** The change of a size in whole percent: `−53 %`, `+2 %` or `0 %`. */
export function percentChange({ before, after }: { readonly before: number; readonly after: number }): string {
  const saved = before === 0 ? 0 : Math.round(100 * (1 - after / before));
  if (saved === 0) return '0 %';
  return `${saved > 0 ? '−' : '+'}${Math.abs(saved)} %`;
}
