import { PalimpsestError } from '../errors.ts';
import { recallLimits, searchLimits } from '../limits.ts';
import { badOption, checkOptions, count, flag, positive, rule } from '../options.ts';
import { createLineMatcher } from './line-matcher.ts';
import { Lines } from './lines.ts';
import type { Signal, Store } from './store.ts';

/** Options of `recall`: without any, the whole text. */
export interface RecallOptions {
  /** Only the first lines: of the text, or of the matches of `grep`. @default the whole text */
  readonly head?: number;
  /** Only the last lines. @default the whole text */
  readonly tail?: number;
  /** Only these lines, counted from 1, the last one included. @default the whole text */
  readonly lines?: readonly [from: number, to: number];
  /**
   * Only lines that match this regular expression, with their numbers: `12:text`, and `13-text` for context. @default
   * none
   */
  readonly grep?: string;
  /** The number of lines shown around each match. @default 0 */
  readonly context?: number;
  /** With `grep`: capital letters make no difference. @default false */
  readonly ignoreCase?: boolean;
  /** Once aborted, `grep` stops and throws the signal's reason. @default none */
  readonly signal?: Signal | undefined;
}

/** A text, or the part of it that was asked for. */
export interface Recalled {
  /** The part that was asked for. */
  readonly text: string;
  /** The number of lines of the whole text. */
  readonly lines: number;
  /** The size of the whole text in UTF-8. */
  readonly bytes: number;
  /** Whether `text` leaves something out. */
  readonly truncated: boolean;
  /** Set if the pattern took too long: there may be more matches. */
  readonly timedOut?: true;
}

/** Throws if this is no store that answers handles. */
export function checkReadable(of: string, store: Store): void {
  if (typeof store?.get !== 'function')
    throw badOption(`the store of ${of}`, 'a store, such as openStore() gives', store);
}

/**
 * The text behind a handle: byte for byte, or the requested lines.
 *
 * @example
 * ```ts
 * import { recall } from 'palimpsest/store';
 *
 * const { text } = await recall(store, 'p_abcdefghijklmnopqrstuvwxyz', { grep: 'Error', context: 2 });
 * ```
 */
export async function recall(store: Store, handle: string, options: RecallOptions = {}): Promise<Recalled> {
  checkReadable('recall', store);
  checkRecall(options);
  const stored = await store.get(handle);
  if (!stored) throw notFound(handle);
  const lines = new Lines(stored.text);
  const whole: Whole = { lines, ...rangeOf(options, lines.count) };
  const found = options.grep === undefined ? slice(whole, options) : await grep(whole, options.grep, options);
  return { lines: lines.count, bytes: stored.bytes, ...found };
}

/** The text, and its lines `from` to `to`, counted from 0 and `to` not included. */
interface Whole {
  readonly lines: Lines;
  readonly from: number;
  readonly to: number;
}

type Part = Pick<Recalled, 'text' | 'truncated' | 'timedOut'>;

function checkRecall(options: RecallOptions): void {
  checkOptions('recall', options, RULES);
  const { head, tail, grep: pattern, context, ignoreCase } = options;
  if (head !== undefined && tail !== undefined) throw badOption('recall', 'asked for head or tail', 'both');
  if (pattern === undefined && (context !== undefined || ignoreCase !== undefined))
    throw badOption('recall option grep', 'given with context and ignoreCase', undefined);
}

const RULES = {
  head: count,
  tail: count,
  lines: rule('two line numbers, the first from 1 and not above the second', isRange),
  grep: rule(`a text of at most ${recallLimits.queryChars} characters`, isPattern),
  context: count,
  ignoreCase: flag,
  signal: rule('an AbortSignal', (value) => value instanceof AbortSignal),
};

function isPattern(value: unknown): boolean {
  return typeof value === 'string' && value.length <= recallLimits.queryChars;
}

function isRange(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2 || !value.every(positive.check)) return false;
  return value[0] <= value[1];
}

function notFound(handle: unknown): PalimpsestError {
  const shown = String(handle).slice(0, 60);
  const remedy =
    'copy the handle from its placeholder, and name the store that the text was written to; a deleted session takes its texts along';
  return new PalimpsestError('NOT_FOUND', `Expected a handle that this store knows but found '${shown}'; ${remedy}`);
}

function rangeOf({ lines: [from, to] = [1, Number.POSITIVE_INFINITY] }: RecallOptions, lines: number) {
  return { from: Math.min(from - 1, lines), to: Math.min(to, lines) };
}

function slice(whole: Whole, { head, tail }: RecallOptions): Part {
  const { lines } = whole;
  const to = head === undefined ? whole.to : Math.min(whole.to, whole.from + head);
  const from = tail === undefined ? whole.from : Math.max(whole.from, to - tail);
  const part = lines.text.slice(lines.start(from), lines.start(to));
  return { text: part, truncated: part.length < lines.text.length };
}

async function grep(whole: Whole, pattern: string, options: RecallOptions): Promise<Part> {
  const { lines: all, from, to } = whole;
  const matcher = createLineMatcher({ query: pattern, regex: true, ignoreCase: options.ignoreCase ?? false });
  const { lines, timedOut } = await matcher.match([all.text.slice(all.start(from), all.start(to))], {
    mostMs: searchLimits.batchMs,
    signal: options.signal,
  });
  const matches = (lines[0] ?? []).map((line) => line + from);
  const shown = cut(showMatches(whole, matches, options.context ?? 0), options);
  const truncated = shown.filter((line) => line !== GAP).length < all.count;
  return { text: shown.join('\n'), truncated, ...(timedOut ? { timedOut } : {}) };
}

const GAP = '--';

/** As `grep -n -C` shows them. */
function showMatches({ lines, from, to }: Whole, matches: readonly number[], context: number): string[] {
  const isMatch = new Set(matches);
  const shown: string[] = [];
  let next = from;
  for (const match of matches) {
    const first = Math.max(next, match - context);
    if (context > 0 && shown.length > 0 && first > next) shown.push(GAP);
    for (next = first; next < to && next <= match + context; next++)
      shown.push(`${next + 1}${isMatch.has(next) ? ':' : '-'}${lines.at(next)}`);
  }
  return shown;
}

function cut(shown: readonly string[], { head, tail }: RecallOptions): readonly string[] {
  if (head !== undefined) return shown.slice(0, head);
  return tail === undefined ? shown : shown.slice(Math.max(0, shown.length - tail));
}
