import { recallLimits } from '../../limits.ts';
import { clipAround, clipText, takeLines } from '../../text.ts';
import type { Recalled } from '../recall.ts';
import { opening, type Request } from './request.ts';

/** The first lines that match, how many match, and the call that gives the rest. */
export function showMatches({ text, lines, timedOut }: Recalled, request: Request): string {
  const { handle, grep = '' } = request;
  const all = text === '' ? [] : text.split('\n');
  const clipped = all.map((line) => clipMatch(line, grep));
  const shown = takeLines(clipped, Math.min(request.room, recallLimits.matchChars));
  const notes = [
    ...(shown.some((line, i) => line !== all[i]) ? [LONG_LINES] : []),
    ...(shown.length < all.length ? [restOf(all.slice(shown.length), request.lines?.[1] ?? lines)] : []),
    ...(timedOut ? ['The pattern took too long and was stopped: there may be more matches. Give a simpler one.'] : []),
  ];
  const matches = all.filter((line) => /^\d+:/.test(line)).length;
  const what = `${matches} of ${lines} lines, which match ${JSON.stringify(clipText(grep, 40))}`;
  return [opening(handle, what), ...shown, ...notes.map((note) => `[${note}]`)].join('\n');
}

/** A line of a minified file would leave no room for others. */
const LONGEST = 400;
const LONG_LINES = 'Long lines are clipped: recall them with lines, and with offset to go on inside a line.';

function clipMatch(line: string, query: string): string {
  const number = /^\d+[:-]/.exec(line)?.[0] ?? '';
  return number + clipAround(line.slice(number.length), { query, max: LONGEST });
}

function restOf(rest: readonly string[], last: number): string {
  const next = rest.find((line) => /^\d/.test(line)) ?? '';
  return `${rest.length} lines are left out. The rest: the same call with "lines": [${Number.parseInt(next, 10)}, ${last}]`;
}
