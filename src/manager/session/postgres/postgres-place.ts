import { PalimpsestError } from '../../../errors.ts';
import { badOption, checkOptions, text } from '../../../options.ts';
import { checkTenant } from '../../../store/check-input.ts';
import { holder, isKnownGone } from '../../../store/embedded/lock.ts';
import {
  ask,
  inTransaction,
  type PostgresPool,
  prepared,
  type Row,
  write,
} from '../../../store/postgres/connection.ts';
import { createPool, type OwnPool } from '../../../store/postgres/create-pool.ts';
import { migrate } from '../../../store/postgres/migrate.ts';
import { isPool, POSTGRES_RULES, wholeMs } from '../../../store/postgres/postgres-rules.ts';
import { checkSession } from '../../../store/store.ts';
import { selectEvents } from '../log/select-events.ts';
import type { SessionStatus } from '../session-event.ts';
import type { SessionInfo } from '../session-info.ts';
import type { ReadEventsOptions, SessionPlace, SessionStorage } from '../session-storage.ts';
import { PostgresStorage } from './postgres-storage.ts';
import { rowsAfter } from './read-rows.ts';
import type { OpenedRow } from './recover-rows.ts';
import type { SessionDatabase, SessionDatabaseOptions } from './session-database.ts';
import { lockedError, readWriter, type SessionRows } from './session-rows.ts';
import { NAMES, SESSION_TABLES } from './session-tables.ts';
import { answerOf } from './until-answered.ts';

/** Sessions in a PostgreSQL database. */
export function postgresPlace(database: SessionDatabase): SessionPlace {
  const options = optionsOf(database);
  checkOptions('session database', options, { ...POSTGRES_RULES, url: text, leaseMs: wholeMs });
  const { url, pool: given, tenant = 'default', schema = 'palimpsest', timeoutMs = 30_000, leaseMs = 30_000 } = options;
  checkTenant(tenant);
  if (given && url !== undefined)
    throw new PalimpsestError('BAD_OPTION', 'Expected option database to have a url or a pool but found both');
  const own = given ? undefined : ownPool(url);
  const pool = given ?? (own as PostgresPool);
  const timed = { connect: pool.connect.bind(pool), timeoutMs };
  return new PostgresPlace({ pool: timed, schema, tenant, timeoutMs, leaseMs }, own);
}

function optionsOf(database: SessionDatabase): SessionDatabaseOptions {
  if (typeof database === 'string') return { url: database };
  return isPool(database) ? { pool: database } : database;
}

function ownPool(url: string | undefined): OwnPool {
  const expected = 'an address such as postgres://me@host/database, or a Pool of the package pg';
  if (url === undefined) throw badOption('option database', expected, {});
  // The message leaves out the address, which may contain a password.
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new PalimpsestError('BAD_OPTION', `Expected option database to be ${expected} but found another text`);
  return createPool(url, 'sessions', { max: 3 });
}

class PostgresPlace implements SessionPlace {
  readonly names = NAMES;
  readonly #rows: SessionRows;
  readonly #own: OwnPool | undefined;

  constructor(rows: SessionRows, own: OwnPool | undefined) {
    this.#rows = rows;
    this.#own = own;
  }

