import { columnsOf } from './columns.ts';
import { stripEscapeCodes } from './escape-codes.ts';

/**
 * For a line that was overwritten with carriage returns, keeps the last state, and earlier states that are longer than all after them: a
 * terminal still shows their ends, unless a code has erased them. A code that moves the cursor elsewhere begins another line. `\r\n` stays a
 * line end.
 */
export function keepLastStates(text: string): string {
  const isOverwritten = text.includes('\r') && /\r(?!\n)/.test(text);
  return isOverwritten ? text.split('\n').map(lastStates).join('\n') : text;
}

function lastStates(line: string): string {
  if (!line.slice(0, endOfStates(line)).includes('\r')) return line;
  if (!line.includes('\u001b')) return statesShown(line);
  const rows = line.replace(ERASE_ALL, '\r\u001b[K').split(MOVE).map(statesShown);
  return rows.filter((row) => row.trim() !== '').join('\n');
}

/** From the last state to the first, up to one that erases all before it. */
function statesShown(row: string): string {
  const end = endOfStates(row);
  const kept: string[] = [];
  let covered = 0;
  for (let [from, to] = [0, end]; to >= 0 && covered < Number.POSITIVE_INFINITY; to = from - 1) {
    from = to === 0 ? 0 : row.lastIndexOf('\r', to - 1) + 1;
    const state = row.slice(from, to);
    const text = stripEscapeCodes(state);
    // A line that was erased at its end, and not written again, keeps its text.
    if (text === '' && kept.length === 0) continue;
    if (kept.length === 0 || columnsOf(text.trimEnd()) > covered) kept.push(state);
    covered = ERASE.test(state) ? Number.POSITIVE_INFINITY : Math.max(covered, columnsCovered(text));
  }
  return kept.reverse().join('\r') + (end < row.length ? '\r' : '');
}

/** A tab and other control characters do not overwrite text. */
function columnsCovered(text: string): number {
  const control = text.search(CONTROL);
  return columnsOf(control < 0 ? text : text.slice(0, control));
}

/** The position before the returns at its end. */
function endOfStates(line: string): number {
  let end = line.length;
  while (line.charCodeAt(end - 1) === RETURN) end -= 1;
  return end;
}

const RETURN = 13;
/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: these characters are looked for */
const CONTROL = /[\0-\x1f\x7f]/;
const ERASE_ALL = /\x1b\[2K/g;
/** From the cursor to the end of the line, or of the screen. */
const ERASE = /\x1b\[[02]?[KJ]/;
/** Codes that move the cursor, or the text below it. */
const MOVE = /\x1b(?:\[[0-?]*[ -/]*[@-ILMPSTXZ`adefru]|[78DEHMc])/;
/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above */
