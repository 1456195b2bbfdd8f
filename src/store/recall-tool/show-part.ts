import { PalimpsestError } from '../../errors.ts';
import { headOf, tailOf } from '../../text.ts';
import type { Recalled } from '../recall.ts';
import { opening, type Request } from './request.ts';

/** The requested lines that fit into an answer, and the call that gives the rest. */
export function showPart({ text, lines }: Recalled, request: Request): string {
  const { handle, tail, offset = 0 } = request;
  if (lines === 0) return opening(handle, 'lines 0–0 of 0 (it is empty)');
  const [first, last] = linesAskedFor(request, lines);
  if (first > lines) throw new PalimpsestError('BAD_INPUT', `${handle} has ${lines} lines: there is no line ${first}`);
  if (offset > 0 && offset >= text.length)
    throw new PalimpsestError(
      'BAD_INPUT',
      `The requested part has ${text.length} characters: there is none after ${offset}`,
    );
  const [start, end] = tail === undefined ? fromStart(text, request) : fromEnd(text, request);
  const [from, to, next] = [start, end - 1, end].map((at) => positionIn(text, { at, first })) as Positions;
  const column = from.column > 0 ? ` from character ${from.column + 1} on` : '';
  const rest = tail === undefined ? restAfter(next, last) : restBefore(from, first);
  const isWhole = tail === undefined ? end === text.length : start === 0;
  const title = opening(handle, `lines ${from.line}–${to.line} of ${lines}${column}`);
  const shown = `${title}\n${text.slice(start, end)}`;
  if (isWhole) return shown;
  const where = tail === undefined ? 'The rest' : 'The text before it';
  return `${shown}${shown.endsWith('\n') ? '' : '\n'}[${where}: recall ${JSON.stringify({ handle, ...rest })}]`;
}

function linesAskedFor({ head, tail, lines }: Request, total: number): [first: number, last: number] {
  const [from, to] = [lines?.[0] ?? 1, Math.min(lines?.[1] ?? total, total)];
  const last = head === undefined ? to : Math.min(to, from + head - 1);
  return [tail === undefined ? from : Math.max(from, last - tail + 1), last];
}

/** Complete lines if one fits, else the start of a line. */
export function fromStart(text: string, { room, offset = 0 }: Pick<Request, 'room' | 'offset'>): [number, number] {
  if (text.length - offset <= room) return [offset, text.length];
  const line = text.lastIndexOf('\n', offset + room - 1) + 1;
  return [offset, line > offset ? line : headOf(text, offset + room).length];
}

/** The same from the end of the text. */
function fromEnd(text: string, { room }: Request): [start: number, end: number] {
  if (text.length <= room) return [0, text.length];
  const line = text.indexOf('\n', text.length - room - 1) + 1;
  const isLine = line > 0 && line < text.length;
  return [isLine ? line : text.length - tailOf(text, room).length, text.length];
}

interface Position {
  readonly line: number;
  /** Characters of the line before this position. */
  readonly column: number;
}

type Positions = [from: Position, to: Position, next: Position];

/** The line and the column of a character, where the text begins with the line `first`. */
export function positionIn(text: string, { at, first }: { readonly at: number; readonly first: number }): Position {
  let [line, start] = [first, 0];
  for (let i = text.indexOf('\n'); i >= 0 && i < at; i = text.indexOf('\n', i + 1)) [line, start] = [line + 1, i + 1];
  return { line, column: at - start };
}

/** The arguments of a call that continues at a position. */
export const restAfter = ({ line, column }: Position, last: number): object => ({
  lines: [line, last],
  ...(column > 0 ? { offset: column } : {}),
});

const restBefore = ({ line, column }: Position, first: number): object => ({
  lines: [first, column > 0 ? line : line - 1],
});
