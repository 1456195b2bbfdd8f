/**
 * Folds three or more equal blocks of 1 to 8 lines into one block and a line `[the 2 lines above 5 more times]`. A text that
 * holds such a line already is left alone, so the lines of this rule always mean the same.
 */
export function foldRepeatedBlocks(text: string): string {
  const lines = text.split('\n');
  if (lines.length < FEWEST_BLOCKS || FOLD.test(text)) return text;
  const kept: string[] = [];
  for (let i = 0; i < lines.length; ) {
    const block = bestBlock(lines, i);
    for (let j = i; j < i + (block?.size ?? 1); j++) kept.push(lines[j] ?? '');
    if (block) kept.push(foldLine(block) + (kept.at(-1)?.endsWith('\r') ? '\r' : ''));
    i += block ? block.size * block.times : 1;
  }
  return kept.length === lines.length ? text : kept.join('\n');
}

const FEWEST_BLOCKS = 3;
const MOST_LINES = 8;
const FOLD = /\[the (?:line|[2-8] lines) above \d+ more times\]/;

interface Block {
  readonly size: number;
  readonly times: number;
}

const foldLine = ({ size, times }: Block): string =>
  `[the ${size === 1 ? 'line' : `${size} lines`} above ${times - 1} more times]`;

/** The block at this line that saves the most characters; the shortest of equals. */
function bestBlock(lines: readonly string[], at: number): Block | undefined {
  let best: Block | undefined;
  let mostSaved = 0;
  for (let size = 1; size <= MOST_LINES; size++) {
    const times = timesInARow(lines, at, size);
    if (times < FEWEST_BLOCKS) continue;
    const block = { size, times };
    let chars = 0;
    for (let i = at; i < at + size; i++) chars += (lines[i]?.length ?? 0) + 1;
    // 2: a line break, and a `\r` before it.
    const saved = chars * (times - 1) - foldLine(block).length - 2;
    if (saved > mostSaved) [best, mostSaved] = [block, saved];
  }
  return best;
}

function timesInARow(lines: readonly string[], at: number, size: number): number {
  let end = at + size;
  while (end < lines.length && lines[end] === lines[end - size]) end += 1;
  return Math.floor((end - at) / size);
}
