/** The old text of edits that a shell command makes with `sed -i` or with a piece of Python. */
export function shellOldTexts(command: string): string[] {
  return [...sedOldTexts(command), ...pythonOldTexts(command)];
}

/** Each `sed` that edits in place, to the end of its line; a backslash continues the line. */
export function sedEdits(command: string): string[] {
  const lines = command.match(/\bsed\s[^\n]*(?:(?<=\\)\n[^\n]*)*/g) ?? [];
  return lines.flatMap((line) => line.split(/(?=\bsed\s)/)).filter((sed) => IN_PLACE.test(sed));
}

const IN_PLACE = /\s-(?:[A-Za-z]*i|-in-place)/;

/** The replaced texts, if they are plain text: a pattern quotes nothing. */
function sedOldTexts(command: string): string[] {
  return sedEdits(command)
    .flatMap((sed) => [...sed.matchAll(SUBSTITUTION)])
    .map(([, , old = '']) => old)
    .filter((old) => old.length >= LEAST_LENGTH && !PATTERN.test(old))
    .map((old) => old.replaceAll('\\', ''));
}

const LEAST_LENGTH = 8;
/** `s/old/new/` with any of six delimiters. An address may come first, so a digit or a slash may precede it. */
const SUBSTITUTION = /(?<![A-Za-z_])s([/|#@,!])((?:\\.|(?!\1)[^\\\n])*)\1(?:\\[\s\S]|(?!\1)[^\\\n])*\1/g;
/** Signs of a regular expression. An escaped bracket, star, caret or dollar is the plain character. */
const PATTERN = /\\[()+?|{}1-9swbd]|(?<!\\)[[\]*^$]/;

function pythonOldTexts(command: string): string[] {
  const literals = [...command.matchAll(REPLACE), ...command.matchAll(NAMED)];
  return literals.map(([, prefix, , text = '']) => (prefix === 'r' ? text : unescapePython(text)));
}

const REPLACE = /\.replace\(\s*([A-Za-z]?)("""|'''|"|')((?:\\[\s\S]|(?!\2)[^\\])*)\2\s*,/g;
/** Names of variables with the search text in scripts: `old_block = """…"""`. */
const NAMED =
  /\b(?:old|search|orig|original|target|find|before|anchor|marker)\w*\s*=\s*([A-Za-z]?)("""|''')([\s\S]*?)\2/g;

/** In the search text, `\"` is a quotation mark. */
const unescapePython = (text: string): string =>
  text.replace(/\\([\s\S])/g, (both, character: string) => ESCAPES[character] ?? both);

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', '"': '"', "'": "'", '\\': '\\', '\n': '' };
