/** Strips blanks at the ends of lines, and makes one of two or more empty lines. */
export function dropBlanks(text: string): string {
  if (!SOMETHING_TO_DROP.test(text)) return text;
  const lines = text.split('\n').map(withoutTrailingBlanks);
  // Behind the last line break there is no line, unless it holds something.
  const last = lines.length - 1;
  return lines.filter((line, i) => i === last || !isEmpty(line) || i === 0 || !isEmpty(lines[i - 1])).join('\n');
}

const SOMETHING_TO_DROP = /[ \t]\r?(?:\n|$)|(?:^|\n)\r?\n\r?\n/;

const isEmpty = (line: string | undefined): boolean => line === '' || line === '\r';

// A loop: a pattern for blanks before a line end takes quadratic time for long runs of blanks elsewhere.
function withoutTrailingBlanks(line: string): string {
  const lineEnd = line.endsWith('\r') ? '\r' : '';
  const length = line.length - lineEnd.length;
  let end = length;
  while (isBlank(line.charCodeAt(end - 1))) end -= 1;
  return end === length ? line : line.slice(0, end) + lineEnd;
}

const isBlank = (code: number): boolean => code === 32 || code === 9;
