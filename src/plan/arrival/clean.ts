import { dropBlanks } from './clean/empty-lines.ts';
import { stripEscapeCodes } from './clean/escape-codes.ts';
import { compactJson } from './clean/json.ts';
import { unpadLineNumbers } from './clean/line-numbers.ts';
import { keepLastStates } from './clean/overwritten-lines.ts';
import { foldRepeatedBlocks } from './clean/repeated-blocks.ts';
import { writePathsOnce } from './clean/search-paths.ts';
import { isShortenedShellOutput } from './shell-output.ts';
import type { Shown } from './shown-by.ts';

/**
 * Makes a result shorter without loss of content: escape codes, overwritten progress lines, blanks, repeated lines, JSON
 * white space, repeated paths. Agents quote files exactly in edits, so a text that shows a file loses only escape codes and
 * the blanks before line numbers. Returns the same text where nothing becomes shorter.
 *
 * A cleaned text is cleaned no further: the rules run until they change nothing. A text that is still changing after a few
 * rounds was made for that, and stays as it is.
 */
export function cleanResult(text: string, shows: Shown): string {
  if (isShortenedShellOutput(text)) return text;
  let cleaned = text;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const next = cleanOnce(cleaned, shows);
    // Providers refuse a result without text.
    if (next === cleaned) return cleaned.trim() === '' ? text : cleaned;
    cleaned = next;
  }
  return text;
}

const MOST_ROUNDS = 5;

function cleanOnce(text: string, shows: Shown): string {
  const plain = stripEscapeCodes(text);
  if (shows === 'file') return unpadLineNumbers(plain, { onlyRising: true });
  // First, because pretty-printed JSON has equal lines, and is JSON no longer once they are folded.
  const json = compactJson(plain);
  if (json !== undefined) return json;
  const folded = foldRepeatedBlocks(dropBlanks(keepLastStates(plain)));
  const grouped = shows === 'other' ? folded : writePathsOnce(folded);
  return unpadLineNumbers(grouped, { onlyRising: false });
}
