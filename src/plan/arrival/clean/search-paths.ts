import { endOfLine, Rewriting } from './rewriting.ts';

/**
 * Writes the path of consecutive `path:line:text` lines once, as a line `path:` above `line:text`. A text that already has such lines is left
 * alone, so every `line:text` belongs to the path above it.
 */
export function writePathsOnce(text: string): string {
  const kept = new Rewriting(text);
  // From colon to colon: most lines have none, or no number after it.
  for (let colon = text.indexOf(':'); colon >= 0; ) {
    const found = pathBefore(text, colon);
    let next = endOfLine(text, colon) + 1;
    if (found) {
      const { path, start } = found;
      const starts = [start];
      for (; hasPath(text, next, path); next = endOfLine(text, next) + 1) starts.push(next);
      if (starts.length > 1 && !isNumbered(text, next)) moveUp(kept, path, starts, lineEndOf(text, start));
    }
    colon = text.indexOf(':', next);
  }
  const grouped = kept.finish();
  return grouped === text || hasHeading(text) ? text : grouped;
}

function moveUp(kept: Rewriting, path: string, starts: readonly number[], lineEnd: string): void {
  for (const [i, start] of starts.entries())
    kept.replace(start, start + path.length + 1, i === 0 ? `${path}:${lineEnd}` : '');
}

function lineEndOf(text: string, start: number): string {
  return text.charCodeAt(endOfLine(text, start) - 1) === RETURN ? '\r\n' : '\n';
}

/** The path of a line `path:12:text`, and where the line begins, by its first colon. */
function pathBefore(text: string, first: number): { readonly path: string; readonly start: number } | undefined {
  const isDrive = isSlash(text.charCodeAt(first + 1)) && (first === 1 || text.charCodeAt(first - 2) === NEWLINE);
  const colon = isDrive ? text.indexOf(':', first + 1) : first;
  if (colon < 0 || !isNumbered(text, colon + 1)) return undefined;
  const start = text.lastIndexOf('\n', first) + 1;
  const path = colon - start < LONGEST_PATH ? text.slice(start, colon) : '';
  return isPath(path) ? { path, start } : undefined;
}

const hasPath = (text: string, start: number, path: string): boolean =>
  text.startsWith(path, start) &&
  text.charCodeAt(start + path.length) === COLON &&
  isNumbered(text, start + path.length + 1);

/** Whether a line `path:` is above a line `12:text`. */
function hasHeading(text: string): boolean {
  for (const { index } of text.matchAll(/:\r?\n(?=\d{1,9}:)/g)) {
    const start = text.lastIndexOf('\n', index) + 1;
    if (index - start < LONGEST_PATH && isPath(text.slice(start, index))) return true;
  }
  return false;
}

const LONGEST_PATH = 1000;

const isPath = (text: string): boolean =>
  /^(?:[a-z]:(?=[\\/]))?[^\s:]+$/i.test(text) && /[./\\]/.test(text) && /[a-z]/i.test(text);

const NUMBERED = /\d{1,9}:/y;

function isNumbered(text: string, start: number): boolean {
  if (!isDigit(text.charCodeAt(start))) return false;
  NUMBERED.lastIndex = start;
  return NUMBERED.test(text);
}

const [NEWLINE, RETURN, COLON] = [10, 13, 58];
const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isSlash = (code: number): boolean => code === 47 || code === 92;
