import { storeLimits } from '../limits.ts';
import { checkOptions } from '../options.ts';
import type { RequestRecord } from '../report/request-record.ts';
import { checkGc, checkItem, checkNote, checkNoteName, checkRecord, checkTenant, checkTurn } from './check-input.ts';
import type { PostgresPool } from './postgres/connection.ts';
import { Database } from './postgres/database.ts';
import { allNotes, findNote, writeNote } from './postgres/notes.ts';
import { type Place, placeOf } from './postgres/place.ts';
import { POSTGRES_RULES } from './postgres/postgres-rules.ts';
import { toRow } from './postgres/references.ts';
import { readRecords, recordRows, removeOfSession, writeRecords } from './postgres/request-records.ts';
import { deletionsOf, freedBy, prunable, remove, serverNow, sessionsOf, touch } from './postgres/retention.ts';
import { keepSecret } from './postgres/secret.ts';
import { statsOf } from './postgres/stats.ts';
import { allTexts, textsOf } from './postgres/texts.ts';
import { allTurns, findTurn, turnRows, turnsOf, writeTurns } from './postgres/turns.ts';
import { gc, verify } from './postgres/verify.ts';
import { writeBatch } from './postgres/write-batch.ts';
import { WriteQueue } from './postgres/write-queue.ts';
import { prune, USE_EVERY_MS, withRecords } from './prune.ts';
import { checkRange, checkRecords, NO_RECORDS } from './request-records.ts';
import { checkSearch, searchTexts } from './search-texts.ts';
import {
  checkSession,
  type DeleteOptions,
  type GcOptions,
  type GcReport,
  type Handle,
  type Match,
  type Problem,
  type PruneOptions,
  type PruneReport,
  type RecordRange,
  type Reference,
  type Removed,
  type SearchOptions,
  type SessionInfo,
  type SessionNote,
  type Store,
  type Stored,
  type StoreStats,
  type TurnRecord,
} from './store.ts';

export type { PostgresClient, PostgresPool, PostgresQuery } from './postgres/connection.ts';

/** Options of `createPostgresStore`. */
export interface PostgresStoreOptions {
  /** A `Pool` of the package `pg`. It is yours: `close` leaves it open. */
  readonly pool: PostgresPool;
  /** The owner of the texts. Tenants share the tables, and nothing else. @default 'default' */
  readonly tenant?: string;
  /** The schema of the tables. It is created at the first call if it does not exist. @default 'palimpsest' */
  readonly schema?: string;
  /**
   * How long a connection or an answer may take. Then the call fails with STORE_FAILED. `stats`, `verify`, `delete`, `gc` and
   * migrations look at many rows and are not limited. @default 30000
   */
  readonly timeoutMs?: number;
}

/**
 * A store for many processes and machines, in a PostgreSQL database (11 or later).
 *
 * @example
 * ```ts
 * import { createPostgresStore } from 'palimpsest/store/postgres';
 * import { Pool } from 'pg';
 *
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL });
 * const store = createPostgresStore({ pool, tenant: 'acme' });
 * ```
 */
export function createPostgresStore(options: PostgresStoreOptions): Store {
  checkOptions('createPostgresStore', options, POSTGRES_RULES, ['pool']);
  const { pool, tenant = 'default', schema = 'palimpsest', timeoutMs = 30_000 } = options;
  checkTenant(tenant);
  const timed = { connect: pool.connect.bind(pool), timeoutMs, preparing: { isOn: true } };
  return new PostgresStore(placeOf({ pool: timed, tenant, schema }));
}

class PostgresStore implements Store {
  readonly kind = 'postgres';
  readonly #database: Database;
  readonly #writes: WriteQueue;
  /** When sessions were touched last, by this process. */
  readonly #touched = new Map<string, number>();
  #deletions: { readonly askedAt: number; readonly count: Promise<number> } | undefined;

  constructor(place: Place) {
    this.#database = new Database(place);
    this.#writes = new WriteQueue((items) => writeBatch(place, items));
  }

  async put(body: string, about: Reference): Promise<Handle> {
    const [handle] = await this.putMany([{ text: body, about }]);
    return handle as Handle;
  }

  async putMany(items: Parameters<Store['putMany']>[0]): Promise<Handle[]> {
    for (const item of items) checkItem(item);
    // Converted at once, because the caller may change the list or its items before they are written.
    const own = items.map(({ text, about }) => ({ text, reference: toRow(about) }));
    await this.#database.ready();
    return own.length === 0 ? [] : this.#writes.put(own);
  }

  async get(handle: string): Promise<Stored | undefined> {
    const [stored] = await this.getMany([handle]);
    return stored;
  }

  getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    return textsOf(this.#database, handles);
  }

  async putTurn(record: TurnRecord): Promise<void> {
    await this.putTurns([record]);
  }

