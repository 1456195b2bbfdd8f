import { storeLimits } from '../../../limits.ts';
import { USE_EVERY_MS } from '../../prune.ts';
import type { Key } from '../linear-hash.ts';
import { type Body, DELETION, EXPIRY, type LogRecord, TURN, USE } from '../log.ts';
import type { Spot, Stamp } from '../log-file.ts';
import { beforeOf, beforeTurn, keyOf, readUse, useBody } from '../records.ts';
import type { Deletions } from './deletions.ts';
import { chainOf, entryOf, type IndexedLog, NO_SESSION } from './indexed-log.ts';
import type { Latest } from './latest.ts';

/** When a session was used, in ms since the epoch. 0: not known. */
export interface SessionTimes {
  readonly session: string;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** The newest record of a session. */
export interface Head {
  readonly session: string;
  readonly key: Key;
  /** The first use, from the newest use record; 0 if there is none. */
  firstAt: number;
  usedAt: number;
  /** The newest record of the session; 0 if there is none. */
  position: number;
  /** The newest record that is written to the log. */
  written: Spot | undefined;
  /** The record that the index points to. */
  indexed: number;
}

interface ChainsParts {
  readonly log: IndexedLog;
  readonly deletions: Deletions;
  readonly latest: Latest;
}

/** The records of each session, from the newest to the oldest. New records are appended in batches. */
export class Chains {
  readonly #log: IndexedLog;
  readonly #deletions: Deletions;
  readonly #latest: Latest;
  /** Recently used sessions. */
  readonly #heads = new Map<string, Head>();
  /** Heads that the index does not contain yet. */
  readonly #moved = new Set<Head>();
  /** The low halves of the keys whose records are not written yet. */
  readonly #unwritten = new Set<number>();
  #isTogether = false;
  /** The newest use record, written or not. */
  #newestUse: number;

  constructor({ log, deletions, latest }: ChainsParts) {
    this.#log = log;
    this.#deletions = deletions;
    this.#latest = latest;
    this.#newestUse = log.counts.newestUse;
  }

  /** Applies many changes in one write. If one fails, unwritten changes are dropped and written ones stay. */
  together<T>(write: () => T): T {
    if (this.#isTogether) return write();
    this.#isTogether = true;
    try {
      const answer = write();
      this.flush();
      return answer;
    } catch (error) {
      this.#log.file.drop();
      this.#unwritten.clear();
      this.#indexHeads();
      this.#heads.clear();
      this.#newestUse = this.#log.counts.newestUse;
      throw error;
    } finally {
      this.#isTogether = false;
    }
  }

  flush(): void {
    this.#log.file.flush();
    this.#unwritten.clear();
    this.#indexHeads();
  }

  /** A record that is not written yet cannot be read. */
  flushIfUnwritten(key: Key): void {
    if (this.#unwritten.has(key.low)) this.flush();
  }

  addUnwritten(key: Key): void {
    this.#unwritten.add(key.low);
  }

  /** A record goes into the log first, and into the index once it is written. */
  append(stamp: Stamp, body: Body, written: (spot: Spot) => void, head?: Head): number {
    const { position } = this.#log.file.append(stamp, body, (spot) => {
      written(spot);
      if (head) this.#moveHead(head, spot);
    });
    if (head) head.position = position;
    return position;
  }

  headOf(session: string): Head {
    const known = this.#heads.get(session);
    if (known) return known;
    if (this.#heads.size >= storeLimits.openSessions) {
      this.flush();
      this.#heads.clear();
    }
    const key = sessionKey(session);
    const position = this.#log.positionOf(key, session);
    const use = session === NO_SESSION ? undefined : this.#latest.findUse(session);
    const firstAt = use ? readUse(use.body).firstAt : 0;
    const head: Head = {
      ...{ session, key, firstAt, usedAt: use?.time ?? 0 },
      ...{ position, written: undefined, indexed: position },
    };
    this.#heads.set(session, head);
    return head;
  }

  #moveHead(head: Head, { position, bytes }: Spot): void {
    head.position = Math.max(head.position, position);
    head.written = { position, bytes };
    this.#moved.add(head);
  }

