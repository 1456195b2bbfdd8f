import type { Digest } from '../../handle.ts';
import { type Gone, NOTHING_REMOVED } from '../../prune.ts';
import type { Removed } from '../../store.ts';
import { NOTE, REFERENCE, TEXT, TURN } from '../log.ts';
import { digestIn, readTurn } from '../records.ts';
import type { Catalogue } from './catalogue.ts';
import { NO_SESSION } from './indexed-log.ts';
import { type FoundReference, firstOf } from './references.ts';

interface SessionSize {
  readonly texts: number;
  readonly textBytes: number;
  readonly turns: number;
}

/** The size of the texts and turns that a session refers to. */
export function sizeOf({ log, chains, texts }: Catalogue, session: string): SessionSize {
  const digests = new Set<Digest>();
  const turns = new Set<number>();
  for (const position of chains.positionsOf(session)) {
    const record = log.recordAt(position);
    if (record?.type === TEXT || record?.type === REFERENCE) digests.add(digestIn(record.body));
    if (record?.type === TURN) turns.add(readTurn(record.body).turn);
  }
  const textBytes = [...digests].reduce((sum, digest) => sum + (texts.of(digest)?.textBytes ?? 0), 0);
  return { texts: digests.size, textBytes, turns: turns.size };
}

/** A record of a text that has no session. */
export interface Loose {
  readonly usedAt: number;
  readonly point: number;
}

/** The records of texts without a session, oldest first. */
export const looseTexts = ({ log, chains }: Catalogue): Loose[] =>
  chains.positionsOf(NO_SESSION).map((point) => ({ point, usedAt: log.recordAt(point)?.time ?? 0 }));

/** A session, or the records without one before a position. */
interface RemovalTarget {
  readonly session?: string;
  readonly before?: number;
}

/** Records that `freedBy` already counts as removed. */
export interface DryRun {
  readonly gone: Gone;
  /** For each text: references newer than this position are already counted as removed. */
  readonly checkedUpTo: Map<Digest, number>;
}

/** Counts the records that a removal frees, if all of `gone` is removed already. */
export function freedBy(
  catalogue: Catalogue,
  { session = NO_SESSION, before = Number.POSITIVE_INFINITY }: RemovalTarget,
  { gone, checkedUpTo }: DryRun,
): Removed {
  const { log, chains, deletions, latest, references, texts: stored } = catalogue;
  const positions = chains.positionsOf(session).filter((position) => position < before);
  const digests = new Set<Digest>();
  let [turns, bytes] = [0, session === NO_SESSION ? 0 : (latest.findUse(session)?.bytes ?? 0)];
  for (const position of positions) {
    const record = log.recordAt(position);
    if (!record) continue;
    const isReplaceable = record.type === TURN || record.type === NOTE;
    if (!isReplaceable) digests.add(digestIn(record.body));
    if (isReplaceable ? latest.has(record) : record.type === REFERENCE) bytes += record.bytes;
    if (record.type === TURN && latest.has(record)) turns += 1;
  }
  const isLeft = ({ about, position }: Pick<FoundReference, 'about' | 'position'>): boolean => {
    if (deletions.has(about, position)) return false;
    if (about.session !== undefined) return about.session !== session && !gone.sessions.has(about.session);
    return position >= (session === NO_SESSION ? Math.max(before, gone.before) : gone.before);
  };
  const isAnyLeft = (digest: Digest): boolean => {
    const from = checkedUpTo.get(digest) ?? references.headOf(digest);
    const left = firstOf(references.from(from, digest), isLeft);
    if (from > 0) checkedUpTo.set(digest, left?.position ?? 0);
    return left !== undefined;
  };
  let texts = 0;
  for (const digest of digests) {
    const text = stored.of(digest);
    if (!text || isLeft(text) || isAnyLeft(digest)) continue;
    texts += 1;
    bytes += text.recordBytes;
  }
  const isThere = session !== NO_SESSION && positions.length > 0;
  return positions.length === 0 ? NOTHING_REMOVED : { sessions: isThere ? 1 : 0, texts, turns, bytes };
}
