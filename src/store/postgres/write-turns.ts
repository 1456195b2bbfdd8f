import type { TurnRecord } from '../store.ts';
import { inTransaction, write } from './connection.ts';
import type { Place } from './place.ts';

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

/** Stores turns: in one statement, or where that would be too large, in several of one transaction. */
export async function writeTurns(place: Place, rows: readonly TurnRow[]): Promise<void> {
  const { pool, statements } = place;
  const [first = [], ...more] = [...chunksOf(rows)].map((chunk) => valuesOf(place, chunk));
  if (more.length === 0) await write(pool, statements.putTurns, ...first);
  else
    await inTransaction(pool, 'SELECT 1', async (query) => {
      for (const values of [first, ...more]) await query(statements.putTurns.text, ...values);
    });
}

function valuesOf({ tenant }: Place, rows: readonly TurnRow[]): unknown[] {
  const starts: number[] = [];
  let start = 1;
  for (const { body } of rows) {
    starts.push(start);
    start += body.length;
  }
  return [
    tenant,
    Buffer.concat(rows.map(({ body }) => body)),
    rows.map(({ session }) => session),
    rows.map(({ turn }) => turn),
    starts,
    rows.map(({ body }) => body.length),
  ];
}

const CHUNK_BYTES = 8_000_000;

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