  async putTurns(records: readonly TurnRecord[]): Promise<void> {
    for (const record of records) checkRecord(record);
    const rows = turnRows(records);
    const place = await this.#database.ready();
    if (rows.length > 0) await writeTurns(place, rows);
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    checkSession(session);
    checkTurn(turn);
    return findTurn(this.#database, session, turn);
  }

  async *turns(session: string): AsyncGenerator<TurnRecord> {
    checkSession(session);
    yield* turnsOf(this.#database, session);
  }

  async putNote(note: SessionNote): Promise<void> {
    checkNote(note);
    const own = { ...note };
    await writeNote(await this.#database.ready(), own);
  }

  async note(session: string, name: string): Promise<string | undefined> {
    checkSession(session);
    checkNoteName(name);
    return findNote(this.#database, session, name);
  }

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    checkRecords(records);
    const rows = recordRows(records);
    const place = await this.#database.ready();
    if (rows.length > 0) await writeRecords(place, rows);
  }

  async *records(range: RecordRange = {}): AsyncGenerator<RequestRecord> {
    checkRange(range);
    for await (const record of readRecords(await this.#database.ready(), range)) {
      await this.#database.ready();
      yield record;
    }
  }

  async *list(session: string): AsyncGenerator<Stored> {
    checkSession(session);
    yield* allTexts(this.#database, { session });
  }

  async *search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    checkSearch(query, options);
    const { session, regex, ignoreCase } = options;
    if (session !== undefined) checkSession(session);
    // The server searches for a plain text first: texts without it are not sent.
    const isPlain = !regex && !ignoreCase && query !== '' && query.isWellFormed();
    const texts = allTexts(this.#database, {
      ...(session === undefined ? {} : { session }),
      ...(isPlain ? { holding: query } : {}),
    });
    yield* searchTexts(texts, query, options);
  }

  async *sessions(): AsyncGenerator<SessionInfo> {
    yield* sessionsOf(await this.#database.ready());
  }

  async touch(session: string): Promise<void> {
    checkSession(session);
    const place = await this.#database.ready();
    const now = performance.now();
    if (now - (this.#touched.get(session) ?? Number.NEGATIVE_INFINITY) < USE_EVERY_MS) return;
    await touch(place, session);
    if (this.#touched.size >= storeLimits.touchedSessions) this.#touched.clear();
    this.#touched.set(session, now);
  }

  /** Other processes delete too, so the number is read again after a second. */
  async deletions(): Promise<number> {
    const place = await this.#database.ready();
    const now = performance.now();
    if (!this.#deletions || now - this.#deletions.askedAt > DELETIONS_EVERY_MS)
      this.#deletions = { askedAt: now, count: deletionsOf(place) };
    const { count } = this.#deletions;
    return count.catch((error) => {
      this.#deletions = undefined;
      throw error;
    });
  }

  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    const place = await this.#database.ready();
    const now = options.now ?? (await serverNow(place));
    const report = await prune(prunable(place), { ...options, now }, () => now);
    this.#deletions = undefined;
    return report;
  }

  /**
   * The bytes of deleted rows leave the disk when PostgreSQL vacuums, which it does by itself. `purge` waits for a
   * VACUUM, which needs the rights of the tables' owner; the log (WAL), replicas and backups are up to the database.
   */
  async delete(session: string, options: DeleteOptions = {}): Promise<Removed> {
    const { purge = false, dryRun = false, keepRecords = false } = options;
    checkSession(session);
    const place = await this.#database.ready();
    const what = { session, usedAt: Number.POSITIVE_INFINITY };
    const records = keepRecords ? NO_RECORDS : await removeOfSession(place, session, { dryRun });
    if (dryRun) return withRecords(await freedBy(place, what, { sessions: new Set(), before: 0 }), records);
    const removed = withRecords(await remove(place, what), records);
    this.#deletions = undefined;
    if (purge) await this.#database.vacuum();
    return removed;
  }

  stats(): Promise<StoreStats> {
    return statsOf(this.#database);
  }

  verify(): Promise<Problem[]> {
    return verify(this.#database);
  }

  async gc(options: GcOptions = {}): Promise<GcReport> {
    checkGc(options);
    return gc(this.#database, options);
  }

  async secret(): Promise<string> {
    return keepSecret(await this.#database.ready());
  }

  async *export(): AsyncGenerator<object> {
    for await (const stored of allTexts(this.#database, {})) yield { type: 'text', ...stored };
    for await (const turn of allTurns(this.#database)) yield { type: 'turn', ...turn };
    for await (const note of allNotes(this.#database)) yield { type: 'note', ...note };
    for await (const record of this.records()) yield { type: 'record', ...record };
  }

  async close(): Promise<void> {
    this.#database.close();
    await this.#writes.idle();
  }
}

const DELETIONS_EVERY_MS = 1000;
