import { tailOf } from '../../text.ts';

/** If handles are shown, a result that was made smaller ends with this line: `[shortened from 7431 chars · recall p_…]`. */
export const withLastLine = (shaped: string, original: string, handle: string): string =>
  handle === ''
    ? shaped
    : `${shaped}${shaped.endsWith('\n') ? '' : '\n'}[shortened from ${original.length} chars${handle}]`;

const HANDLE = ' · (?:recall )?(p_[a-z2-7]{26})';
const SHORTENED = String.raw`\[shortened from \d+ chars${HANDLE}\]`;
const SHELL = String.raw`\[truncated: kept first\+last\+failures ~\d+ of ~\d+ tokens \(shell\)${HANDLE}\]`;
const LAST_LINE = new RegExp(`(?:^|\n)(?:${SHORTENED}|${SHELL})$`);

/** The handle of the original, from the last line of a result that was made smaller. */
export function originalHandle(text: string): string | undefined {
  if (!text.endsWith(']')) return undefined;
  const match = LAST_LINE.exec(tailOf(text, 200));
  return match?.[1] ?? match?.[2];
}

/** The possible texts before `withLastLine`: the newline before that line may belong to the text. */
export function withoutLastLine(text: string): readonly string[] {
  if (originalHandle(text) === undefined) return [text];
  const end = text.lastIndexOf('\n') + 1;
  return [text.slice(0, Math.max(0, end - 1)), text.slice(0, end)];
}
