import { headOf, tailOf } from '../../text.ts';
import type { Counter } from '../../tokens/counter.ts';
import { isDiff } from './clean/is-diff.ts';

/** Options of `shortenShellOutput`. */
export interface ShellOutputOptions {
  readonly maxTokens: number;
  readonly counter: Counter;
  /** How the last line shows the handle of the original; empty if it does not. */
  readonly handle: string;
}

/**
 * Keeps the first lines, the last lines and the lines about failures of a long output, in at most `maxTokens`. The last line
 * says so and shows the handle. Undefined if the output is short enough, was shortened before, cannot be shortened, or is a
 * diff: agents quote its lines exactly.
 */
export function shortenShellOutput(
  text: string,
  { maxTokens, counter, handle }: ShellOutputOptions,
): string | undefined {
  const tokens = counter(text);
  if (tokens <= maxTokens || isShortenedShellOutput(text) || isDiff(text)) return undefined;
  const lastLine = `[${KEPT} ~${maxTokens} of ~${tokens} tokens (shell)${handle}]`;
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  // A counter may count a whole text higher than its parts: then less is kept.
  for (let budget = maxTokens - counter(`\n${lastLine}`); budget > 0; budget = Math.floor(budget * 0.8)) {
    const shortened = `${keep(all, budget, counter)}\n${lastLine}`;
    if (counter(shortened) <= maxTokens && shortened.length < text.length) return shortened;
  }
  return undefined;
}

/** The words of `truncateResult`. */
const KEPT = 'truncated: kept first+last+failures';
const LAST_LINE = /\n\[truncated: kept first\+last\+failures ~\d+ of ~\d+ tokens \(shell\)[^\n]*\]$/;

/** Whether a text was made by `shortenShellOutput`. */
export const isShortenedShellOutput = (text: string): boolean =>
  text.endsWith(']') && LAST_LINE.test(tailOf(text, 300));

const LINE_LENGTH = 400;
const FAILURE = /error|fail|fatal|panic|exception|traceback|assert|not found|cannot|✗/i;

function keep(all: readonly string[], budget: number, counter: Counter): string {
  const lines = all.map((line) => clip(line, LINE_LENGTH));
  const whole = lines.join('\n');
  if (counter(whole) <= budget) return clipWider(all, budget, counter) ?? whole;
  return withGaps(lines, chooseLines(lines, budget, counter));
}

/** Few but long lines: the greatest length at which all of them fit. */
function clipWider(all: readonly string[], budget: number, counter: Counter): string | undefined {
  let found: string | undefined;
  let [low, high] = [LINE_LENGTH + 1, Math.max(LINE_LENGTH, budget * 8)];
  while (low <= high) {
    const length = Math.floor((low + high) / 2);
    const text = all.map((line) => clip(line, length)).join('\n');
    if (counter(text) <= budget) [found, low] = [text, length + 1];
    else high = length - 1;
  }
  return found;
}

/** The first 20 % and the last 40 % of the budget; the rest for failures, from the end, with their neighbours if these fit. */
function chooseLines(lines: readonly string[], budget: number, counter: Counter): ReadonlySet<number> {
  const chosen = new Set<number>();
  const cost = (line: string): number => counter(`${line}\n`);
  const gap = cost(gapLine(lines.length));
  let left = budget - gap;
  const take = (indices: readonly number[], limit: number): boolean => {
    const added = indices.filter((i) => lines[i] !== undefined && !chosen.has(i));
    const price = added.reduce((sum, i) => sum + cost(lines[i] ?? ''), 0);
    if (price > left - limit) return false;
    left -= price;
    for (const i of added) chosen.add(i);
    return true;
  };
  const [afterHead, afterTail] = [left * 0.8, left * 0.4];
  for (let i = 0; i < lines.length && take([i], afterHead); ) i += 1;
  for (let i = lines.length - 1; i >= 0 && take([i], afterTail); ) i -= 1;
  for (let i = lines.length - 1; i >= 0; i--) {
    if (chosen.has(i) || !FAILURE.test(lines[i] ?? '')) continue;
    if (!take([i - 1, i, i + 1, i + 2], gap) && !take([i], gap)) break;
    left -= gap;
  }
  return chosen;
}

function withGaps(lines: readonly string[], chosen: ReadonlySet<number>): string {
  const shown: string[] = [];
  let missing = 0;
  for (const [i, line] of lines.entries()) {
    if (!chosen.has(i)) missing += 1;
    else {
      if (missing > 0) shown.push(gapLine(missing));
      shown.push(line);
      missing = 0;
    }
  }
  if (missing > 0) shown.push(gapLine(missing));
  return shown.join('\n');
}

const gapLine = (lines: number): string => `[… ${lines} line${lines === 1 ? '' : 's'}]`;

/** A line in at most `length` characters: its beginning, its end and, between them, the place that mentions a failure. */
function clip(line: string, length: number): string {
  const clipped = clipMiddle(line, length);
  const failure = clipped === line || FAILURE.test(clipped) ? -1 : line.search(FAILURE);
  if (failure < 0) return clipped;
  const before = Math.floor(length * 0.4);
  return clipMiddle(line.slice(0, failure), before) + clipMiddle(line.slice(failure), length - before);
}

/** The beginning and the end of a line, in at most `length` characters. */
function clipMiddle(line: string, length: number): string {
  if (line.length <= length) return line;
  const half = Math.floor((length - clipNote(line.length).length) / 2);
  const [head, tail] = [headOf(line, half), tailOf(line, half)];
  return head + clipNote(line.length - head.length - tail.length) + tail;
}

const clipNote = (characters: number): string => ` [… ${characters} characters] `;
