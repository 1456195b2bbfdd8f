import { dropBlanks } from './clean/empty-lines.ts';
import { stripEscapeCodes } from './clean/escape-codes.ts';
import { isDiff } from './clean/is-diff.ts';
import { compactJson } from './clean/json.ts';
import { unpadLineNumbers } from './clean/line-numbers.ts';
import { keepLastStates } from './clean/overwritten-lines.ts';
import { foldRepeatedBlocks } from './clean/repeated-blocks.ts';
import { writePathsOnce } from './clean/search-paths.ts';
import { isShortenedShellOutput } from './shell-output.ts';
import type { Shown } from './shown-by.ts';

/**
 * Makes a result shorter without loss of content: escape codes, overwritten progress lines, blanks, repeated lines, JSON
 * white space, repeated paths. Agents quote files exactly in edits, so a text that shows a file or a diff loses only escape
 * codes and the blanks before line numbers. Returns the same text if nothing becomes shorter.
 */
export function cleanResult(text: string, shows: Shown): string {
  if (isShortenedShellOutput(text)) return text;
  const plain = stripEscapeCodes(text);
  const isFile = shows === 'file' || isDiff(plain);
  const cleaned = isFile
    ? unpadLineNumbers(plain, { onlyRising: true })
    : cleanOutput(drawn(text, plain, shows), shows);
  // Providers refuse a result without text.
  return cleaned.trim() === '' ? text : cleaned;
}

/** Codes that erase and move show which states of a line a terminal displays, so these are handled first. */
const drawn = (text: string, plain: string, shows: Shown): string =>
  shows === 'shell' && plain !== text ? stripEscapeCodes(keepLastStates(text)) : plain;

const MOST_ROUNDS = 5;

/**
 * A cleaned text is not cleaned further: the rules run until they change nothing. A text that still changes after a few rounds was crafted
 * for that, and stays as it is.
 */
function cleanOutput(text: string, shows: Shown): string {
  let cleaned = text;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    // First, because pretty-printed JSON has equal lines, and is no longer JSON once they are folded.
    const json = compactJson(cleaned);
    if (json !== undefined) return json;
    const next = cleanLines(cleaned, shows);
    if (next === cleaned) return cleaned;
    cleaned = next;
  }
  return text;
}

function cleanLines(text: string, shows: Shown): string {
  // Only a terminal overwrites a line: elsewhere a return may end one.
  const lines = shows === 'shell' ? keepLastStates(text) : text;
  const folded = foldRepeatedBlocks(dropBlanks(lines));
  const grouped = shows === 'other' ? folded : writePathsOnce(folded);
  return unpadLineNumbers(grouped, { onlyRising: false });
}
