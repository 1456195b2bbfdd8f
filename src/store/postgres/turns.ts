import type { TurnRecord } from '../store.ts';
import { inTransaction, type Row, write } from './connection.ts';
import type { Database } from './database.ts';
import type { Place } from './place.ts';
import { ROWS_AT_ONCE } from './statements.ts';

interface EncodedTurn {
  readonly session: string;
  readonly turn: number;
  readonly body: Buffer;
}

/** The last record of each turn, in the order of the key, so that two batches never wait for each other's rows. */
export function turnRows(records: readonly TurnRecord[]): EncodedTurn[] {
  const rows = new Map<string, EncodedTurn>();
  for (const record of records) {
    const { session, turn } = record;
    rows.set(`${session} ${turn}`, { session, turn, body: Buffer.from(JSON.stringify(record)) });
  }
  return [...rows.values()].sort((a, b) =>
    a.session === b.session ? a.turn - b.turn : a.session < b.session ? -1 : 1,
  );
}

/** Stores turns: in one statement, or in several of one transaction if that would be too large. */
export async function writeTurns(place: Place, rows: readonly EncodedTurn[]): Promise<void> {
  const { pool, statements } = place;
  const [first = [], ...more] = [...chunksOf(rows)].map((chunk) => valuesOf(place, chunk));
  if (more.length === 0) await write(pool, statements.putTurns, ...first);
  else
    await inTransaction(pool, 'SELECT 1', async (query) => {
      for (const values of [first, ...more]) await query(statements.putTurns.text, ...values);
    });
}

function valuesOf({ tenant }: Place, rows: readonly EncodedTurn[]): unknown[] {
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

function* chunksOf(rows: readonly EncodedTurn[]): Generator<EncodedTurn[]> {
  let chunk: EncodedTurn[] = [];
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

export async function findTurn(database: Database, session: string, turn: number): Promise<TurnRecord | undefined> {
  const [row] = await database.ask('turn', session, turn);
  return row && toTurn(row);
}

/** The turns of a session, in the order of their numbers. */
export async function* turnsOf(database: Database, session: string): AsyncGenerator<TurnRecord> {
  for (let last = -1; ; ) {
    const rows = await database.ask('turns', session, last);
    for (const record of rows.map(toTurn)) {
      yield record;
      last = record.turn;
    }
    if (rows.length < ROWS_AT_ONCE) return;
  }
}

/** The turns of all sessions. */
export async function* allTurns(database: Database): AsyncGenerator<TurnRecord> {
  for (let [session, turn] = ['', -1]; ; ) {
    const rows = await database.query(pageOfTurns, session, turn);
    for (const record of rows.map(toTurn)) {
      yield record;
      [session, turn] = [record.session, record.turn];
    }
    if (rows.length < ROWS_AT_ONCE) return;
  }
}

const pageOfTurns = (schema: string): string =>
  `SELECT encode(body, 'hex') AS body FROM "${schema}".turns
   WHERE tenant = $1 AND (session, turn) > ($2, $3) ORDER BY session, turn LIMIT ${ROWS_AT_ONCE}`;

const toTurn = ({ body }: Row): TurnRecord => JSON.parse(Buffer.from(body ?? '', 'hex').toString('utf8'));
