import { storeLimits } from '../../../limits.ts';
import type { Reference } from '../../store.ts';
import type { Key } from '../linear-hash.ts';
import { EXPIRY } from '../log.ts';
import type { Spot } from '../log-file.ts';
import { keyOf, readExpiry } from '../records.ts';
import { entryOf, type IndexedLog, NO_SESSION } from './indexed-log.ts';

/** The last deletion of each session, and the last expiry of records without one. Earlier records are not alive. */
export class Deletions {
  readonly #log: IndexedLog;
  /** Those of recently used sessions. */
  readonly #known = new Map<string, number>();

  constructor(log: IndexedLog) {
    this.#log = log;
  }

  /** The records of a session before this position are deleted. 0 if there was no deletion. */
  of(session: string): number {
    if (this.#log.counts.deletions === 0) return 0;
    const known = this.#known.get(session);
    if (known !== undefined) return known;
    const found = this.#log.positionOf(deletionKey(session), session);
    const position = session === NO_SESSION ? this.#expiredBefore(found) : found;
    this.#remember(session, position);
    return position;
  }

  #expiredBefore(position: number): number {
    const record = position > 0 ? this.#log.recordAt(position) : undefined;
    return record?.type === EXPIRY ? readExpiry(record.body) : 0;
  }

  #remember(session: string, deletedAt: number): void {
    if (this.#known.size >= storeLimits.openSessions && !this.#known.has(session)) this.#known.clear();
    this.#known.set(session, deletedAt);
  }

  /** Whether the session of a text or reference was deleted after it was put. */
  has({ session }: Reference, position: number): boolean {
    return position < this.of(session ?? NO_SESSION);
  }

  addDeletion(session: string, spot: Spot): void {
    this.#add(session, this.of(session), spot);
    this.#remember(session, spot.position);
  }

  addExpiry(before: number, spot: Spot): void {
    this.#add(NO_SESSION, this.#log.positionOf(deletionKey(NO_SESSION), NO_SESSION), spot);
    this.#remember(NO_SESSION, before);
  }

  #add(session: string, earlier: number, spot: Spot): void {
    this.#log.point(deletionKey(session), earlier, entryOf(spot));
    this.#log.counts.deletions += 1;
    this.#log.counts.deadBytes += spot.bytes;
  }
}

const deletionKey = (session: string): Key => keyOf('deletion', session);
