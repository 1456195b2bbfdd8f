import { Rewriting, startsOfLines } from './rewriting.ts';

/** Strips blanks at the ends of lines, and folds empty lines into one. */
export function dropBlanks(text: string): string {
  const kept = new Rewriting(text);
  const starts = startsOfLines(text);
  let isBehindEmpty = false;
  for (let line = 1; line < starts.length; line++) {
    const [start, next] = [starts[line - 1] as number, starts[line] as number];
    const end = text.charCodeAt(next - 2) === RETURN && next - 2 >= start ? next - 2 : next - 1;
    let last = end;
    while (last > start && isBlank(text.charCodeAt(last - 1))) last -= 1;
    // Without the blanks after it, a return would end the line.
    if (last > start && text.charCodeAt(last - 1) === RETURN) last = end;
    const isEmpty = last === start;
    // After the last line break there is no line, unless it holds something.
    if (isEmpty && isBehindEmpty && next <= text.length) kept.replace(start, next);
    else if (last < end) kept.replace(last, end);
    isBehindEmpty = isEmpty;
  }
  return kept.finish();
}

const RETURN = 13;
const isBlank = (code: number): boolean => code === 32 || code === 9;
