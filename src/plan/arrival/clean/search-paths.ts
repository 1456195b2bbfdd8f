/**
 * Writes the path of consecutive `path:line:text` lines once, as a line `path:` above `line:text`. A text that has such lines
 * already is left alone, so every `line:text` belongs to the path above it.
 */
export function writePathsOnce(text: string): string {
  const lines = text.split('\n');
  const paths = lines.map(pathOf);
  if (lines.some((line, i) => isHeading(line) && isNumbered(lines[i + 1]))) return text;
  const kept: string[] = [];
  for (let i = 0; i < lines.length; ) {
    const path = paths[i];
    let end = i + 1;
    while (path !== undefined && paths[end] === path) end += 1;
    const isGroup = end - i >= 2 && !isNumbered(lines[end]);
    if (isGroup) kept.push(`${path}:${lines[i]?.endsWith('\r') ? '\r' : ''}`);
    for (const line of lines.slice(i, end)) kept.push(isGroup ? line.slice((path?.length ?? 0) + 1) : line);
    i = end;
  }
  return kept.length === lines.length ? text : kept.join('\n');
}

const LONGEST_PATH = 1000;

/** The path of a line `path:12:text`. */
function pathOf(line: string): string | undefined {
  const path = beforeColon(line);
  return path !== undefined && isNumbered(line.slice(path.length + 1, path.length + 20)) ? path : undefined;
}

const isHeading = (line: string): boolean => {
  const path = beforeColon(line);
  return path !== undefined && (line.length === path.length + 1 || line.slice(path.length + 1) === '\r');
};

function beforeColon(line: string): string | undefined {
  const start = line.slice(0, LONGEST_PATH);
  const path = start.slice(0, Math.max(0, start.indexOf(':', /^[a-z]:[\\/]/i.test(start) ? 2 : 0)));
  return /[./\\]/.test(path) && /[a-z]/i.test(path) && !/\s/.test(path) ? path : undefined;
}

const isNumbered = (line: string | undefined): boolean => line !== undefined && /^\d{1,9}:/.test(line);
