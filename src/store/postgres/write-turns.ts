import type { TurnRecord } from '../store.ts';
import { inTransaction } from './connection.ts';
import type { Place } from './write-batch.ts';

interface TurnRow {
  readonly session: string;
  readonly turn: number;
  readonly body: Buffer;
}

/** Each turn once, the last record of it, in the order of the key: two batches never wait for each other's rows. */
export function turnRows(records: readonly TurnRecord[]): TurnRow[] {
  const rows = new Map<string, TurnRow>();
  for (const record of records) {
    const { session, turn } = record;
    rows.set(`${session} ${turn}`, { session, turn, body: Buffer.from(JSON.stringify(record)) });
  }
  return [...rows.values()].sort((a, b) =>
    a.session === b.session ? a.turn - b.turn : a.session < b.session ? -1 : 1,
  );
}

/** Stores turns in one transaction. */
export async function writeTurns({ pool, schema, tenant }: Place, rows: readonly TurnRow[]): Promise<void> {
  await inTransaction(pool, 'SELECT 1', async (query) => {
    for (const chunk of chunksOf(rows))
      await query(
        `INSERT INTO "${schema}".turns (tenant, session, turn, body)
         SELECT $1, session, turn, body FROM unnest($2::text[], $3::bigint[], $4::bytea[]) AS item (session, turn, body)
         ON CONFLICT (tenant, session, turn) DO UPDATE SET body = EXCLUDED.body, at = now()`,
        tenant,
        chunk.map(({ session }) => session),
        chunk.map(({ turn }) => turn),
        chunk.map(({ body }) => body),
      );
  });
}

/** A statement holds every byte as two digits: few megabytes at a time. */
const CHUNK_BYTES = 4_000_000;

function* chunksOf(rows: readonly TurnRow[]): Generator<TurnRow[]> {
  let chunk: TurnRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (chunk.length > 0 && bytes + row.body.length > CHUNK_BYTES) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(row);
    bytes += row.body.length;
  }
  yield chunk;
}
