/** Whether a text holds a unified diff: the two lines that name a file, and a hunk below them. */
export function isDiff(text: string): boolean {
  return text.includes('\n@@') && DIFF.test(text);
}

/** The hunks of a merge have more signs: `@@@ -1,2 -1,2 +1,3 @@@`. */
const DIFF = /^--- [^\n]*\n\+\+\+ [^\n]*\n@@+(?: -\d+(?:,\d+)?)+ \+\d+(?:,\d+)? @@+/m;
