import { setImmediate } from 'node:timers/promises';
import { PalimpsestError } from '../errors.ts';
import { recallLimits, searchLimits } from '../limits.ts';
import { anything, checkOptions, count, flag, rule } from '../options.ts';
import { countLines } from '../text.ts';
import { createLineMatcher } from './line-matcher.ts';
import { Lines } from './lines.ts';
import type { Match, SearchOptions, Stored } from './store.ts';

/**
 * The matching lines of texts, in order; the store uses `session` to choose the texts. A search that takes too long is stopped:
 * the matches so far come first, then TIMED_OUT is thrown. Waiting for a process, or for the caller to take the next match, does
 * not count.
 */
export async function* searchTexts(
  texts: Iterable<Stored> | AsyncIterable<Stored>,
  query: string,
  options: SearchOptions = {},
): AsyncGenerator<Match> {
  checkSearch(query, options);
  const { regex = false, ignoreCase = false, limit = Number.POSITIVE_INFINITY, signal } = options;
  const matcher = createLineMatcher({ query, regex, ignoreCase });
  if (limit === 0) return;
  let [found, leftMs, startMs] = [0, searchLimits.totalMs as number, performance.now()];
  for await (const batch of batchesOf(texts)) {
    signal?.throwIfAborted();
    if (leftMs <= 0) throw timedOutError(query);
    const { lines, timedOut, waitedMs } = await matcher.match(
      batch.map(({ text }) => text),
      { mostMs: Math.min(searchLimits.batchMs, leftMs), signal },
    );
    leftMs -= performance.now() - startMs - waitedMs;
    for (const match of toMatches(batch, lines)) {
      yield match;
      found += 1;
      if (found === limit) return;
      if (found % MATCHES_PER_TURN === 0) await setImmediate();
    }
    if (timedOut) throw timedOutError(query);
    // A store that never waits would otherwise block all other events.
    await setImmediate();
    startMs = performance.now();
  }
}

/** About this many take a few milliseconds. */
const MATCHES_PER_TURN = 5000;

/** Throws BAD_OPTION before any text is read. */
export function checkSearch(query: string, options: SearchOptions): void {
  checkOptions('search', { query, ...options }, RULES);
}

const abortSignal = rule('an AbortSignal', (value) => value instanceof AbortSignal);

const RULES = {
  query: rule(`a text of at most ${recallLimits.queryChars} characters`, isQuery),
  session: anything,
  regex: flag,
  ignoreCase: flag,
  signal: abortSignal,
  limit: rule(count.expected, (value) => value === Number.POSITIVE_INFINITY || count.check(value)),
};

function isQuery(value: unknown): boolean {
  return typeof value === 'string' && value.length <= recallLimits.queryChars;
}

/** Whole lines of a stored text. */
interface Part {
  readonly stored: Stored;
  readonly text: string;
  /** Lines of the stored text before this part. */
  readonly linesBefore: number;
}

/** A batch takes a few milliseconds. Other events run between batches. */
const BATCH_TEXTS = 256;
const BATCH_CHARS = 250_000;

async function* batchesOf(texts: Iterable<Stored> | AsyncIterable<Stored>): AsyncGenerator<Part[]> {
  let batch: Part[] = [];
  let chars = 0;
  for await (const stored of texts)
    for (const part of partsOf(stored)) {
      batch.push(part);
      chars += part.text.length;
      if (batch.length < BATCH_TEXTS && chars < BATCH_CHARS) continue;
      yield batch;
      batch = [];
      chars = 0;
    }
  if (batch.length > 0) yield batch;
}

function* partsOf(stored: Stored): Generator<Part> {
  let linesBefore = 0;
  for (let [start, end] = [0, 0]; start < stored.text.length; start = end) {
    end = endOfPart(stored.text, start);
    const text = stored.text.slice(start, end);
    yield { stored, text, linesBefore };
    if (end < stored.text.length) linesBefore += countLines(text);
  }
}

/** A line is never divided, however long it is. */
function endOfPart(text: string, start: number): number {
  if (text.length - start <= BATCH_CHARS) return text.length;
  const within = text.slice(start, start + BATCH_CHARS).lastIndexOf('\n');
  const at = within < 0 ? text.indexOf('\n', start + BATCH_CHARS) : start + within;
  return at < 0 ? text.length : at + 1;
}

function* toMatches(batch: readonly Part[], lines: readonly (readonly number[])[]): Generator<Match> {
  for (const [index, { stored, text, linesBefore }] of batch.entries()) {
    const found = lines[index] ?? [];
    if (found.length === 0) continue;
    const { handle, refs } = stored;
    const all = new Lines(text);
    for (const line of found) yield { handle, line: linesBefore + line + 1, text: all.at(line), refs };
  }
}

function timedOutError(query: string): PalimpsestError {
  const shown = query.length > 200 ? `${query.slice(0, 200)}…` : query;
  const remedy = 'the matches so far are all there is; search one session, give a simpler pattern, or a plain text';
  return new PalimpsestError(
    'TIMED_OUT',
    `Expected the search for '${shown}' to be done in time but had to stop it; ${remedy}`,
  );
}
