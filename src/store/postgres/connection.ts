import { PalimpsestError } from '../../errors.ts';

/** The part of a `Pool` of the package `pg` that is used: no types of it are needed. */
export interface PostgresPool {
  connect(lent: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** A client out of such a pool. */
export interface PostgresClient {
  query(config: PostgresQuery): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
  release(error?: boolean): void;
}

/** A statement and its values. */
export interface PostgresQuery {
  readonly text: string;
  readonly values?: unknown[];
  readonly types?: { getTypeParser(): (value: string) => string };
}

/** A row, every value as PostgreSQL writes it. */
export type Row = Readonly<Record<string, string | null>>;

/** What the last statement of a query answered. */
export interface Answer {
  readonly command: string;
  readonly rows: readonly Row[];
}

/** Sends a statement with its values, or several without any. */
export type Query = (text: string, ...values: unknown[]) => Promise<Answer>;

/** Lends a connection for some statements. What goes wrong is STORE_FAILED, and a broken connection is not lent again. */
export async function withConnection<T>(pool: PostgresPool, work: (query: Query) => Promise<T>): Promise<T> {
  let client: PostgresClient | undefined;
  try {
    client = await connect(pool);
    const answer = await work(toQuery(client));
    giveBack(client, false);
    return answer;
  } catch (cause) {
    // What state the connection is in is anybody's guess.
    if (client) giveBack(client, true);
    throw cause instanceof PalimpsestError ? cause : failed(cause);
  }
}

/**
 * While a client is lent nobody else listens, and an 'error' that nobody hears ends the process. Not with the promise
 * that `connect` gives: a server that ends a connection it has just made is heard before the promise's reader runs.
 */
function connect(pool: PostgresPool): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      client?.on('error', ignore);
      if (client) resolve(client);
      else reject(error);
    });
  });
}

/** All or nothing: when this resolves, it is on the server's disk. `first` stands in the message that begins it. */
export function inTransaction<T>(
  pool: PostgresPool,
  first: string,
  work: (query: Query, begun: readonly Row[]) => Promise<T>,
): Promise<T> {
  return withConnection(pool, async (query) => {
    const { rows: begun } = await query(`BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${DURABLE}; ${first}`);
    const answer = await work(query, begun);
    // The COMMIT of a transaction that went wrong is answered with ROLLBACK, without an error.
    const { command } = await query('COMMIT');
    if (command !== 'COMMIT') throw failed(new Error('the transaction was rolled back'));
    return answer;
  });
}

/** A server may be set to answer before its disk has. Stronger settings stay as they are. */
const DURABLE =
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/** Values stay text: how the pool's owner wants numbers and bytes parsed is not our affair. */
const RAW = { getTypeParser: () => (value: string) => value };

function toQuery(client: PostgresClient): Query {
  return async (text, ...values) => {
    const config = values.length > 0 ? { text, values, types: RAW } : { text, types: RAW };
    const answers = [await client.query(config)].flat() as Answer[];
    return answers.at(-1) ?? { command: '', rows: [] };
  };
}

function giveBack(client: PostgresClient, isBroken: boolean): void {
  client.release(isBroken);
  client.removeListener('error', ignore);
}

const ignore = (): void => {};

function failed(cause: unknown): PalimpsestError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const remedy = 'nothing of this call was stored unless an earlier try had been';
  return new PalimpsestError('STORE_FAILED', `Expected an answer from PostgreSQL but found: ${why}; ${remedy}`, {
    cause,
  });
}