  async open<M>(id: string, onProblem: (problem: Error) => void): Promise<SessionStorage<M>> {
    checkSession(id);
    await this.#migrated();
    return new PostgresStorage<M>(this.#rows, await this.#take(id), onProblem);
  }

  async list(): Promise<SessionInfo[]> {
    await this.#migrated();
    const { pool, schema, tenant } = this.#rows;
    const statement = prepared(
      `SELECT id, format, status, number, last_seq, last_time FROM "${schema}".sessions
       WHERE tenant = $1 AND last_seq > 0 ORDER BY id`,
    );
    return (await this.#answerOf(() => ask(pool, statement, tenant))).map(toInfo);
  }

  async *read<M>(id: string, options: ReadEventsOptions) {
    checkSession(id);
    await this.#migrated();
    yield* selectEvents(rowsAfter<M>(this.#rows, id, 0), options);
  }

  async lastWritten(id: string, now: number): Promise<number> {
    const { pool, schema, tenant } = this.#rows;
    const statement = prepared(
      `UPDATE "${schema}".sessions SET written_at = least(written_at, to_timestamp($3::double precision / 1000))
       WHERE tenant = $1 AND id = $2 RETURNING (extract(epoch FROM written_at) * 1000)::bigint AS at`,
    );
    const [row] = await this.#answerOf(() => write(pool, statement, tenant, id, now));
    return Number(row?.at ?? now);
  }

  async delete(id: string, { events }: { readonly events?: number } = {}): Promise<boolean> {
    checkSession(id);
    await this.#migrated();
    const { pool, schema, tenant } = this.#rows;
    // An earlier attempt may have deleted the session although its answer was lost.
    let wasThere = false;
    return this.#answerOf(async () => {
      const row = await this.#find(id);
      if (!row) return wasThere;
      if (events !== undefined && Number(row.last_seq) > events) return false;
      this.#checkFree(id, row);
      wasThere = true;
      const isDeleted = await inTransaction(pool, 'SELECT 1', async (query) => {
        // The writer may have been heard of since: the statement looks again, at the row as it is.
        const { rows } = await query(
          `DELETE FROM "${schema}".sessions WHERE tenant = $1 AND id = $2 AND writer = $3
             AND (holder IS NULL OR holder = $4 OR leased_until < clock_timestamp())
             AND ($5::bigint IS NULL OR last_seq <= $5) RETURNING 1 AS one`,
          tenant,
          id,
          row.writer,
          isGone(row.holder) ? row.holder : '',
          events ?? null,
        );
        // A separate statement, so that it sees every event that the previous writer appended.
        if (rows.length > 0)
          await query(`DELETE FROM "${schema}".session_events WHERE tenant = $1 AND session = $2`, tenant, id);
        return rows.length > 0;
      });
      // The next attempt sees why: the session is in use, has more events, or is gone.
      if (!isDeleted) throw repeated();
      return true;
    });
  }

  async close(): Promise<void> {
    await this.#own?.end();
  }

  /** Makes this process the only writer. The row records this attempt's name, so that it can be repeated safely. */
  async #take(id: string): Promise<OpenedRow> {
    const { pool, schema, tenant, leaseMs } = this.#rows;
    const statement = prepared(
      `INSERT INTO "${schema}".sessions AS known (tenant, id, writer, holder, leased_until)
       VALUES ($1, $2, nextval('"${schema}".session_writers'), $3, clock_timestamp() + $4 * interval '1 millisecond')
       ON CONFLICT (tenant, id) DO UPDATE SET writer = excluded.writer, holder = excluded.holder,
         leased_until = excluded.leased_until
       WHERE known.writer = $5 AND (known.holder IS NULL OR known.holder = $6 OR known.leased_until < clock_timestamp())
       RETURNING id, writer, last_seq, last_time, checkpoint_seq, log_bytes, format, status, number,
         encode(snapshot, 'hex') AS snapshot`,
    );
    const own = JSON.stringify(holder(process.pid));
    return this.#answerOf(async () => {
      const found = await this.#find(id);
      if (found && found.holder !== own) this.#checkFree(id, found);
      // A lease that was over may have been renewed since. Only a process that is gone renews none.
      const takes = found?.holder === own || isGone(found?.holder) ? found?.holder : undefined;
      const [row] = await write(pool, statement, tenant, id, own, leaseMs, found?.writer ?? -1, takes ?? '');
      if (row) return toOpened(row);
      // Another writer came first. If it was our own attempt on a cut connection, the next attempt finds its own name.
      const now = await this.#find(id);
      if (now?.holder !== own) throw lockedError(id, readWriter(now?.holder), leaseMs);
      throw repeated();
    });
  }

  async #find(id: string): Promise<Row | undefined> {
    const { pool, schema, tenant } = this.#rows;
    const statement = prepared(
      `SELECT writer, holder, last_seq, leased_until < clock_timestamp() AS is_over,
         (extract(epoch FROM greatest(leased_until, clock_timestamp()) - clock_timestamp()) * 1000)::bigint AS free_in
       FROM "${schema}".sessions WHERE tenant = $1 AND id = $2`,
    );
    return (await ask(pool, statement, tenant, id))[0];
  }

  /** Throws if a process has the session open: its lease is valid, and it is not known to be gone. */
  #checkFree(id: string, { holder: found, is_over, free_in }: Row): void {
    if (found === null || is_over === 't' || isGone(found)) return;
    throw lockedError(id, readWriter(found), Number(free_in));
  }

  #migrated(): Promise<void> {
    const { pool, schema } = this.#rows;
    return this.#answerOf(() => migrate(pool, schema, SESSION_TABLES));
  }

  #answerOf<T>(attempt: () => Promise<T>): Promise<T> {
    return answerOf(attempt, { timeoutMs: this.#rows.timeoutMs, waitsForServer: false });
  }
}

/** Whether a process of this machine had it open, and has ended. */
const isGone = (holder: string | null | undefined): boolean => isKnownGone(readWriter(holder));

/** Looks like a serialization failure, so the statement is sent again. */
const repeated = (): Error => Object.assign(new Error('another process was faster'), { code: '40001' });

function toInfo({ id, format, status, number, last_seq, last_time }: Row): SessionInfo {
  return {
    id: String(id),
    format: String(format),
    status: status as SessionStatus,
    number: Number(number),
    events: Number(last_seq),
    lastActive: String(last_time),
  };
}

function toOpened(row: Row): OpenedRow {
  return {
    info: toInfo(row),
    writer: String(row.writer),
    checkpointSeq: Number(row.checkpoint_seq),
    logBytes: Number(row.log_bytes),
    snapshot: row.snapshot ? Buffer.from(row.snapshot, 'hex').toString('utf8') : undefined,
  };
}
