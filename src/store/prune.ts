import { badOption, checkOptions, flag, rule } from '../options.ts';
import type { PruneOptions, PruneReport, Removed } from './store.ts';

/** A session, texts without a session, or the records of a day, with the time of the last use. */
export interface Removable {
  readonly usedAt: number;
  readonly session?: string;
  /** Texts without a session: all before this point, in the store's own order. */
  readonly before?: number;
  /** Records of requests that started on this day, counted from 1970. */
  readonly day?: number;
}

/** The part of a store that `prune` needs. */
export interface Prunable {
  /** Items in any order. Items with the same time of use are ordered by age, oldest first. */
  removables(now: number): Promise<Removable[]>;
  usedBytes(): Promise<number>;
  /** Removes an item. In a dry run, everything in `gone` counts as removed already. */
  remove(what: Removable, options: { readonly dryRun: boolean; readonly gone: Gone }): Promise<Removed>;
}

/** Sessions and texts that a dry run has removed so far. */
export interface Gone {
  readonly sessions: ReadonlySet<string>;
  /** Texts without a session before this point. */
  readonly before: number;
}

/** Removes the least recently used items first. Sessions in use are the most recent, so they go last. */
export async function prune(store: Prunable, options: PruneOptions, clock: () => number): Promise<PruneReport> {
  checkPrune(options);
  const { maxAgeMs = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY, dryRun = false } = options;
  const now = options.now ?? clock();
  const total = { sessions: 0, texts: 0, turns: 0, bytes: 0, inUse: 0 };
  let records = 0;
  const gone = { sessions: new Set<string>(), before: 0 };
  let usedBytes = await store.usedBytes();
  const oldestFirst = (await store.removables(now)).sort((a, b) => a.usedAt - b.usedAt);
  for (const what of oldestFirst) {
    if (now - what.usedAt <= maxAgeMs && usedBytes <= maxBytes) break;
    const removed = await store.remove(what, { dryRun, gone });
    if (what.session !== undefined) gone.sessions.add(what.session);
    gone.before = Math.max(gone.before, what.before ?? 0);
    total.sessions += removed.sessions;
    total.texts += removed.texts;
    total.turns += removed.turns;
    total.bytes += removed.bytes;
    records += removed.records ?? 0;
    if (removed.sessions > 0 && now - what.usedAt < IN_USE_MS) total.inUse += removed.sessions;
    usedBytes -= removed.bytes;
  }
  return { ...withRecords(total, { records, bytes: 0 }), usedBytes: Math.max(0, usedBytes) };
}

export const NOTHING_REMOVED: Removed = { sessions: 0, texts: 0, turns: 0, bytes: 0 };

/** Adds the counts of removed records. */
export function withRecords<R extends Removed>(removed: R, { records, bytes }: { records: number; bytes: number }): R {
  return { ...removed, bytes: removed.bytes + bytes, ...(records > 0 ? { records } : {}) };
}

/** A use of a session is recorded at most once in this time. */
export const USE_EVERY_MS = 3_600_000;
export const WEEK_MS = 7 * 86_400_000;
const IN_USE_MS = 6 * 3_600_000;

/** Groups texts without a session. Each group ends before its point. */
export function* slicesOf<T extends { readonly usedAt: number; readonly point: number }>(
  oldestFirst: readonly T[],
): Generator<Removable> {
  const size = Math.max(1, Math.ceil(oldestFirst.length / MOST_SLICES));
  for (let first = 0; first < oldestFirst.length; first += size) {
    const last = oldestFirst[Math.min(first + size, oldestFirst.length) - 1] as T;
    yield { usedAt: last.usedAt, before: last.point + 1 };
  }
}

const MOST_SLICES = 100;

function checkPrune(options: PruneOptions): void {
  checkOptions('prune', options, { maxAgeMs: amount, maxBytes: amount, dryRun: flag, now: amount });
  if (options.maxAgeMs === undefined && options.maxBytes === undefined)
    throw badOption('prune option maxAgeMs or maxBytes', 'a limit', undefined);
}

const amount = rule('a number of 0 or more', (value) => typeof value === 'number' && value >= 0);
