import { PalimpsestError } from '../../../errors.ts';
import type { Entry, Key, LinearHash } from '../linear-hash.ts';
import { DELETION, EXPIRY, type LogRecord, NOTE, REFERENCE, TEXT, TURN } from '../log.ts';
import type { LogFile, Spot } from '../log-file.ts';
import { readDeletion, readTurn, sessionIn } from '../records.ts';

/** Counts of the live records, kept up to date with each change. */
export interface Counts {
  texts: number;
  turns: number;
  notes: number;
  sessions: number;
  textBytes: number;
  /** Bytes in records that the index no longer points to. */
  deadBytes: number;
  deletions: number;
  /** References whose text was lost when they were read. */
  orphans: number;
  /** The position of the newest use record, or 0. */
  newestUse: number;
}

export interface Sought<T> {
  readonly found: T | undefined;
  readonly damagedAt: number;
}

/** A log, the index that points into it, and the counts of its live records. */
export class IndexedLog {
  readonly file: LogFile;
  readonly index: LinearHash;
  readonly counts: Counts;

  /** Counts of a store of format 4 have no notes, those of 5 no uses. */
  constructor(file: LogFile, index: LinearHash, counts: Partial<Counts> = {}) {
    this.file = file;
    this.index = index;
    this.counts = { ...noCounts(), ...counts };
  }

  /** A record without the end of a long text. Undefined if it is damaged. */
  recordAt(position: number): LogRecord | undefined {
    return this.file.read(position, SMALL);
  }

  /**
   * The position of the record of a session under a key, or 0. A damaged record under the key most likely belongs to the session.
   * It is treated as a match, so that the broken chain is noticed and the log is read instead.
   */
  positionOf(key: Key, session: string): number {
    const isOf = ({ position }: Entry): boolean => {
      const record = this.recordAt(position);
      return !record || chainOf(record) === session;
    };
    return this.index.find(key, isOf)?.position ?? 0;
  }

  /** The first answer of `read` for the records under a key. `damagedAt`: the position of a damaged one, or 0. */
  seek<T>(key: Key, read: (record: LogRecord) => T | undefined): Sought<T> {
    let found: T | undefined;
    let damagedAt = 0;
    this.index.find(key, ({ position, bytes }) => {
      const record = this.file.read(position, bytes);
      if (!record) damagedAt = position;
      found = record && read(record);
      return found !== undefined;
    });
    return { found, damagedAt };
  }

  /** Points the key to a new record in place of the one at `from`, or adds it. Returns whether it was added. */
  point(key: Key, from: number, to: Entry): boolean {
    if (from > 0 && this.index.move(key, from, to)) return false;
    this.index.add(key, to);
    return true;
  }

  damaged(position: number): PalimpsestError {
    return new PalimpsestError(
      'STORE_DAMAGED',
      `Expected a record at ${position} of ${this.file.name} but found damage; run palimpsest store verify`,
    );
  }
}

/** Most records are smaller. For the others, the first read shows their size. */
const SMALL = 512;

const noCounts = (): Counts => ({
  texts: 0,
  turns: 0,
  notes: 0,
  sessions: 0,
  textBytes: 0,
  deadBytes: 0,
  deletions: 0,
  orphans: 0,
  newestUse: 0,
});

/** The session of records that have none: they form a chain like those of a session. */
export const NO_SESSION = '';

/** The session that a record belongs to or deletes. Undefined for records without one. */
export function chainOf({ type, body }: LogRecord): string | undefined {
  if (type === TEXT || type === REFERENCE || type === NOTE) return sessionIn(body) ?? NO_SESSION;
  if (type === TURN) return readTurn(body).session;
  if (type === EXPIRY) return NO_SESSION;
  return type === DELETION ? readDeletion(body) : undefined;
}

export const entryOf = ({ position, bytes }: Spot, isMarked = false): Entry => ({ position, bytes, isMarked });
