import { setImmediate } from 'node:timers/promises';
import { PalimpsestError } from '../errors.ts';
import { recallLimits } from '../limits.ts';
import { anything, checkOptions, count, flag, rule } from '../options.ts';
import { createLineMatcher } from './line-matcher.ts';
import { Lines } from './lines.ts';
import type { Match, SearchOptions, Stored } from './store.ts';

/**
 * The lines of texts that match, in their order; `session` is for the store, which chooses the texts. A pattern that
 * takes too long is ended: what was found comes first, then TIMED_OUT is thrown.
 */
export async function* searchTexts(
  texts: Iterable<Stored> | AsyncIterable<Stored>,
  query: string,
  options: SearchOptions = {},
): AsyncGenerator<Match> {
  checkSearch(query, options);
  const { regex = false, ignoreCase = false, limit = Number.POSITIVE_INFINITY } = options;
  const matcher = createLineMatcher({ query, regex, ignoreCase });
  let left = limit;
  for await (const batch of batchesOf(texts)) {
    if (left === 0) return;
    const { lines, timedOut } = await matcher.match(batch.map(({ text }) => text));
    for (const match of toMatches(batch, lines)) {
      if (left-- === 0) return;
      yield match;
    }
    if (timedOut) throw timedOutError(query);
    // A store that never waits for anything would let nothing else have its turn.
    await setImmediate();
  }
}

/** Throws BAD_OPTION before any text is read. */
export function checkSearch(query: string, options: SearchOptions): void {
  checkOptions('search', { query, ...options }, RULES);
}

const RULES = {
  query: rule(`a text of at most ${recallLimits.queryChars} characters`, isQuery),
  session: anything,
  regex: flag,
  ignoreCase: flag,
  limit: rule(count.expected, (value) => value === Number.POSITIVE_INFINITY || count.check(value)),
};

function isQuery(value: unknown): boolean {
  return typeof value === 'string' && value.length <= recallLimits.queryChars;
}

/** One message to the process for many small texts, and few large ones in memory at a time. */
const BATCH_TEXTS = 256;
const BATCH_LENGTH = 1_000_000;

async function* batchesOf(texts: Iterable<Stored> | AsyncIterable<Stored>): AsyncGenerator<Stored[]> {
  let batch: Stored[] = [];
  let length = 0;
  for await (const stored of texts) {
    batch.push(stored);
    length += stored.text.length;
    if (batch.length < BATCH_TEXTS && length < BATCH_LENGTH) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}

function* toMatches(batch: readonly Stored[], lines: readonly (readonly number[])[]): Generator<Match> {
  for (const [index, { handle, text, refs }] of batch.entries()) {
    const found = lines[index] ?? [];
    if (found.length === 0) continue;
    const all = new Lines(text);
    for (const line of found) yield { handle, line: line + 1, text: all.at(line), refs };
  }
}

function timedOutError(query: string): PalimpsestError {
  const shown = query.length > 200 ? `${query.slice(0, 200)}…` : query;
  const remedy = 'what was found until then is all there is; give a simpler pattern, or a plain text';
  return new PalimpsestError(
    'TIMED_OUT',
    `Expected the pattern '${shown}' to be done in time but had to end it; ${remedy}`,
  );
}
