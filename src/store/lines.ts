/** Where each line begins. A newline at the very end ends the last line and begins none, so `''` has no line. */
export function lineStarts(text: string): number[] {
  const starts: number[] = [];
  for (let start = 0; start < text.length; ) {
    starts.push(start);
    const end = text.indexOf('\n', start);
    start = end < 0 ? text.length : end + 1;
  }
  return starts;
}

/** One line, counted from 0, without the characters that end it. */
export function lineAt(text: string, starts: readonly number[], index: number): string {
  return text.slice(starts[index], starts[index + 1] ?? text.length).replace(/\r?\n$/, '');
}
