import { ask, prepared, type Row } from '../../../store/postgres/connection.ts';
import { type Place, readEvent } from '../log/event-line.ts';
import type { LogLine } from '../log/select-events.ts';
import type { SessionRows } from './session-rows.ts';
import { answerOf } from './until-answered.ts';

/** A row, and its event unless the row is damaged. */
export interface EventRow<M> extends LogLine<M> {
  readonly seq: number;
  readonly place: Place;
}

/** The rows after an event, in order, page by page. No connection is held between pages. */
export async function* rowsAfter<M>(rows: SessionRows, id: string, afterSeq: number): AsyncGenerator<EventRow<M>> {
  for (let last = afterSeq; ; ) {
    const page = await select(
      rows,
      `SELECT seq, encode(line, 'hex') AS line
       FROM (SELECT seq, line, sum(octet_length(line)) OVER (ORDER BY seq) - octet_length(line) AS before
         FROM (SELECT seq, line FROM "${rows.schema}".session_events
           WHERE tenant = $1 AND session = $2 AND seq > $3 ORDER BY seq LIMIT ${PAGE}) AS page) AS sized
       WHERE before < ${PAGE_BYTES} ORDER BY seq`,
      id,
      last,
    );
    for (const row of page) yield toEventRow<M>(row);
    if (page.length === 0) return;
    last = Number(page.at(-1)?.seq);
  }
}

/** The rows of these events that exist, in order. */
export async function rowsOf<M>(rows: SessionRows, id: string, seqs: readonly number[]): Promise<EventRow<M>[]> {
  const found: EventRow<M>[] = [];
  const asked = [...new Set(seqs)].sort((a, b) => a - b);
  for (let first = 0; first < asked.length; first += FEW) {
    const page = await select(
      rows,
      `SELECT seq, encode(line, 'hex') AS line FROM "${rows.schema}".session_events
       WHERE tenant = $1 AND session = $2 AND seq = ANY ($3::bigint[]) ORDER BY seq`,
      id,
      asked.slice(first, first + FEW),
    );
    for (const row of page) found.push(toEventRow<M>(row));
  }
  return found;
}

function select(rows: SessionRows, statement: string, ...values: unknown[]): Promise<readonly Row[]> {
  const { pool, tenant, timeoutMs } = rows;
  return answerOf(() => ask(pool, prepared(statement), tenant, ...values), { timeoutMs, waitsForServer: true });
}

/** The most rows and bytes in one fetch. A single event may be larger. */
const PAGE = 500;
const PAGE_BYTES = 4_000_000;
const FEW = 100;

function toEventRow<M>({ seq, line }: Row): EventRow<M> {
  const bytes = Buffer.from(line ?? '', 'hex');
  const read = readEvent<M>(bytes.toString('utf8'));
  const event = read?.event.seq === Number(seq) ? read.event : undefined;
  return { seq: Number(seq), event, place: { offset: Number(seq), bytes: bytes.length } };
}
