import { endOfLine, Rewriting } from './rewriting.ts';

/** Strips blanks at the ends of lines, and makes one of two or more empty lines. */
export function dropBlanks(text: string): string {
  const kept = new Rewriting(text);
  let isBehindEmpty = false;
  for (let start = 0; start <= text.length; ) {
    const next = endOfLine(text, start) + 1;
    const end = text.charCodeAt(next - 2) === RETURN && next - 2 >= start ? next - 2 : next - 1;
    let last = end;
    while (last > start && isBlank(text.charCodeAt(last - 1))) last -= 1;
    // Without the blanks behind it, a return would end the line.
    if (last > start && text.charCodeAt(last - 1) === RETURN) last = end;
    const isEmpty = last === start;
    // Behind the last line break there is no line, unless it holds something.
    if (isEmpty && isBehindEmpty && next <= text.length) kept.replace(start, next);
    else if (last < end) kept.replace(last, end);
    isBehindEmpty = isEmpty;
    start = next;
  }
  return kept.finish();
}

const RETURN = 13;
const isBlank = (code: number): boolean => code === 32 || code === 9;
