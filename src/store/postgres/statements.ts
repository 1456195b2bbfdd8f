import { storeLimits } from '../../limits.ts';
import { begun, type Prepared, prepared, type TimedPool } from './connection.ts';

/** A batch has this many places in `seq`, so 2 ** 33 batches fit below the largest safe integer. */
export const BATCH_PLACES = storeLimits.batchTexts;

/** The words before the handle in the server's error, if that handle names another text. */
export const CLASH = 'HANDLE_CLASH ';

/** The same, if another process has stored a text that the statement could not see yet. */
export const UNSEEN = 'HANDLE_UNSEEN ';

/** The number of turns or notes that one statement returns. Each may be large. */
export const ROWS_AT_ONCE = 64;

/** The number of request records that one statement returns. */
export const RECORDS_AT_ONCE = 1000;

/** Every statement that a request of a gateway waits for. The first value is always the tenant. */
export type Statements = Readonly<Record<keyof ReturnType<typeof textsOf>, Prepared>>;

export function statementsOf(pool: TimedPool, schema: string): Statements {
  const entries = Object.entries(textsOf(pool, schema)).map(([name, text]) => [name, prepared(text)]);
  return Object.fromEntries(entries);
}

/**
 * `getOne` and `getMany` are answered in binary: see `askBinary`.
 *
 * A single text has its own statements: for a list of one, PostgreSQL would plan the others again at every call, because its plan
 * for a list of any length looks more expensive.
 */
