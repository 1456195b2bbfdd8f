import { PalimpsestError } from '../../../errors.ts';
import { sessionLimits } from '../../../limits.ts';
import {
  ask,
  inTransaction,
  OTHER_DEFAULTS,
  prepared,
  type Query,
  type Row,
  stateOf,
  whyFailed,
  withConnection,
  write,
} from '../../../store/postgres/connection.ts';
import { toLine } from '../log/event-line.ts';
import type { Recovered } from '../log/replay.ts';
import { selectEvents } from '../log/select-events.ts';
import { snapshotText } from '../log/snapshot.ts';
import type { SessionEvent } from '../session-event.ts';
import type { SessionInfo } from '../session-info.ts';
import {
  type Appended,
  type Batch,
  type Compacted,
  type Compaction,
  notWritten,
  type ReadEventsOptions,
  type RecoverOptions,
  type SessionStorage,
  type SnapshotOf,
} from '../session-storage.ts';
import { rowsAfter } from './read-rows.ts';
import { type OpenedRow, recoverRows } from './recover-rows.ts';
import { lostError, readWriter, type SessionRows } from './session-rows.ts';
import { NAMES } from './session-tables.ts';
import { answerOf, Unanswered, untilAnswered } from './until-answered.ts';

/**
 * The events of a session in PostgreSQL. The appending statement also checks that this process is still the writer and that the
 * log ends as expected. So a replaced writer writes nothing. A statement whose answer was lost can be sent again: only one of the
 * two finds the expected end.
 */
export class PostgresStorage<M> implements SessionStorage<M> {
  readonly folder = '';
  readonly eventChars = sessionLimits.databaseEventChars;
  readonly #rows: SessionRows;
  readonly #row: OpenedRow;
  readonly #onProblem: (problem: Error) => void;
  readonly #heartbeat: NodeJS.Timeout;
  /** The fields that a list of sessions shows. */
  #info: SessionInfo;
  #failure: Error | undefined;
  #isRenewing = false;

  constructor(rows: SessionRows, row: OpenedRow, onProblem: (problem: Error) => void) {
    this.#rows = rows;
    this.#row = row;
    this.#onProblem = onProblem;
    this.#info = row.info;
    this.#heartbeat = setInterval(() => void this.#renew(), rows.leaseMs / 3);
    this.#heartbeat.unref();
  }

  get failure(): Error | undefined {
    return this.#failure;
  }

