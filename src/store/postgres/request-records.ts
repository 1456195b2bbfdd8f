import type { RequestRecord } from '../../report/request-record.ts';
import type { Removable } from '../prune.ts';
import { type RemovedRecords, removableDays, startOf } from '../request-records.ts';
import type { RecordRange } from '../store.ts';
import { ask, inTransaction, patient, type Row, withConnection, write } from './connection.ts';
import type { Place } from './place.ts';
import { toAscii } from './references.ts';
import { RECORDS_AT_ONCE } from './statements.ts';

/** A record as its row holds it. */
export interface RecordRow extends Pick<RequestRecord, 'id' | 'at' | 'session' | 'conversation'> {
  readonly body: string;
}

export const recordRows = (records: readonly RequestRecord[]): RecordRow[] =>
  records.map((record) => {
    const { id, at, session, conversation } = record;
    return { id, at, session, conversation, body: toAscii(JSON.stringify(record)) };
  });

/** Writes records, all or none. A batch whose commit was not acknowledged may be written again. */
export async function writeRecords({ pool, statements, tenant }: Place, rows: readonly RecordRow[]): Promise<void> {
  const batches: unknown[][] = [];
  for (let first = 0; first < rows.length; first += BATCH_ROWS)
    batches.push([tenant, ...columnsOf(rows.slice(first, first + BATCH_ROWS))]);
  const [first = [], ...more] = batches;
  if (more.length === 0) await write(pool, statements.putRecords, ...first);
  else
    await inTransaction(pool, 'SELECT 1', async (query) => {
      for (const values of batches) await query(statements.putRecords.text, ...values);
    });
}

const columnsOf = (rows: readonly RecordRow[]): unknown[][] => [
  rows.map(({ at }) => at),
  rows.map(({ id }) => id),
  rows.map(({ session }) => session),
  rows.map(({ conversation }) => conversation),
  rows.map(({ body }) => body),
];

/** Reads records in the order of their start. No connection is held between two pages. */
export async function* readRecords(place: Place, { since = 0, until }: RecordRange): AsyncGenerator<RequestRecord> {
  const { pool, statements, tenant } = place;
  const end = until === undefined ? null : Math.ceil(until);
  for (let [at, id] = [Math.ceil(since), '']; ; ) {
    const rows = await ask(pool, statements.records, tenant, at, id, end);
    for (const { body } of rows) yield JSON.parse(body ?? '') as RequestRecord;
    if (rows.length < RECORDS_AT_ONCE) return;
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

/** Removes the records that `isOfSession` names. */
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
