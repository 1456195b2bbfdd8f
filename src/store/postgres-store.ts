import { PalimpsestError } from '../errors.ts';
import { storeLimits } from '../limits.ts';
import { checkOptions } from '../options.ts';
import type { RequestRecord } from '../report/request-record.ts';
import {
  checkGc,
  checkItem,
  checkNote,
  checkNoteName,
  checkRecord,
  checkTenant,
  checkTurn,
  closedError,
} from './check-input.ts';
import { handleOfDigest } from './handle.ts';
import {
  ask,
  askBinary,
  type BinaryRow,
  inTransaction,
  type PostgresPool,
  patient,
  type Query,
  type Row,
  withConnection,
} from './postgres/connection.ts';
import { type FoundText, type FoundTexts, fromBinaryRows, fromHexRows, toFoundText } from './postgres/found-texts.ts';
import { migrate } from './postgres/migrate.ts';
import { damagedNote, NOTE_COLUMNS, noteDamage, toNote, writeNote } from './postgres/notes.ts';
import { ownLock, type Place, placeOf } from './postgres/place.ts';
import { POSTGRES_RULES } from './postgres/postgres-rules.ts';
import { toRow } from './postgres/references.ts';
import { readRecords, recordRows, removeOfSession, writeRecords } from './postgres/request-records.ts';
import {
  countDeletion,
  deletionsOf,
  freedBy,
  msOf,
  prunable,
  remove,
  serverNow,
  sessionsOf,
  touch,
  usedBytes,
} from './postgres/retention.ts';
import { keepSecret } from './postgres/secret.ts';
import { ROWS_AT_ONCE } from './postgres/statements.ts';
import { writeBatch } from './postgres/write-batch.ts';
import { WriteQueue } from './postgres/write-queue.ts';
import { turnRows, writeTurns } from './postgres/write-turns.ts';
import { prune, USE_EVERY_MS, withRecords } from './prune.ts';
import { checkRange, checkRecords, NO_RECORDS } from './request-records.ts';
import { checkSearch, searchTexts } from './search-texts.ts';
import {
  checkSession,
  type DeleteOptions,
  type GcOptions,
  type GcReport,
  type Handle,
  isHandle,
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
  readonly #place: Place;
  readonly #writes: WriteQueue;
  #migrated: Promise<void> | undefined;
  /** When sessions were touched last, by this process. */
  readonly #touched = new Map<string, number>();
  #deletions: { readonly askedAt: number; readonly count: Promise<number> } | undefined;
  #isClosed = false;

  constructor(place: Place) {
    this.#place = place;
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
    await this.#ready();
    return own.length === 0 ? [] : this.#writes.put(own);
  }

  async get(handle: string): Promise<Stored | undefined> {
    const [stored] = await this.getMany([handle]);
    return stored;
  }

  async getMany(handles: readonly string[]): Promise<(Stored | undefined)[]> {
    await this.#ready();
    const found = new Map<string, Stored>();
    const asked = [...new Set(handles)].filter(isHandle);
    for (let first = 0; first < asked.length; first += PAGE) {
      const { sound, damaged } = await this.#read(asked.slice(first, first + PAGE));
      if (damaged.length > 0) throw damagedError(damaged);
      for (const stored of sound) found.set(stored.handle, stored);
    }
    return handles.map((handle) => found.get(handle));
  }

  async putTurn(record: TurnRecord): Promise<void> {
    await this.putTurns([record]);
  }

  async putTurns(records: readonly TurnRecord[]): Promise<void> {
    for (const record of records) checkRecord(record);
    const rows = turnRows(records);
    await this.#ready();
    if (rows.length > 0) await writeTurns(this.#place, rows);
  }

  async turn(session: string, turn: number): Promise<TurnRecord | undefined> {
    checkSession(session);
    checkTurn(turn);
    const [row] = await this.#ask('turn', session, turn);
    return row && toTurn(row);
  }

  async *turns(session: string): AsyncGenerator<TurnRecord> {
    checkSession(session);
    for (let last = -1; ; ) {
      const rows = await this.#ask('turns', session, last);
      for (const record of rows.map(toTurn)) {
        yield record;
        last = record.turn;
      }
      if (rows.length < ROWS_AT_ONCE) return;
    }
  }

  async putNote(note: SessionNote): Promise<void> {
    checkNote(note);
    const own = { ...note };
    await this.#ready();
    await writeNote(this.#place, own);
  }

  async note(session: string, name: string): Promise<string | undefined> {
    checkSession(session);
    checkNoteName(name);
    const [row] = await this.#ask('note', session, name);
    if (!row) return undefined;
    const found = toNote(row);
    if (!found) throw damagedNote(row);
    return found.text;
  }

  async putRecords(records: readonly RequestRecord[]): Promise<void> {
    checkRecords(records);
    const rows = recordRows(records);
    await this.#ready();
    if (rows.length > 0) await writeRecords(this.#place, rows);
  }

  async *records(range: RecordRange = {}): AsyncGenerator<RequestRecord> {
    checkRange(range);
    await this.#ready();
    for await (const record of readRecords(this.#place, range)) {
      await this.#ready();
      yield record;
    }
  }

  async *list(session: string): AsyncGenerator<Stored> {
    checkSession(session);
    yield* this.#texts({ session });
  }

  async *search(query: string, options: SearchOptions = {}): AsyncGenerator<Match> {
    checkSearch(query, options);
    const { session, regex, ignoreCase } = options;
    if (session !== undefined) checkSession(session);
    // The server searches for a plain text first: texts without it are not sent.
    const isPlain = !regex && !ignoreCase && query !== '' && query.isWellFormed();
    const texts = this.#texts({
      ...(session === undefined ? {} : { session }),
      ...(isPlain ? { holding: query } : {}),
    });
    yield* searchTexts(texts, query, options);
  }

  async *sessions(): AsyncGenerator<SessionInfo> {
    await this.#ready();
    yield* sessionsOf(this.#place);
  }

  async touch(session: string): Promise<void> {
    checkSession(session);
    await this.#ready();
    const now = performance.now();
    if (now - (this.#touched.get(session) ?? Number.NEGATIVE_INFINITY) < USE_EVERY_MS) return;
    await touch(this.#place, session);
    if (this.#touched.size >= storeLimits.touchedSessions) this.#touched.clear();
    this.#touched.set(session, now);
  }

  /** Other processes delete too, so the number is read again after a second. */
  async deletions(): Promise<number> {
    await this.#ready();
    const now = performance.now();
    if (!this.#deletions || now - this.#deletions.askedAt > DELETIONS_EVERY_MS)
      this.#deletions = { askedAt: now, count: deletionsOf(this.#place) };
    const { count } = this.#deletions;
    return count.catch((error) => {
      this.#deletions = undefined;
      throw error;
    });
  }

  async prune(options: PruneOptions = {}): Promise<PruneReport> {
    await this.#ready();
    const now = options.now ?? (await serverNow(this.#place));
    const report = await prune(prunable(this.#place), { ...options, now }, () => now);
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
    await this.#ready();
    const what = { session, usedAt: Number.POSITIVE_INFINITY };
    const records = keepRecords ? NO_RECORDS : await removeOfSession(this.#place, session, { dryRun });
    if (dryRun) return withRecords(await freedBy(this.#place, what, { sessions: new Set(), before: 0 }), records);
    const removed = withRecords(await remove(this.#place, what), records);
    this.#deletions = undefined;
    if (purge) await this.#vacuum();
    return removed;
  }

  async stats(): Promise<StoreStats> {
    const { schema } = this.#place;
    const [row] = await this.#scan(
      `SELECT count(*) AS texts, coalesce(sum(bytes), 0) AS text_bytes, coalesce(sum(pg_column_size(body)), 0) AS disk_bytes,
         ${usedBytes(schema)} AS used_bytes, ${msOf('min(at)')} AS oldest_at, ${msOf('max(at)')} AS newest_at,
         coalesce(sum(pg_column_size(body)) FILTER (WHERE at > now() - interval '7 days'), 0) AS week_bytes,
         (SELECT count(*) FROM "${schema}".turns WHERE tenant = $1) AS turns,
         (SELECT count(*) FROM "${schema}".notes WHERE tenant = $1) AS notes,
         (SELECT count(*) FROM "${schema}".records WHERE tenant = $1) AS records,
         (SELECT count(*) FROM (SELECT session FROM "${schema}".refs WHERE tenant = $1 AND session <> ''
           UNION SELECT session FROM "${schema}".turns WHERE tenant = $1
           UNION SELECT session FROM "${schema}".notes WHERE tenant = $1) AS every) AS sessions
       FROM "${schema}".texts WHERE tenant = $1`,
    );
    return {
      kind: this.kind,
      texts: Number(row?.texts),
      turns: Number(row?.turns),
      notes: Number(row?.notes),
      records: Number(row?.records),
      sessions: Number(row?.sessions),
      textBytes: Number(row?.text_bytes),
      diskBytes: Number(row?.disk_bytes),
      usedBytes: Number(row?.used_bytes),
      ...(row?.oldest_at ? { oldestAt: Number(row.oldest_at), newestAt: Number(row.newest_at) } : {}),
      weekBytes: Number(row?.week_bytes),
    };
  }

  /** The server computes the hashes again: no text is sent for it. */
  async verify(): Promise<Problem[]> {
    const { schema } = this.#place;
    const problems: Problem[] = [];
    for await (const page of this.#pages()) {
      const rows = await this.#query(
        `SELECT handle, encode(digest, 'hex') AS digest, encode(sha256(body), 'hex') AS found
         FROM "${schema}".texts WHERE tenant = $1 AND handle = ANY ($2::text[]) ORDER BY seq`,
        page.map(({ handle }) => handle),
      );
      for (const { handle, digest, found } of rows)
        if (
          handle &&
          (digest !== found || handleOfDigest(Buffer.from(found ?? '', 'hex').toString('latin1')) !== handle)
        )
          problems.push(damage(handle));
    }
    const lost = await this.#scan(
      `SELECT DISTINCT handle FROM "${schema}".refs WHERE tenant = $1
         AND NOT EXISTS (SELECT FROM "${schema}".texts WHERE texts.tenant = $1 AND texts.handle = refs.handle)`,
    );
    const notes = await this.#scan(
      `SELECT session, name FROM "${schema}".notes WHERE tenant = $1 AND digest <> sha256(body)`,
    );
    return [...problems, ...lost.map(({ handle }) => loss(handle ?? '')), ...notes.map(noteDamage)];
  }

  async gc(options: GcOptions = {}): Promise<GcReport> {
    checkGc(options);
    const { repair = false, force = false } = options;
    const problems = repair ? await this.verify() : [];
    await this.#ready();
    const { pool, schema, tenant } = this.#place;
    const removed = await inTransaction(patient(pool), ownLock(this.#place), async (query) => {
      if (repair) await this.#giveUp(query, problems);
      const { rows } = await query(
        `WITH gone AS (DELETE FROM "${schema}".texts WHERE tenant = $1
           AND NOT EXISTS (SELECT FROM "${schema}".refs WHERE refs.tenant = $1 AND refs.handle = texts.handle)
           RETURNING bytes)
         SELECT count(*) AS texts, coalesce(sum(bytes), 0) AS bytes FROM gone`,
        tenant,
      );
      return rows[0];
    });
    if (force) await this.#vacuum();
    return {
      freedBytes: Number(removed?.bytes),
      removedTexts: Number(removed?.texts),
      repaired: problems.length,
    };
  }

  /** Without references a damaged text is removed like any other. */
  async #giveUp(query: Query, problems: readonly Problem[]): Promise<void> {
    const { schema, tenant } = this.#place;
    const handles = problems.flatMap(({ handle }) => handle ?? []);
    await query(`DELETE FROM "${schema}".refs WHERE tenant = $1 AND handle = ANY ($2::text[])`, tenant, handles);
    await query(`DELETE FROM "${schema}".notes WHERE tenant = $1 AND digest <> sha256(body)`, tenant);
    if (problems.length > 0) await countDeletion(query, this.#place);
  }

  async secret(): Promise<string> {
    await this.#ready();
    return keepSecret(this.#place);
  }

  async *export(): AsyncGenerator<object> {
    for await (const stored of this.#texts({})) yield { type: 'text', ...stored };
    yield* this.#allTurns();
    yield* this.#allNotes();
    for await (const record of this.records()) yield { type: 'record', ...record };
  }

  async *#allTurns(): AsyncGenerator<object> {
    for (let [session, turn] = ['', -1]; ; ) {
      const rows = await this.#query(
        `SELECT encode(body, 'hex') AS body FROM "${this.#place.schema}".turns
         WHERE tenant = $1 AND (session, turn) > ($2, $3) ORDER BY session, turn LIMIT ${ROWS_AT_ONCE}`,
        session,
        turn,
      );
      for (const record of rows.map(toTurn)) {
        yield { type: 'turn', ...record };
        [session, turn] = [record.session, record.turn];
      }
      if (rows.length < ROWS_AT_ONCE) return;
    }
  }

  /** Damaged notes are reported after all others were returned. */
  async *#allNotes(): AsyncGenerator<object> {
    let damaged: Row | undefined;
    for (let [session, name] = ['', '']; ; ) {
      const rows = await this.#query(
        `SELECT ${NOTE_COLUMNS} FROM "${this.#place.schema}".notes
         WHERE tenant = $1 AND (session, name) > ($2, $3) ORDER BY session, name LIMIT ${ROWS_AT_ONCE}`,
        session,
        name,
      );
      for (const row of rows) {
        const found = toNote(row);
        if (found) yield { type: 'note', ...found };
        else damaged ??= row;
        [session, name] = [row.session ?? '', row.name ?? ''];
      }
      if (rows.length < ROWS_AT_ONCE) break;
    }
    if (damaged) throw damagedNote(damaged);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#writes.idle();
  }

  /** Reads few at a time, and holds no connection in between. Damaged texts are reported after all others were returned. */
  async *#texts({ session, holding }: { session?: string; holding?: string }): AsyncGenerator<Stored> {
    const allDamaged: Handle[] = [];
    for await (const page of this.#pages(session)) {
      for (const batch of batchesOf(page)) {
        const { sound, damaged } = await this.#read(batch, holding);
        allDamaged.push(...damaged);
        yield* sound;
      }
    }
    if (allDamaged.length > 0) throw damagedError(allDamaged);
  }

  /** The handles and sizes of a session's texts, or of all, oldest first. */
  async *#pages(session?: string): AsyncGenerator<Sized[]> {
    const { schema } = this.#place;
    for (let last = -1; ; ) {
      const rows = await (session === undefined
        ? this.#query(
            `SELECT handle, bytes, seq FROM "${schema}".texts WHERE tenant = $1 AND seq > $2 ORDER BY seq LIMIT ${PAGE}`,
            last,
          )
        : this.#query(
            `SELECT handle, bytes, first AS seq
             FROM (SELECT handle, min(seq) AS first FROM "${schema}".refs WHERE tenant = $1 AND session = $3
               GROUP BY handle) AS mine
             JOIN "${schema}".texts USING (handle)
             WHERE tenant = $1 AND first > $2 ORDER BY first LIMIT ${PAGE}`,
            last,
            session,
          ));
      yield rows.map(({ handle, bytes }) => ({ handle: handle ?? '', bytes: Number(bytes) }));
      if (rows.length < PAGE) return;
      last = Number(rows.at(-1)?.seq);
    }
  }

  /** In the order of the handles. Handles without a text are left out; UTF-16 is returned unsearched. */
  async #read(handles: readonly Handle[], holding?: string): Promise<FoundTexts> {
    if (holding !== undefined)
      return fromHexRows(handles, await this.#ask('getManyHolding', handles, Buffer.from(holding)));
    const first = fromBinaryRows(handles, await this.#fetch(handles));
    if (first.damaged.length === 0) return first;
    const again = await this.#ask('getManyAsHex', first.damaged);
    const { sound, damaged } = fromHexRows(first.damaged, again);
    if (sound.length === 0) return { sound: first.sound, damaged };
    const all = new Map([...first.sound, ...sound].map((stored) => [stored.handle, stored]));
    return { sound: handles.flatMap((handle) => all.get(handle) ?? []), damaged };
  }

  async #fetch(handles: readonly Handle[]): Promise<readonly BinaryRow<FoundText>[]> {
    await this.#ready();
    const { pool, tenant, statements } = this.#place;
    return handles.length === 1
      ? askBinary(pool, statements.getOne, toFoundText, tenant, handles[0])
      : askBinary(pool, statements.getMany, toFoundText, tenant, handles);
  }

  /** A prepared statement; the tenant is its first value. */
  async #ask(statement: keyof Place['statements'], ...values: unknown[]): Promise<readonly Row[]> {
    await this.#ready();
    const { pool, tenant, statements } = this.#place;
    return ask(pool, statements[statement], tenant, ...values);
  }

  /** One statement outside a transaction; the tenant is its first value. */
  async #query(statement: string, ...values: unknown[]): Promise<readonly Row[]> {
    await this.#ready();
    const { pool, tenant } = this.#place;
    return withConnection(pool, async (query) => (await query(statement, tenant, ...values)).rows);
  }

  /** Like `#query`, for a statement that reads every row. */
  async #scan(statement: string): Promise<readonly Row[]> {
    await this.#ready();
    const { pool, tenant } = this.#place;
    return withConnection(patient(pool), async (query) => (await query(statement, tenant)).rows);
  }

  async #vacuum(): Promise<void> {
    const { pool, schema } = this.#place;
    const tables = ['texts', 'refs', 'turns', 'notes', 'uses', 'records'].map((table) => `"${schema}".${table}`);
    await withConnection(patient(pool), (query) => query(`VACUUM ${tables.join(', ')}`));
  }

  async #ready(): Promise<void> {
    if (this.#isClosed) throw closedError();
    this.#migrated ??= migrate(this.#place.pool, this.#place.schema).catch((error) => {
      // The next call tries again: the server may have been starting.
      this.#migrated = undefined;
      throw error;
    });
    await this.#migrated;
  }
}

/** The number of handles per query, and of texts, which may be large. */
const PAGE = 1000;
const BATCH = 256;
const BATCH_BYTES = 4_000_000;
const DELETIONS_EVERY_MS = 1000;

interface Sized {
  readonly handle: Handle;
  readonly bytes: number;
}

function* batchesOf(page: readonly Sized[]): Generator<Handle[]> {
  let batch: Handle[] = [];
  let size = 0;
  for (const { handle, bytes } of page) {
    if (batch.length > 0 && (batch.length === BATCH || size + bytes > BATCH_BYTES)) {
      yield batch;
      batch = [];
      size = 0;
    }
    batch.push(handle);
    size += bytes;
  }
  if (batch.length > 0) yield batch;
}

const toTurn = ({ body }: Row): TurnRecord => JSON.parse(Buffer.from(body ?? '', 'hex').toString('utf8'));

const damage = (handle: Handle): Problem => ({
  what: `the text ${handle} is not what was stored: its hash differs`,
  remedy: 'restore the row from a backup, or give it up with gc --repair',
  handle,
});

const loss = (handle: Handle): Problem => ({
  what: `the text ${handle} is referred to and is not there`,
  remedy: 'restore the row from a backup, or remove the references with gc --repair',
  handle,
});

function damagedError(handles: readonly Handle[]): PalimpsestError {
  const shown = handles.slice(0, 3).join(', ') + (handles.length > 3 ? ` and ${handles.length - 3} more` : '');
  const remedy = 'see verify; all others can be had';
  return new PalimpsestError(
    'STORE_DAMAGED',
    `Expected texts with the hash of their handle but found ${shown} changed; ${remedy}`,
  );
}