function textsOf(pool: TimedPool, schema: string) {
  const table = (name: string): string => `"${schema}".${name}`;
  // The shared lock excludes deletions. A put must not rely on what it read before it had the lock: that text may
  // have been removed while it waited. ON CONFLICT looks at the rows as they are, so texts and references are always inserted.
  const put = begun(
    pool,
    'pg_advisory_xact_lock_shared($2::bigint)',
    `coalesce($3::bigint, nextval('${table('batches')}')) * ${BATCH_PLACES} AS seq`,
  );
  // A text that was there already must be the same. If it is another, the cast fails, and with it the whole statement. It
  // fails too if the text was committed by another process after this statement began, so that this one cannot see it.
  const isSame = (digest: string, bytes: string): string =>
    `CASE WHEN texts.digest = ${digest} AND texts.bytes = ${bytes} THEN 1 ELSE ('${CLASH}' || texts.handle)::integer END`;
  const unseen = (column: string): string => `('${UNSEEN}' || ${column})::integer`;
  // A row for each text, and one with the references of all texts: a row for each reference takes the client longer, and
  // aggregating the references of each text takes the server longer.
  const line = `concat_ws(' ', handle, seq, session, turn, tool)`;
  const read = (columns: readonly string[], isAsked: string, lines: string, holds = ''): string =>
    `SELECT ${columns.join(', ')}, NULL AS reference FROM ${table('texts')} WHERE tenant = $1 AND ${isAsked}${holds}
     UNION ALL SELECT ${columns.map(() => 'NULL').join(', ')}, ${lines} FROM ${table('refs')} WHERE tenant = $1 AND ${isAsked}`;
  const lines = `string_agg(${line}, E'\\n')`;
  // Not a common table expression: PostgreSQL would copy all rows of it once more.
  const items = `unnest($7::text[], $5::bytea[], $8::integer[], $9::bigint[], $10::integer[], $11::integer[])
          AS item (handle, digest, first, bytes, start, length)`;
  const insertTexts = `INSERT INTO ${table('texts')} (tenant, handle, seq, digest, bytes, body)
        SELECT $1, handle, seq + first, digest, bytes, substring($16::bytea FROM start + 1 FOR length)
        FROM begun, ${items} WHERE length >= 0`;
  const insertReferences = `INSERT INTO ${table('refs')} (tenant, handle, key, seq, session, turn, tool)
        SELECT $1, handle, key, seq + place, session, turn, tool
        FROM begun, unnest($7::text[], $6::bytea[], $12::integer[], $13::text[], $14::bigint[], $15::text[])
          AS item (handle, key, place, session, turn, tool)
        WHERE place >= 0`;
  const isOneOf = 'handle = ANY ($2::text[])';
  const hex = ['handle', `encode(body, 'hex') AS body`];
  return {
    putOne: `${put},
      added AS (INSERT INTO ${table('texts')} (tenant, handle, seq, digest, bytes, body)
        SELECT $1, $4, seq, $5::bytea, $6::bigint, $7::bytea FROM begun
        ON CONFLICT (tenant, handle) DO NOTHING RETURNING handle)
      INSERT INTO ${table('refs')} (tenant, handle, key, seq, session, turn, tool)
      SELECT $1, $4, $8::bytea, seq, $9, $10::bigint, $11 FROM begun
      WHERE EXISTS (SELECT FROM added) OR 1 = coalesce(
        (SELECT ${isSame('$5', '$6')} FROM ${table('texts')} WHERE tenant = $1 AND handle = $4),
        (SELECT ${unseen('seq')} FROM begun))
      ON CONFLICT (tenant, handle, key) DO NOTHING`,
    // A row for each reference. The first one of a text has the text too; the others have a length of -1. A place of -1 is a
    // text without a reference. All lists are in binary: see `binary-list.ts`. All bodies are one value, so that they are copied
    // once. It is the last one: pg copies all values before a value that does not fit into its memory.
    //
    // If all texts are new, they have no references yet, and plain inserts are enough: ON CONFLICT would search each index once
    // more. If one of the rows is there after all, a plain insert fails. The statement is then sent again with $4 set.
    putMany: `${put},
      fresh AS (${insertTexts} AND NOT $4::boolean
          AND 0 = (SELECT count(*) FROM ${table('texts')} WHERE tenant = $1 AND handle = ANY ($7::text[]))
        RETURNING 1),
      batch AS (SELECT count(*) > 0 AS is_new FROM fresh),
      linked AS (${insertReferences} AND (SELECT is_new FROM batch)),
      added AS (${insertTexts} AND NOT (SELECT is_new FROM batch)
        ON CONFLICT (tenant, handle) DO NOTHING RETURNING handle)
      ${insertReferences} AND NOT (SELECT is_new FROM batch) AND 0 <= (
          SELECT coalesce(sum(CASE WHEN texts.handle IS NULL THEN ${unseen('item.handle')}
            ELSE ${isSame('item.digest', 'item.bytes')} END), 0)
          FROM ${items} LEFT JOIN ${table('texts')} ON texts.tenant = $1 AND texts.handle = item.handle
          WHERE length >= 0 AND item.handle NOT IN (SELECT handle FROM added))
      ON CONFLICT (tenant, handle, key) DO NOTHING`,
    getOne: read(['body'], 'handle = $2', line),
    getMany: read(['body'], isOneOf, lines),
    getManyAsHex: read(hex, isOneOf, lines),
    // UTF-16 is returned unsearched.
    getManyHolding: read(
      hex,
      isOneOf,
      lines,
      ` AND (position($3::bytea in body) > 0 OR substring(body FOR 1) = '\\xff'::bytea)`,
    ),
    putTurns: `${begun(pool)}
      INSERT INTO ${table('turns')} (tenant, session, turn, body)
      SELECT $1, session, turn, substring($2::bytea FROM start FOR length)
      FROM begun, unnest($3::text[], $4::bigint[], $5::integer[], $6::integer[]) AS item (session, turn, start, length)
      ON CONFLICT (tenant, session, turn) DO UPDATE SET body = EXCLUDED.body, at = now()`,
    turn: `SELECT encode(body, 'hex') AS body FROM ${table('turns')} WHERE tenant = $1 AND session = $2 AND turn = $3`,
    turns: `SELECT encode(body, 'hex') AS body FROM ${table('turns')}
      WHERE tenant = $1 AND session = $2 AND turn > $3 ORDER BY turn LIMIT ${ROWS_AT_ONCE}`,
    putNote: `${begun(pool)}
      INSERT INTO ${table('notes')} (tenant, session, name, digest, body)
      SELECT $1, $2, $3, $4::bytea, $5::bytea FROM begun
      ON CONFLICT (tenant, session, name) DO UPDATE SET digest = EXCLUDED.digest, body = EXCLUDED.body, at = now()`,
    note: `SELECT session, name, encode(digest, 'hex') AS digest, encode(body, 'hex') AS body FROM ${table('notes')}
      WHERE tenant = $1 AND session = $2 AND name = $3`,
    putRecords: `${begun(pool)}
      INSERT INTO ${table('records')} (tenant, at, id, session, conversation, body)
      SELECT $1, at, id, session, conversation, body
      FROM begun, unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
        AS item (at, id, session, conversation, body)
      ON CONFLICT DO NOTHING`,
    records: `SELECT at, id, body FROM ${table('records')}
      WHERE tenant = $1 AND (at, id) > ($2, $3) AND ($4::bigint IS NULL OR at < $4) ORDER BY at, id LIMIT ${RECORDS_AT_ONCE}`,
    touch: `${begun(pool)}
      INSERT INTO ${table('uses')} (tenant, session, at)
      SELECT $1, $2, now() FROM begun WHERE ${['refs', 'turns', 'notes']
        .map((name) => `EXISTS (SELECT FROM ${table(name)} WHERE tenant = $1 AND session = $2)`)
        .join(' OR ')}
      ON CONFLICT (tenant, session) DO UPDATE SET at = now()
      WHERE uses.at NOT BETWEEN now() - interval '1 hour' AND now() + interval '1 hour'`,
    deletions: `SELECT count FROM ${table('deletions')} WHERE tenant = $1`,
  };
}