  checkWriter(): void {
    if (this.#failure) throw this.#failure;
  }

  recover(options: RecoverOptions<M>): Promise<Recovered> {
    return recoverRows<M>(this.#rows, this.#row, options);
  }

  async append(events: readonly string[], { position, seq, time, changes }: Batch): Promise<Appended> {
    const lines = events.map(toRow);
    const places = lines.map(({ length }, i) => ({ offset: seq + i, bytes: length }));
    const bytes = position + lines.reduce((sum, { length }) => sum + length, 0);
    const info = { ...this.#info, ...changes };
    await this.#change(lines, { after: seq - 1, time, bytes, info });
    this.#info = info;
    return { position: bytes, places };
  }

  read(options: ReadEventsOptions): AsyncIterable<SessionEvent<M>> {
    return selectEvents(rowsAfter<M>(this.#rows, this.#info.id, 0), options);
  }

  async saveSnapshot(snapshot: SnapshotOf<M>): Promise<void> {
    const body = Buffer.from(snapshotText({ ...snapshot, archive_bytes: 0 }, NAMES));
    const isSaved = await this.#answerOf(() => this.#update('snapshot = $4', body));
    if (!isSaved) throw this.#fail(await this.#lost());
  }

  /** Moves the start of recovery to a checkpoint. Events that are no longer needed stay as rows, or are deleted. */
  async compact({ kept, keepsOthers, seq, time, checkpoint }: Compaction): Promise<Compacted> {
    const line = toRow(checkpoint(0));
    const bytes = kept.reduce((sum, place) => sum + place.bytes, line.length);
    const keeping = keepsOthers ? undefined : kept.map(({ offset }) => offset);
    await this.#change([line], { after: seq - 1, time, bytes, info: this.#info, checkpoint: { keeping } });
    return { position: bytes, checkpointBytes: line.length, placeOf: (place) => place };
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    if (this.#failure) return;
    try {
      // If this fails, the lease expires on its own.
      await this.#answerOf(() => this.#update("holder = NULL, leased_until = '-infinity'"));
    } catch (error) {
      this.#onProblem(error as Error);
    }
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing || this.#failure) return;
    this.#isRenewing = true;
    try {
      const lease = "leased_until = clock_timestamp() + $4 * interval '1 millisecond'";
      if (!(await this.#update(lease, this.#rows.leaseMs))) this.#fail(await this.#lost());
    } catch {
      // The next renewal may reach the server. Safety does not depend on the lease: every write checks the writer.
    } finally {
      this.#isRenewing = false;
    }
  }

  /** Inserts events and moves the end of the log, in one statement. */
  async #change(lines: readonly Buffer[], change: Change): Promise<void> {
    const until = change.after + lines.length;
    try {
      const isDone = await untilAnswered(
        async (onSent) => {
          if (await this.#insert(lines, change, onSent)) return true;
          // Another writer has taken over, or an earlier attempt succeeded and its answer was lost.
          const row = await this.#find();
          return row?.writer === this.#row.writer && Number(row.last_seq) === until;
        },
        { timeoutMs: this.#rows.timeoutMs, waitsForServer: true },
      );
      if (!isDone) throw this.#fail(await this.#lost());
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      throw error.isUnsure ? this.#fail(unsure(error.cause)) : notWritten(wordsOf(error.cause), error.cause);
    }
  }

  /** Answers false if another process is the writer, or if the log ends elsewhere. */
  async #insert(lines: readonly Buffer[], change: Change, onSent: () => void): Promise<boolean> {
    const { pool } = this.#rows;
    const [first = [], ...others] = chunksOf(lines);
    const run = async (query: Query): Promise<boolean> => {
      onSent();
      const { rows } = await query(...this.#moveEnd(first, { ...change, count: lines.length }));
      if (rows.length === 0) return false;
      let after = change.after + first.length;
      for (const chunk of others) {
        await query(...this.#insertMore(chunk, after));
        after += chunk.length;
      }
      return true;
    };
    if (others.length > 0) return inTransaction(pool, 'SELECT 1', run);
    try {
      // Not by `write`: that does not tell whether a connection was there to send the statement on.
      return await withConnection(pool, run);
    } catch (error) {
      if (!OTHER_DEFAULTS.has(stateOf(error))) throw error;
      return inTransaction(pool, 'SELECT 1', run);
    }
  }

  /** The statement that inserts only if this process is the writer and the log ends as expected. */
  #moveEnd(
    lines: readonly Buffer[],
    change: Change & { readonly count: number },
  ): [text: string, ...values: unknown[]] {
    const { schema, tenant, leaseMs } = this.#rows;
    const { id } = this.#info;
    const { writer } = this.#row;
    const { after, count, time, bytes, info, checkpoint } = change;
    const { format, status, number } = info;
    const keeping = checkpoint?.keeping;
    const remove = `, gone AS (DELETE FROM "${schema}".session_events USING mine
      WHERE tenant = $1 AND session = $2 AND seq <= $3 AND seq <> ALL ($15::bigint[]))`;
    return [
      `WITH mine AS (
         UPDATE "${schema}".sessions SET last_seq = $8, last_time = $9, log_bytes = $10, format = $11, status = $12,
           number = $13, ${checkpoint ? 'checkpoint_seq = $8,' : ''} written_at = now(),
           leased_until = clock_timestamp() + $14 * interval '1 millisecond'
         WHERE tenant = $1 AND id = $2 AND writer = $7 AND last_seq = $3
         RETURNING ${DURABLE}
       ), events AS (
         INSERT INTO "${schema}".session_events (tenant, session, seq, line) ${LINES}, mine
       )${keeping ? remove : ''}
       SELECT 1 AS one FROM mine`,
      ...[tenant, id, after, ...piecesOf(lines), writer, after + count, time, bytes, format, status, number, leaseMs],
      ...(keeping ? [keeping] : []),
    ];
  }

  #insertMore(lines: readonly Buffer[], after: number): [text: string, ...values: unknown[]] {
    const { schema, tenant } = this.#rows;
    return [
      `INSERT INTO "${schema}".session_events (tenant, session, seq, line) ${LINES}`,
      ...[tenant, this.#info.id, after, ...piecesOf(lines)],
    ];
  }

  async #find(): Promise<Row | undefined> {
    const { pool, schema, tenant } = this.#rows;
    const statement = `SELECT writer, holder, last_seq FROM "${schema}".sessions WHERE tenant = $1 AND id = $2`;
    return (await ask(pool, prepared(statement), tenant, this.#info.id))[0];
  }

  async #lost(): Promise<PalimpsestError> {
    const row = await this.#find().catch(() => undefined);
    return lostError(this.#info.id, readWriter(row?.holder));
  }

  /** Updates the row of this writer. Answers false if another process has taken over. Can be repeated. */
  async #update(change: string, ...values: unknown[]): Promise<boolean> {
    const { pool, schema, tenant } = this.#rows;
    const statement = prepared(
      `UPDATE "${schema}".sessions SET ${change} WHERE tenant = $1 AND id = $2 AND writer = $3 RETURNING 1 AS one`,
    );
    return (await write(pool, statement, tenant, this.#info.id, this.#row.writer, ...values)).length > 0;
  }

  #answerOf<T>(attempt: () => Promise<T>): Promise<T> {
    return answerOf(attempt, { timeoutMs: this.#rows.timeoutMs, waitsForServer: true });
  }

  #fail(error: Error): Error {
    this.#failure ??= error;
    return error;
  }
}

interface Change {
  /** The event that the log must end with. */
  readonly after: number;
  readonly time: string;
  /** The size of the log after the change. */
  readonly bytes: number;
  readonly info: SessionInfo;
  /** Set if the change is a compaction. `keeping` lists the earlier events that are not deleted. */
  readonly checkpoint?: { readonly keeping: readonly number[] | undefined };
}

/** All lines are sent as one value: an array of bytes would be sent as text, which is twice as long. */
const LINES = `SELECT $1, $2, $3::bigint + n, substring($4::bytea FROM start FOR length)
  FROM unnest($5::int[], $6::int[]) WITH ORDINALITY AS piece (start, length, n)`;

function piecesOf(lines: readonly Buffer[]): [bytes: Buffer, starts: number[], lengths: number[]] {
  const lengths = lines.map(({ length }) => length);
  const starts: number[] = [];
  let start = 1;
  for (const length of lengths) {
    starts.push(start);
    start += length;
  }
  return [Buffer.concat(lines), starts, lengths];
}

/** Below PostgreSQL's limit of 1 GB for one value. */
const CHUNK_BYTES = 1 << 26;

function chunksOf(lines: readonly Buffer[]): Buffer[][] {
  const chunks: Buffer[][] = [];
  let room = 0;
  for (const line of lines) {
    if (line.length > room) {
      chunks.push([]);
      room = CHUNK_BYTES;
    }
    chunks.at(-1)?.push(line);
    room -= line.length;
  }
  return chunks;
}

/**
 * A server may be configured to answer before data is on disk. This overrides that until the commit. Stronger settings are kept.
 */
const DURABLE = `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END AS durable`;

const toRow = (event: string): Buffer => Buffer.from(toLine(event).slice(0, -1));

function unsure(cause: unknown): PalimpsestError {
  const text =
    `Expected an answer from PostgreSQL about events that were sent but found: ${wordsOf(cause)}; ` +
    'open the session again to see whether it holds them';
  return new PalimpsestError('STORE_FAILED', text, { cause });
}

/** The error message without the prefix of `withConnection`. */
function wordsOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? whyFailed(cause) : message;
}
