import { type Gone, NOTHING_REMOVED, type Prunable, type Removable, withRecords } from '../prune.ts';
import type { Removed, SessionInfo } from '../store.ts';
import { ask, inTransaction, patient, type Query, type Row, withConnection, write } from './connection.ts';
import { ownLock, type Place } from './place.ts';
import { removableRecords, removeDay } from './request-records.ts';

/** Rows that one transaction deletes. A put waits for one transaction at most. */
const BATCH_ROWS = 1000;

/** A time in ms since 1970. */
export const msOf = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)`;

/** The sessions of a tenant with the time of each of their rows. */
const everyRow = (schema: string): string =>
  ['refs', 'turns', 'notes']
    .map((table) => `SELECT session, at FROM "${schema}".${table} WHERE tenant = $1 AND session <> ''`)
    .join(' UNION ALL ');

/** When each session was used. */
const timesOf = (schema: string): string =>
  `SELECT own.session, first_at, greatest(last_at, uses.at) AS last_at
   FROM (SELECT session, min(at) AS first_at, max(at) AS last_at FROM (${everyRow(schema)}) AS every GROUP BY session) AS own
   LEFT JOIN "${schema}".uses ON uses.tenant = $1 AND uses.session = own.session`;

/** The sessions, the least recently used first. */
export async function* sessionsOf(place: Place): AsyncGenerator<SessionInfo> {
  const { pool, schema, tenant } = place;
  const { rows } = await withConnection(patient(pool), (query) =>
    query(
      `SELECT session, ${msOf('first_at')} AS first_at, ${msOf('last_at')} AS last_at,
         (SELECT count(*) FROM "${schema}".turns WHERE turns.tenant = $1 AND turns.session = times.session) AS turns,
         held.texts, held.bytes
       FROM (${timesOf(schema)}) AS times, LATERAL (
         SELECT count(*) AS texts, coalesce(sum(bytes), 0) AS bytes FROM "${schema}".texts
         WHERE texts.tenant = $1 AND handle IN
           (SELECT handle FROM "${schema}".refs WHERE refs.tenant = $1 AND refs.session = times.session)) AS held
       ORDER BY last_at, session`,
      tenant,
    ),
  );
  for (const row of rows)
    yield {
      session: row.session ?? '',
      firstAt: Number(row.first_at),
      lastAt: Number(row.last_at),
      texts: Number(row.texts),
      textBytes: Number(row.bytes),
      turns: Number(row.turns),
    };
}

/** Records that a session is in use, if it exists and that was not recorded in the last hour. */
export async function touch({ pool, statements, tenant }: Place, session: string): Promise<void> {
  await write(pool, statements.touch, tenant, session);
}

/** The number of deletions. */
export async function deletionsOf({ pool, statements, tenant }: Place): Promise<number> {
  const [row] = await ask(pool, statements.deletions, tenant);
  return Number(row?.count ?? 0);
}

export async function countDeletion(query: Query, { schema, tenant }: Place): Promise<void> {
  await query(
    `INSERT INTO "${schema}".deletions (tenant, count) VALUES ($1, 1)
     ON CONFLICT (tenant) DO UPDATE SET count = deletions.count + 1`,
    tenant,
  );
}

/** The clock of the server: times are its own. */
export async function serverNow({ pool }: Place): Promise<number> {
  const { rows } = await withConnection(pool, (query) => query(`SELECT ${msOf('now()')} AS now`));
  return Number(rows[0]?.now);
}

export const prunable = (place: Place): Prunable => ({
  removables: async (now) => [...(await removablesOf(place)), ...(await removableRecords(place, now))],
  usedBytes: () => usedBytesOf(place),
  remove: async (what, { dryRun, gone }) => {
    const { day } = what;
    if (day !== undefined) return withRecords(NOTHING_REMOVED, await removeDay(place, day, { dryRun }));
    return dryRun ? freedBy(place, what, gone) : remove(place, what);
  },
});

async function removablesOf({ pool, schema, tenant }: Place): Promise<Removable[]> {
  return withConnection(patient(pool), async (query) => {
    const sessions = await query(
      `SELECT session, ${msOf('last_at')} AS used_at FROM (${timesOf(schema)}) AS times ORDER BY first_at, session`,
      tenant,
    );
    const loose = await query(
      `SELECT max(seq) AS last, ${msOf('max(at)')} AS used_at
       FROM (SELECT seq, at, ntile(100) OVER (ORDER BY seq) AS slice FROM "${schema}".refs
         WHERE tenant = $1 AND session = '') AS sliced
       GROUP BY slice ORDER BY slice`,
      tenant,
    );
    return [
      ...sessions.rows.map(({ session, used_at }) => ({ session: session ?? '', usedAt: Number(used_at) })),
      ...loose.rows.map(({ last, used_at }) => ({ before: Number(last) + 1, usedAt: Number(used_at) })),
    ];
  });
}

const SIZED = ['texts', 'turns', 'notes', 'records'];

/** The bytes on disk, as compressed by the server. */
export const usedBytes = (schema: string): string => SIZED.map((table) => bytesIn(schema, table, 1)).join(' + ');

const bytesIn = (schema: string, table: string, share: number): string => {
  const sample = share < 1 ? ` TABLESAMPLE SYSTEM (${100 * share})` : '';
  return `(SELECT coalesce(sum(pg_column_size(body)), 0) / ${share} FROM "${schema}".${table}${sample} WHERE tenant = $1)`;
};

/** For a table with more rows, this many are sampled, in random pages. */
const SAMPLED_ROWS = 1_000_000;

async function usedBytesOf({ pool, schema, tenant }: Place): Promise<number> {
  return withConnection(patient(pool), async (query) => {
    const sizes = await query(
      `SELECT relname AS table, reltuples AS rows FROM pg_class WHERE relnamespace = $1::regnamespace`,
      `"${schema}"`,
    );
    const rowsOf = new Map(sizes.rows.map(({ table, rows }) => [table, Number(rows)]));
    const parts = SIZED.map((table) =>
      bytesIn(schema, table, Math.min(1, SAMPLED_ROWS / Math.max(1, rowsOf.get(table) ?? 1))),
    );
    const { rows } = await query(`SELECT ${parts.join(' + ')} AS bytes`, tenant);
    return Math.round(Number(rows[0]?.bytes));
  });
}

/** The bytes and texts that the removal would free if everything in `gone` were removed. */
export async function freedBy(place: Place, { session = '', before = 0 }: Removable, gone: Gone): Promise<Removed> {
  const { pool, schema, tenant } = place;
  const isMeant = `(session = $2 AND (session <> '' OR seq < $3))`;
  const isGone = `(CASE WHEN session = '' THEN seq < $5 ELSE session = ANY ($4::text[]) END)`;
  const refsOf = `SELECT FROM "${schema}".refs WHERE refs.tenant = $1 AND refs.handle = texts.handle`;
  const rowsIn = (table: string): string =>
    `SELECT pg_column_size(body) AS size FROM "${schema}".${table} WHERE tenant = $1 AND session = $2 AND $2 <> ''`;
  const { rows } = await withConnection(patient(pool), (query) =>
    query(
      `SELECT count(*) AS texts, coalesce(sum(pg_column_size(body)), 0)
           + (SELECT coalesce(sum(size), 0) FROM (${rowsIn('turns')} UNION ALL ${rowsIn('notes')}) AS others) AS bytes,
         (SELECT count(*) FROM (${rowsIn('turns')}) AS own) AS turns,
         EXISTS (SELECT FROM (${everyRow(schema)}) AS every WHERE session = $2) AS found
       FROM "${schema}".texts
       WHERE tenant = $1 AND EXISTS (${refsOf} AND ${isMeant}) AND NOT EXISTS (${refsOf} AND NOT ${isMeant} AND NOT ${isGone})`,
      tenant,
      session,
      before,
      [...gone.sessions],
      gone.before,
    ),
  );
  return { ...toRemoved(rows[0]), sessions: rows[0]?.found === 't' ? 1 : 0 };
}

/** Removes in short transactions. If one fails, the rest stays, and the call may be repeated. */
export async function remove(place: Place, { session = '', before = 0, usedAt }: Removable): Promise<Removed> {
  const { schema } = place;
  const steps = [
    (query: Query) => removeTexts(query, place, { session, before }),
    ...(session === ''
      ? []
      : ['turns', 'notes'].map((table) => (query: Query) => removeRows(query, place, session, table))),
  ];
  const total = { ...NOTHING_REMOVED, rows: 0 };
  for (const step of steps)
    for (let rows = BATCH_ROWS; rows >= BATCH_ROWS; ) {
      const removed = await inTransaction(patient(place.pool), ownLock(place), async (query) => {
        if (total.rows === 0 && (await isUsedSince(query, place, session, usedAt)))
          return { ...NOTHING_REMOVED, rows: 0 };
        const found = await step(query);
        if (found.rows > 0) await countDeletion(query, place);
        return found;
      });
      rows = removed.rows;
      total.rows += rows;
      total.texts += removed.texts;
      total.turns += removed.turns;
      total.bytes += removed.bytes;
    }
  // A session that was used meanwhile keeps its use.
  if (session !== '' && total.rows > 0)
    await withConnection(place.pool, (query) =>
      query(`DELETE FROM "${schema}".uses WHERE tenant = $1 AND session = $2`, place.tenant, session),
    );
  const { rows, ...removed } = total;
  return { ...removed, sessions: session !== '' && rows > 0 ? 1 : 0 };
}

/** Whether a session was used since it was chosen. */
async function isUsedSince(query: Query, { schema, tenant }: Place, session: string, usedAt: number): Promise<boolean> {
  if (session === '' || !Number.isFinite(usedAt)) return false;
  const { rows } = await query(
    `SELECT ${msOf('max(last_at)')} AS used_at FROM (${timesOf(schema)}) AS times WHERE session = $2`,
    tenant,
    session,
  );
  return Number(rows[0]?.used_at) > usedAt;
}

interface RemovedRows extends Removed {
  readonly rows: number;
}

/** Both find their rows by an index: the session's references, then the texts of these. */
export const removals = (schema: string) => ({
  references: `DELETE FROM "${schema}".refs WHERE tenant = $1 AND (handle, key) IN
       (SELECT handle, key FROM "${schema}".refs WHERE tenant = $1 AND session = $2 AND ($2 <> '' OR seq < $3)
        LIMIT ${BATCH_ROWS})
     RETURNING handle`,
  texts: `WITH gone AS (DELETE FROM "${schema}".texts WHERE tenant = $1 AND handle = ANY ($2::text[])
       AND NOT EXISTS (SELECT FROM "${schema}".refs WHERE refs.tenant = $1 AND refs.handle = texts.handle)
       RETURNING pg_column_size(body) AS size)
     SELECT count(*) AS texts, coalesce(sum(size), 0) AS bytes FROM gone`,
});

/** Some references, and the texts that have none left. */
async function removeTexts(
  query: Query,
  { schema, tenant }: Place,
  { session, before }: { readonly session: string; readonly before: number },
): Promise<RemovedRows> {
  const { references, texts } = removals(schema);
  const refs = await query(references, tenant, session, before);
  const handles = refs.rows.map(({ handle }) => handle);
  const { rows } = await query(texts, tenant, handles);
  return { ...toRemoved(rows[0]), rows: refs.rows.length };
}

async function removeRows(
  query: Query,
  { schema, tenant }: Place,
  session: string,
  table: string,
): Promise<RemovedRows> {
  const key = table === 'turns' ? 'turn' : 'name';
  const { rows } = await query(
    `WITH gone AS (DELETE FROM "${schema}".${table} WHERE tenant = $1 AND session = $2 AND ${key} IN
       (SELECT ${key} FROM "${schema}".${table} WHERE tenant = $1 AND session = $2 LIMIT ${BATCH_ROWS})
       RETURNING pg_column_size(body) AS size)
     SELECT count(*) AS rows, coalesce(sum(size), 0) AS bytes FROM gone`,
    tenant,
    session,
  );
  const count = Number(rows[0]?.rows);
  return { ...toRemoved(rows[0]), turns: table === 'turns' ? count : 0, rows: count };
}

const toRemoved = (row: Row | undefined): Removed => ({
  sessions: 0,
  texts: Number(row?.texts ?? 0),
  turns: Number(row?.turns ?? 0),
  bytes: Number(row?.bytes ?? 0),
});
