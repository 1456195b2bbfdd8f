import { Rewriting, startsOfLines } from './rewriting.ts';

/**
 * Folds three or more equal blocks of 1 to 8 lines into one block and a line `[the 2 lines above 5 more times]`. A text that already has such
 * a line is left alone, so the lines of this rule always mean the same.
 */
export function foldRepeatedBlocks(text: string): string {
  const starts = startsOfLines(text);
  if (!hasRepeatedBlock(text, starts)) return text;
  const count = starts.length - 1;
  const kept = new Rewriting(text);
  for (let line = 0; line < count; ) {
    const block = bestBlock(text, starts, line);
    if (block) {
      const from = startOf(starts, line + block.size);
      const lineEnd = text.charCodeAt(from - 2) === RETURN ? '\r' : '';
      kept.replace(from, startOf(starts, line + block.size * block.times) - 1, foldLine(block) + lineEnd);
    }
    line += block ? block.size * block.times : 1;
  }
  return FOLD.test(text) ? text : kept.finish();
}

const FEWEST_BLOCKS = 3;
const MOST_LINES = 8;
const FOLD = /\[the (?:line|[2-8] lines) above \d+ more times\]/;
const RETURN = 13;

interface Block {
  readonly size: number;
  readonly times: number;
}

const foldLine = ({ size, times }: Block): string =>
  `[the ${size === 1 ? 'line' : `${size} lines`} above ${times - 1} more times]`;

/**
 * Whether there are three equal blocks in a row: twice as many lines as a block has are equal to those that come a block later. One
 * line out of that many is compared first.
 */
function hasRepeatedBlock(text: string, starts: readonly number[]): boolean {
  const count = starts.length - 1;
  for (let size = 1; size <= MOST_LINES; size++) {
    const step = (FEWEST_BLOCKS - 1) * size;
    for (let line = step - 1; line + size < count; line += step) {
      if (!areEqual(text, starts, line, line + size)) continue;
      let first = line;
      while (first > 0 && line - first < step && areEqual(text, starts, first - 1, first - 1 + size)) first -= 1;
      if (timesInARow(text, starts, first, size) >= FEWEST_BLOCKS) return true;
    }
  }
  return false;
}

/** The block at this line that saves the most characters; the shortest of equals. */
function bestBlock(text: string, starts: readonly number[], line: number): Block | undefined {
  let best: Block | undefined;
  let mostSaved = 0;
  const most = Math.min(MOST_LINES, Math.floor((starts.length - 1 - line) / FEWEST_BLOCKS));
  for (let size = 1; size <= most; size++) {
    const times = timesInARow(text, starts, line, size);
    if (times < FEWEST_BLOCKS) continue;
    const block = { size, times };
    const chars = startOf(starts, line + size) - startOf(starts, line);
    // 2: a line break, and a `\r` before it.
    const saved = chars * (times - 1) - foldLine(block).length - 2;
    if (saved > mostSaved) [best, mostSaved] = [block, saved];
  }
  return best;
}

function timesInARow(text: string, starts: readonly number[], line: number, size: number): number {
  let end = line + size;
  while (end < starts.length - 1 && areEqual(text, starts, end - size, end)) end += 1;
  return Math.floor((end - line) / size);
}

function areEqual(text: string, starts: readonly number[], a: number, b: number): boolean {
  const [startA, startB] = [startOf(starts, a), startOf(starts, b)];
  const length = startOf(starts, a + 1) - startA - 1;
  if (startOf(starts, b + 1) - startB - 1 !== length) return false;
  for (let i = 0; i < length; i++) if (text.charCodeAt(startA + i) !== text.charCodeAt(startB + i)) return false;
  return true;
}

const startOf = (starts: readonly number[], line: number): number => starts[line] as number;
