import type { RequestRecord } from '../../report/request-record.ts';
import type { Removable } from '../prune.ts';
import { type RemovedRecords, removableDays, startOf } from '../request-records.ts';
import type { RecordRange } from '../store.ts';
import { inTransaction, patient, type Row, withConnection } from './connection.ts';
import type { Place } from './write-batch.ts';

/** A record as its row holds it. */
export interface RecordRow extends Pick<RequestRecord, 'id' | 'at' | 'session' | 'conversation'> {
  readonly body: string;
}

export const recordRows = (records: readonly RequestRecord[]): RecordRow[] =>
  records.map((record) => {
    const { id, at, session, conversation } = record;
    return { id, at, session, conversation, body: JSON.stringify(record) };
  });

/** Writes records in one transaction. A batch whose commit was not acknowledged may be written again. */
export async function writeRecords({ pool, schema, tenant }: Place, rows: readonly RecordRow[]): Promise<void> {
  await inTransaction(pool, 'SELECT 1', async (query) => {
    for (let first = 0; first < rows.length; first += BATCH_ROWS) {
      const batch = rows.slice(first, first + BATCH_ROWS);
      await query(
        `INSERT INTO "${schema}".records (tenant, at, id, session, conversation, body)
         SELECT $1, at, id, session, conversation, body
         FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
           AS item (at, id, session, conversation, body)
         ON CONFLICT DO NOTHING`,
        tenant,
        batch.map(({ at }) => at),
        batch.map(({ id }) => id),
        batch.map(({ session }) => session),
        batch.map(({ conversation }) => conversation),
        batch.map(({ body }) => body),
      );
    }
  });
}

/** In the order of their start. No connection is held between two pages. */
export async function* readRecords(place: Place, { since = 0, until }: RecordRange): AsyncGenerator<RequestRecord> {
  const { pool, schema, tenant } = place;
  for (let [at, id] = [Math.ceil(since), '']; ; ) {
    const { rows } = await withConnection(pool, (query) =>
      query(
        `SELECT at, id, body FROM "${schema}".records
         WHERE tenant = $1 AND (at, id) > ($2, $3) AND ($4::bigint IS NULL OR at < $4) ORDER BY at, id LIMIT ${PAGE}`,
        tenant,
        at,
        id,
        until === undefined ? null : Math.ceil(until),
      ),
    );
    for (const { body } of rows) yield JSON.parse(body ?? '') as RequestRecord;
    if (rows.length < PAGE) return;
    [at, id] = [Number(rows.at(-1)?.at), rows.at(-1)?.id ?? ''];
  }
}

export async function removableRecords({ pool, schema, tenant }: Place, now: number): Promise<Removable[]> {
  const { rows } = await withConnection(patient(pool), (query) =>
    query(`SELECT DISTINCT at / ${startOf(1)} AS day FROM "${schema}".records WHERE tenant = $1`, tenant),
  );
  return removableDays(
    rows.map(({ day }) => Number(day)),
    now,
  );
}

interface Removal {
  readonly dryRun: boolean;
}

export const removeDay = (place: Place, day: number, removal: Removal): Promise<RemovedRecords> =>
  removeWhere(place, 'at >= $2 AND at < $3', [startOf(day), startOf(day + 1)], removal);

/** Those that `isOfSession` names. */
export const removeOfSession = (place: Place, session: string, removal: Removal): Promise<RemovedRecords> =>
  removeWhere(place, `$2 IN (session, 'g-' || session, 'g-' || conversation)`, [session], removal);

async function removeWhere(
  { pool, schema, tenant }: Place,
  isMeant: string,
  values: readonly unknown[],
  { dryRun }: Removal,
): Promise<RemovedRecords> {
  const sizes = dryRun
    ? `SELECT pg_column_size(body) AS size FROM "${schema}".records WHERE tenant = $1 AND ${isMeant}`
    : `DELETE FROM "${schema}".records WHERE tenant = $1 AND ${isMeant} RETURNING pg_column_size(body) AS size`;
  const { rows } = await withConnection(patient(pool), (query) =>
    query(
      `WITH meant AS (${sizes}) SELECT count(*) AS records, coalesce(sum(size), 0) AS bytes FROM meant`,
      tenant,
      ...values,
    ),
  );
  return toRemoved(rows[0]);
}

const toRemoved = (row: Row | undefined): RemovedRecords => ({
  records: Number(row?.records),
  bytes: Number(row?.bytes),
});

const BATCH_ROWS = 1000;
const PAGE = 1000;
