import { hash } from 'node:crypto';
import { PalimpsestError } from '../../errors.ts';
import { inTime } from '../in-time.ts';

/** The part of a `Pool` of the package `pg` that is used: no types of it are needed. */
export interface PostgresPool {
  /** Lends a client, or returns an error. */
  connect(lent: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** A pool with a time limit for a connection and for each answer. Without a limit, calls wait for a silent server. */
export interface TimedPool extends PostgresPool {
  readonly timeoutMs?: number;
  /** If it is missing, every statement is sent with its text. */
  readonly preparing?: Preparing;
}

/** Whether the server keeps prepared statements. A connection pooler between us and it may not. */
export interface Preparing {
  isOn: boolean;
}

/** The pool without its limit, for statements that read every row. */
export const patient = (pool: TimedPool): PostgresPool => ({ connect: (lent) => pool.connect(lent) });

/** A client out of such a pool. */
export interface PostgresClient {
  /** Sends one statement. */
  query(config: PostgresQuery): Promise<unknown>;
  /** Listens for a connection that breaks while no statement runs. */
  on(event: 'error', listener: () => void): unknown;
  /** Stops listening. */
  removeListener(event: 'error', listener: () => void): unknown;
  /** Gives the client back to the pool; `true` closes its connection instead. */
  release(error?: boolean): void;
}

/** A statement and its values. */
export interface PostgresQuery {
  /** The name of a prepared statement. */
  readonly name?: string;
  /** The SQL, with `$1` for the first value. */
  readonly text: string;
  /** The values of `$1`, `$2` and so on. */
  readonly values?: unknown[];
  /** Reads the values of a column, by the number of its type. They come as text. */
  readonly types?: { getTypeParser(type: number): (value: string) => unknown };
  /** Answers values as the server keeps them. */
  readonly binary?: boolean;
  /** Returns each row as a list. */
  readonly rowMode?: 'array';
}

/** A row, every value as PostgreSQL writes it. */
export type Row = Readonly<Record<string, string | null>>;

/** A row of a binary answer: a column of bytes, as it was read, and a column of text. */
export type BinaryRow<Read> = readonly [bytes: Read | null, text: string | null];

/** The answer of the last statement of a query. */
export interface Answer {
  readonly command: string;
  readonly rows: readonly Row[];
}

/** Sends a statement with its values, or several without any. */
export type Query = (text: string, ...values: unknown[]) => Promise<Answer>;

/** A statement that each connection parses once and plans a few times. */
export interface Prepared {
  readonly name: string;
  readonly text: string;
}

export function prepared(text: string): Prepared {
  return { name: `palimpsest_${hash('sha256', text, 'hex').slice(0, 32)}`, text };
}

/** Runs one prepared statement in one round trip. It is a transaction of its own. */
export const ask = (pool: TimedPool, statement: Prepared, ...values: unknown[]): Promise<readonly Row[]> =>
  runPrepared(pool, statement, { values, types: RAW });

/**
 * As `ask`, for a column of bytes and one of text. The server sends them as it keeps them, which takes it half as long. pg reads
 * bytes as UTF-8, so bytes that are something else come out changed. `read` is called for each value as it arrives: it works
 * while the server still looks for the next one.
 */
export const askBinary = <Read>(
  pool: TimedPool,
  statement: Prepared,
  read: (value: string) => Read,
  ...values: unknown[]
): Promise<readonly BinaryRow<Read>[]> =>
  runPrepared(pool, statement, { values, types: binaryTypes(read), binary: true, rowMode: 'array' });

async function runPrepared<T>(
  pool: TimedPool,
  { name, text }: Prepared,
  rest: Omit<PostgresQuery, 'name' | 'text'>,
): Promise<readonly T[]> {
  const { preparing } = pool;
  if (!preparing?.isOn) return run(pool, { text, ...rest });
  try {
    return await run(pool, { name, text, ...rest });
  } catch (error) {
    if (!NOT_PREPARED.has(stateOf(error))) throw error;
    preparing.isOn = false;
    return run(pool, { text, ...rest });
  }
}

/** A connection on which a statement was refused for one of the expected reasons is sound, and is lent again. */
async function run<T>(pool: TimedPool, config: PostgresQuery): Promise<readonly T[]> {
  const answer = await withClient(pool, (client) =>
    send(client, config, pool.timeoutMs).catch((cause) => {
      if (EXPECTED.has(cause?.code)) return failed(cause);
      throw cause;
    }),
  );
  if (answer instanceof Error) throw answer;
  return answer.rows as readonly T[];
}

/**
 * Runs one prepared statement that writes, in one round trip. It must begin with `begun`. If the database is set to read
 * only or to a stricter isolation by default, it runs again in a transaction with its own settings.
 */
export async function write(pool: TimedPool, statement: Prepared, ...values: unknown[]): Promise<readonly Row[]> {
  try {
    return await ask(pool, statement, ...values);
  } catch (error) {
    if (!OTHER_DEFAULTS.has(stateOf(error))) throw error;
    return inTransaction(pool, 'SELECT 1', async (query) => (await query(statement.text, ...values)).rows);
  }
}

/** Invalid or duplicate statement name: a pooler gave us another connection of the server. */
const NOT_PREPARED: ReadonlySet<unknown> = new Set(['26000', '42P05']);
/** Read-only transaction, serialization failure. */
export const OTHER_DEFAULTS: ReadonlySet<unknown> = new Set(['25006', '40001']);
/** Invalid text representation: see `CLASH`. */
const CLASHES = '22P02';
/** Unique violation: the row is there already. */
export const DUPLICATE = '23505';
/** Insufficient privilege. */
export const NO_RIGHT = '42501';
const EXPECTED: ReadonlySet<unknown> = new Set([...OTHER_DEFAULTS, CLASHES, DUPLICATE]);

/** The SQLSTATE with which the server refused a statement. The statement then had no effect. */
export const stateOf = (error: unknown): unknown => (error as { cause?: { code?: unknown } }).cause?.code;

/**
 * The beginning of a statement that writes. The settings apply until its commit. A server that lost the connection must release
 * our locks. So it waits for a lock no longer than we wait for the answer and, from PostgreSQL 17 on, no longer for the rest of
 * our message. The server's own limits stay.
 */
export function begun({ timeoutMs }: TimedPool, ...columns: readonly string[]): string {
  const settings = [
    `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`,
    ...(timeoutMs === undefined ? [] : ['lock_timeout', 'transaction_timeout']).map(
      (name) => `CASE current_setting('${name}', true) WHEN '0' THEN set_config('${name}', '${timeoutMs}', true) END`,
    ),
  ];
  return `WITH begun AS (SELECT ${[...settings, ...columns].join(', ')})`;
}

/** Lends a connection for some statements. Every failure is STORE_FAILED, and a broken connection is not lent again. */
export const withConnection = <T>(pool: TimedPool, work: (query: Query) => Promise<T>): Promise<T> =>
  withClient(pool, (client) => work(toQuery(client, pool.timeoutMs)));

async function withClient<T>(pool: TimedPool, work: (client: PostgresClient) => Promise<T>): Promise<T> {
  let client: PostgresClient | undefined;
  try {
    client = await connect(pool);
    const answer = await work(client);
    giveBack(client, false);
    return answer;
  } catch (cause) {
    // The state of the connection is unknown.
    if (client) giveBack(client, true);
    throw cause instanceof PalimpsestError ? cause : failed(cause);
  }
}

/**
 * While a client is lent, the pool does not listen, and an 'error' without a listener ends the process. This does not use the
 * promise of `connect`: if the server ends a new connection at once, the error comes before the promise's reader runs.
 */
function connect(pool: TimedPool): Promise<PostgresClient> {
  let isLate = false;
  const lent = new Promise<PostgresClient>((resolve, reject) => {
    pool.connect((error, client) => {
      if (!client) return reject(error);
      if (isLate) return client.release();
      client.on('error', ignore);
      resolve(client);
    });
  });
  return answered(lent, pool.timeoutMs).catch((error) => {
    isLate = true;
    throw error;
  });
}

/** All or nothing: when this resolves, everything is on the server's disk. `first` is part of the message that begins it. */
export function inTransaction<T>(
  pool: TimedPool,
  first: string,
  work: (query: Query, begun: readonly Row[]) => Promise<T>,
): Promise<T> {
  return withConnection(pool, async (query) => {
    const { rows: begun } = await query(
      `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${DURABLE}; ${limits(pool)}${first}`,
    );
    const answer = await work(query, begun);
    // The server answers the COMMIT of a failed transaction with ROLLBACK, without an error.
    const { command } = await query('COMMIT');
    if (command !== 'COMMIT') throw failed(new Error('the transaction was rolled back'));
    return answer;
  });
}

/** A server may be set to answer before the data is on disk. Stronger settings stay as they are. */
const DURABLE =
  "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'";

/** A server that lost the connection must release our locks: the next try would wait for them. Limits of its own stay. */
function limits({ timeoutMs }: TimedPool): string {
  if (timeoutMs === undefined) return '';
  return ['statement_timeout', 'idle_in_transaction_session_timeout']
    .map((name) => `SELECT set_config('${name}', '${timeoutMs}', true) WHERE current_setting('${name}') = '0'; `)
    .join('');
}

/** Values stay text: the pool's own parsers for numbers and bytes are not used. */
const RAW = { getTypeParser: () => (value: string) => value };
const BYTEA = 17;

function binaryTypes<Read>(read: (value: string) => Read): NonNullable<PostgresQuery['types']> {
  return { getTypeParser: (type) => (type === BYTEA ? (value) => read(toText(value)) : toText) };
}

/** pg gives binary values as text today; a later version may give the bytes. */
const toText = (value: string | Buffer): string => (typeof value === 'string' ? value : value.toString('utf8'));

const toQuery =
  (client: PostgresClient, timeoutMs: number | undefined): Query =>
  (text, ...values) =>
    send(client, values.length > 0 ? { text, values, types: RAW } : { text, types: RAW }, timeoutMs);

/** Returns the answer of the last statement. */
async function send(client: PostgresClient, config: PostgresQuery, timeoutMs: number | undefined): Promise<Answer> {
  const answer = await answered(client.query(config), timeoutMs);
  return (Array.isArray(answer) ? answer.at(-1) : answer) as Answer;
}

function giveBack(client: PostgresClient, isBroken: boolean): void {
  client.release(isBroken);
  client.removeListener('error', ignore);
}

const ignore = (): void => {};

class NoAnswer extends Error {}

/** Whether a call failed because the server was silent: the next one would wait as long. */
export const isNoAnswer = (error: unknown): boolean => error instanceof Error && error.cause instanceof NoAnswer;

async function answered<T>(asked: Promise<T>, timeoutMs: number | undefined): Promise<T> {
  if (timeoutMs === undefined) return asked;
  return inTime(asked, timeoutMs, () => {
    throw new NoAnswer(`no answer within ${timeoutMs} ms (option timeoutMs)`);
  });
}

/** Whether the next try would fail too. `pg` gives errors of TLS, and of a missing password, no code. */
function isOfSettings(cause: unknown): boolean {
  const { code, message = '' } = (cause ?? {}) as { code?: unknown; message?: string };
  return code === undefined ? /SSL|SASL/.test(message) : OF_SETTINGS.has(code);
}

/** Wrong role, wrong password, no such database, no right to do this. */
const OF_SETTINGS: ReadonlySet<unknown> = new Set(['28000', '28P01', '3D000', NO_RIGHT]);

/** Nobody listens there, or there is no such host. */
const UNREACHABLE: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH']);

function failed(cause: unknown): PalimpsestError {
  return new PalimpsestError(
    'STORE_FAILED',
    `Expected an answer from PostgreSQL but found: ${whyFailed(cause)}; ${remedyOf(cause)}`,
    { cause },
  );
}

function remedyOf(cause: unknown): string {
  if (isOfSettings(cause)) return 'check the address of the database, the role and its rights';
  const again = 'a write is stored whole or not at all: try it again';
  const isReachable = !UNREACHABLE.has((cause as { code?: unknown } | undefined)?.code);
  return isReachable ? again : `check the address of the database, and that its server runs; ${again}`;
}

/** If every address of a host refuses, Node throws an AggregateError without a message. */
export function whyFailed(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') return cause.errors.map(whyFailed).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}
