import { hash } from 'node:crypto';
import { PalimpsestError } from '../../errors.ts';
import { inTransaction, NO_RIGHT, patient, type Query, stateOf, type TimedPool, withConnection } from './connection.ts';

/** Tables with their own version, and the table that records it. */
export interface Migrations {
  readonly table: string;
  /** Never changed once published; the next one is appended. */
  readonly steps: readonly ((prefix: string) => string)[];
}

/**
 * Brings a schema to the version of this program. Processes that start at once wait for the first. If no migration is needed, no
 * statement changes anything, so a role without the right to create tables is enough. A migration has no time limit.
 */
export async function migrate(pool: TimedPool, schema: string, { table, steps }: Migrations = STORE): Promise<void> {
  const versionIn = (query: Query): Promise<number> => versionOf(query, schema, { table, steps });
  const version = await withConnection(pool, versionIn);
  if (version === steps.length) return;
  await run(pool, schema, { table, steps }).catch((error) => {
    if (stateOf(error) !== NO_RIGHT) throw error;
    const { cause } = error as { cause: Error };
    const text =
      `Expected to bring the ${table} of the schema ${schema} from version ${version} to ${steps.length} but found: ` +
      `${cause.message}; run this version of palimpsest once with a role that may create and alter its tables`;
    throw new PalimpsestError('STORE_FAILED', text, { cause });
  });
}

async function run(pool: TimedPool, schema: string, { table, steps }: Migrations): Promise<void> {
  const lock = `SELECT pg_advisory_xact_lock(${lockKey(schema, 'migrations')})`;
  await inTransaction(patient(pool), lock, (query) =>
    query(
      `CREATE SCHEMA IF NOT EXISTS "${schema}";
       CREATE TABLE IF NOT EXISTS "${schema}".${table}
         (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`,
    ),
  );
  // One transaction each: locking two tables at once could deadlock with an older process that locks them in the other order.
  for (const [index, migration] of steps.entries())
    await inTransaction(patient(pool), lock, async (query) => {
      if (index < (await versionOf(query, schema, { table, steps }))) return;
      await query(migration(`"${schema}".`));
      await query(`INSERT INTO "${schema}".${table} (version) VALUES ($1)`, index + 1);
    });
}

/** The number of migrations that were run. */
async function versionOf(query: Query, schema: string, { table, steps }: Migrations): Promise<number> {
  const exists = await query('SELECT to_regclass($1) AS found', `"${schema}".${table}`);
  if (!exists.rows[0]?.found) return 0;
  const { rows } = await query(`SELECT max(version) AS version FROM "${schema}".${table}`);
  const version = Number(rows[0]?.version ?? 0);
  if (version <= steps.length) return version;
  throw new PalimpsestError(
    'STORE_FAILED',
    `Expected the ${table} of the schema ${schema} at version ${steps.length} or below but found ${version}; update palimpsest`,
  );
}

/** The number of an advisory lock, the same in every process. */
export function lockKey(...names: readonly string[]): bigint {
  return hash('sha256', JSON.stringify(['palimpsest', ...names]), 'buffer').readBigInt64BE();
}

/**
 * Never changed once published; the next one is appended. Texts, turns and notes are bytes, because PostgreSQL's text can hold neither NUL
 * nor lone surrogates. `seq` is the order of arrival: the batch, and the place in it.
 * A reference has '' for no session, -1 for no turn and '' for no tool (a tool is written as JSON, which is never '').
 */
const MIGRATIONS: readonly ((prefix: string) => string)[] = [
  (prefix) => `
    CREATE SEQUENCE ${prefix}batches;
    CREATE TABLE ${prefix}texts (
      tenant text COLLATE "C" NOT NULL,
      handle text COLLATE "C" NOT NULL,
      seq bigint NOT NULL,
      digest bytea NOT NULL,
      bytes bigint NOT NULL,
      body bytea NOT NULL,
      PRIMARY KEY (tenant, handle)
    );
    CREATE UNIQUE INDEX texts_by_age ON ${prefix}texts (tenant, seq);
    CREATE TABLE ${prefix}refs (
      tenant text COLLATE "C" NOT NULL,
      handle text COLLATE "C" NOT NULL,
      key bytea NOT NULL,
      seq bigint NOT NULL,
      session text COLLATE "C" NOT NULL,
      turn bigint NOT NULL,
      tool text NOT NULL,
      PRIMARY KEY (tenant, handle, key)
    );
    CREATE INDEX refs_by_session ON ${prefix}refs (tenant, session, seq);
    CREATE TABLE ${prefix}turns (
      tenant text COLLATE "C" NOT NULL,
      session text COLLATE "C" NOT NULL,
      turn bigint NOT NULL,
      body bytea NOT NULL,
      PRIMARY KEY (tenant, session, turn)
    );`,
  (prefix) => `
    CREATE TABLE ${prefix}notes (
      tenant text COLLATE "C" NOT NULL,
      session text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      digest bytea NOT NULL,
      body bytea NOT NULL,
      PRIMARY KEY (tenant, session, name)
    );`,
  (prefix) => `
    CREATE TABLE ${prefix}secrets (tenant text COLLATE "C" PRIMARY KEY, secret text NOT NULL);`,
  // Existing rows, and rows of older processes, get the time of the server. Such a default rewrites no table.
  ...['texts', 'refs', 'turns', 'notes'].map(
    (table) => (prefix: string) => `ALTER TABLE ${prefix}${table} ADD COLUMN at timestamptz NOT NULL DEFAULT now();`,
  ),
  (prefix) => `
    CREATE TABLE ${prefix}uses (
      tenant text COLLATE "C" NOT NULL,
      session text COLLATE "C" NOT NULL,
      at timestamptz NOT NULL,
      PRIMARY KEY (tenant, session)
    );
    CREATE TABLE ${prefix}deletions (
      tenant text COLLATE "C" NOT NULL,
      count bigint NOT NULL,
      PRIMARY KEY (tenant)
    );`,
  (prefix) => `
    CREATE TABLE ${prefix}records (
      tenant text COLLATE "C" NOT NULL,
      at bigint NOT NULL,
      id text COLLATE "C" NOT NULL,
      session text COLLATE "C" NOT NULL,
      conversation text COLLATE "C" NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (tenant, at, id)
    );`,
];

const STORE: Migrations = { table: 'migrations', steps: MIGRATIONS };

/** The version that this program creates and needs. */
export const SCHEMA_VERSION = MIGRATIONS.length;
