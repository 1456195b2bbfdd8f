/**
 * The places in JSON where a pattern matches outside of its strings. Not one pattern that skips strings: V8 refuses it for strings of
 * many megabytes, with a stack overflow.
 */
export function* outsideStrings(json: string, pattern: string): Generator<RegExpExecArray> {
  const next = new RegExp(`"|${pattern}`, 'g');
  for (let found = next.exec(json); found; found = next.exec(json)) {
    if (found[0] === '"') next.lastIndex = endOfString(json, found.index);
    else yield found;
  }
}

/** Replaces what a pattern matches outside of the strings of JSON. */
export function replaceOutsideStrings(json: string, pattern: string, replace: (found: string) => string): string {
  let replaced = '';
  let from = 0;
  for (const { 0: found, index } of outsideStrings(json, pattern)) {
    replaced += json.slice(from, index) + replace(found);
    from = index + found.length;
  }
  return replaced + json.slice(from);
}

/** The end of the string that begins here; the end of the text if it is cut off. */
function endOfString(json: string, start: number): number {
  const next = /["\\]/g;
  next.lastIndex = start + 1;
  for (let found = next.exec(json); found; found = next.exec(json)) {
    if (found[0] === '"') return next.lastIndex;
    next.lastIndex += 1;
  }
  return json.length;
}
