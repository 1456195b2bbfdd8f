import type { Recalled } from '../recall.ts';
import { outlineOf } from './outline.ts';
import { opening, type Request } from './request.ts';
import { fromStart, positionIn, restAfter } from './show-part.ts';

/** Characters of the outline and of the first lines. With the words around them, an answer has at most 2,000. */
const OUTLINE_CHARS = 1200;
const FIRST_CHARS = 400;
const FIRST_LINES = 10;
/** Lines of the example that shows how to continue. */
const EXAMPLE_LINES = 80;

const OTHER_WAYS = '"grep":"error","context":2 to find lines, "all":true for everything';

/** The size of a long text, an outline, its first lines, and how to ask for a part or for all of it. */
export function showOutline(recalled: Recalled, { handle, room }: Request): string {
  const { text, lines, bytes } = recalled;
  const { kind, lines: shown, total } = outlineOf(text, Math.min(OUTLINE_CHARS, Math.floor(room * 0.6)));
  const end = endOfFirst(text, Math.min(FIRST_CHARS, Math.floor(room * 0.2)));
  const next = positionIn(text, { at: end, first: 1 });
  const first = text.slice(0, end);
  const rest = restAfter(next, Math.min(lines, next.line + EXAMPLE_LINES - 1));
  return [
    opening(handle, `as an outline: ${lines === 1 ? '1 line' : `${lines} lines`}, ${sizeOf(bytes)}`),
    ...(shown.length > 0 ? [`[${shown.length} of ${total} ${kind}:]`, ...shown] : []),
    '[It begins:]',
    first.endsWith('\n') ? first.slice(0, -1) : first,
    `[A part: recall ${JSON.stringify({ handle, ...rest })}. Or in place of lines: ${OTHER_WAYS}]`,
  ].join('\n');
}

/** The end of the first lines: after a complete line, if one fits. */
function endOfFirst(text: string, room: number): number {
  let end = 0;
  for (let i = 0; i < FIRST_LINES && end >= 0; i++) end = text.indexOf('\n', end) + 1 || text.length;
  const [, fits] = fromStart(text, { room });
  return Math.min(end, fits);
}

function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [unit, size] = bytes < 1_000_000 ? ['kB', bytes / 1000] : ['MB', bytes / 1_000_000];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}