  /** Updates the index once for many records of a session. */
  #indexHeads(): void {
    for (const head of this.#moved) {
      const entry = entryOf(head.written as Spot);
      const isNew = this.#log.point(head.key, head.indexed, entry);
      if (isNew && head.session !== NO_SESSION) this.#log.counts.sessions += 1;
      head.indexed = entry.position;
    }
    this.#moved.clear();
  }

  /** Applies a record that is already in the log. */
  apply(record: LogRecord): void {
    const session = chainOf(record);
    if (session === undefined) return;
    this.#moveHead(this.headOf(session), record);
    this.#indexHeads();
  }

  /** Removes the chain of a deleted session. */
  remove(session: string): void {
    const { key, position } = this.headOf(session);
    if (position > 0 && this.#log.index.remove(key, position)) this.#log.counts.sessions -= 1;
    this.#heads.delete(session);
  }

  /** Records a use of a session, unless that was done recently. */
  use(head: Head, time: number): void {
    if (head.session === NO_SESSION || !isLongAgo(head.usedAt, time)) return;
    this.#appendUse(head, { firstAt: head.firstAt || time, lastAt: time });
  }

  /** Like `use`, for a session that exists. */
  touch(session: string, time: number): void {
    const head = this.headOf(session);
    if (head.position > this.#deletions.of(session)) this.use(head, time);
  }

  /** Whether `touch` would record something. */
  mustTouch(session: string, time: number): boolean {
    const head = this.headOf(session);
    return head.position > this.#deletions.of(session) && isLongAgo(head.usedAt, time);
  }

  /** Records a use with known times, copied from another log. */
  putUse({ session, ...times }: SessionTimes): void {
    this.#appendUse(this.headOf(session), times);
  }

  #appendUse(head: Head, times: Omit<SessionTimes, 'session'>): void {
    const { session } = head;
    // Rounded like the time of a record.
    const [firstAt, time] = [toSecond(times.firstAt), toSecond(times.lastAt)];
    const body = useBody({ session, firstAt, older: this.#newestUse });
    this.#newestUse = this.append({ type: USE, time }, body, (spot) => this.#latest.addUse(session, spot));
    head.firstAt = firstAt;
    head.usedAt = time;
  }

  /** Applies a use that is already in the log. */
  applyUse(record: LogRecord): void {
    const { session, firstAt } = readUse(record.body);
    this.#latest.addUse(session, record);
    this.#newestUse = record.position;
    const head = this.#heads.get(session);
    if (head) Object.assign(head, { firstAt, usedAt: record.time });
  }

  /** The records of a session that were not deleted, oldest first. */
  positionsOf(session: string): number[] {
    const positions: number[] = [];
    const end = this.walk(session, undefined, ({ position }) => positions.push(position) > 0);
    return end === BROKEN_CHAIN ? this.#readPositions(session, this.#deletions.of(session)) : positions.reverse();
  }

  /**
   * Visits the records of a session that are not deleted, newest first, until `visit` returns false. Returns where to continue;
   * undefined at the end. Positions belong to this generation.
   */
  walk(session: string, from: number | undefined, visit: (record: LogRecord) => boolean): number | undefined {
    const deleted = this.#deletions.of(session);
    for (let at = from ?? this.headOf(session).position; at > deleted; ) {
      const record = this.#log.recordAt(at);
      if (!record) return BROKEN_CHAIN;
      at = record.type === TURN ? beforeTurn(record.body) : beforeOf(record.body);
      if (!visit(record)) return at > deleted ? at : undefined;
    }
    return undefined;
  }

  /** The records of a session, read from the log because the chain is broken. */
  #readPositions(session: string, after: number): number[] {
    const positions: number[] = [];
    for (const record of this.#log.file.records(after > 0 ? after : undefined))
      if (record.type !== DELETION && record.type !== EXPIRY && chainOf(record) === session)
        positions.push(record.position);
    return positions;
  }
}

/** A record in the chain of a session is damaged. */
export const BROKEN_CHAIN = -1;

const sessionKey = (session: string): Key => keyOf('session', session);

const toSecond = (time: number): number => 1000 * Math.floor(time / 1000);

/** Compares in both directions: a clock may have been wrong. */
const isLongAgo = (usedAt: number, now: number): boolean => Math.abs(now - usedAt) >= USE_EVERY_MS;
