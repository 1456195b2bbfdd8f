/** Whether a text holds a unified diff: the two lines that name a file, and a hunk below them. */
export function isDiff(text: string): boolean {
  // Not with the newline before the signs: a search stops at every newline.
  return text.includes('@@') && DIFF.test(text);
}

/** The hunks of a merge have more signs: `@@@ -1,2 -1,2 +1,3 @@@`. */
const DIFF = /^--- [^\n]*\n\+\+\+ [^\n]*\n@@+(?: -\d+(?:,\d+)?)+ \+\d+(?:,\d+)? @@/m;
