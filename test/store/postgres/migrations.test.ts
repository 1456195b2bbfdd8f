import { readdirSync, readFileSync } from 'node:fs';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { handleOf } from '../../../src/store/handle.ts';
import { lockKey, SCHEMA_VERSION } from '../../../src/store/postgres/migrate.ts';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';

/** A file for each version of the schema: its tables as that version made them, and rows as it wrote them. */
const folder = new URL('./schemas/', import.meta.url);
const versions = readdirSync(folder)
  .map((name) => Number(/^version-(\d+)\.sql$/.exec(name)?.[1]))
  .sort((a, b) => a - b);

let server: PostgresServer;
let pool: Pool;
const schemas: string[] = [];

beforeAll(async () => {
  server = await startPostgres();
  pool = new Pool({ connectionString: server.url, max: 8 });
}, 60_000);

afterAll(async () => {
  for (const name of schemas) await pool.query(`DROP SCHEMA IF EXISTS "${name}" CASCADE`);
  await pool?.end();
  await server?.stop();
}, 60_000);

async function makeSchema(version: number): Promise<string> {
  const name = `palimpsest_v${version}_${process.pid}_${schemas.length}`;
  schemas.push(name);
  const file = readFileSync(new URL(`version-${version}.sql`, folder), 'utf8');
  await pool.query(file.replaceAll('palimpsest.', `"${name}".`).replace('SCHEMA palimpsest', `SCHEMA "${name}"`));
  return name;
}

const open = (schema: string): Store => createPostgresStore({ pool, schema });

async function all<T>(items: AsyncIterable<T> | undefined): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items ?? []) list.push(item);
  return list;
}

const [FIRST, SECOND, LOOSE] = ['first kept text', 'second kept text', 'a text without a session'] as const;

/** As every version since the first has written: without the columns that came later. */
async function writeAsOlder(schema: string, text: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SELECT pg_advisory_xact_lock_shared(${lockKey(schema, 'tenant', 'default')})`);
    const { rows } = await client.query(`SELECT nextval('"${schema}".batches') AS batch`);
    const seq = Number(rows[0].batch) * 2 ** 20;
    await client.query(
      `INSERT INTO "${schema}".texts (tenant, handle, seq, digest, bytes, body)
       VALUES ('default', $1, $2, sha256($3::bytea), $4, $3::bytea) ON CONFLICT DO NOTHING RETURNING handle`,
      [handleOf(text), seq, Buffer.from(text), text.length],
    );
    await client.query(
      `INSERT INTO "${schema}".refs (tenant, handle, key, seq, session, turn, tool)
       VALUES ('default', $1, '\\x00', $2, 'older', 1, '') ON CONFLICT DO NOTHING`,
      [handleOf(text), seq],
    );
    await client.query(
      `INSERT INTO "${schema}".turns (tenant, session, turn, body) VALUES ('default', 'older', 1, $1)
       ON CONFLICT (tenant, session, turn) DO UPDATE SET body = EXCLUDED.body`,
      [Buffer.from(JSON.stringify({ session: 'older', turn: 1 }))],
    );
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

describe('a schema of each version', () => {
  it('is there for every version', () => {
    expect(versions).toEqual(Array.from({ length: SCHEMA_VERSION }, (_, i) => i + 1));
  });

  it.each(versions)(
    '%i is migrated once by processes that start together, and everything in it is read',
    async (version) => {
      const schema = await makeSchema(version);
      const stores = [0, 1, 2, 3].map(() => open(schema));
      await Promise.all(stores.map((each) => each.deletions()));
      const { rows } = await pool.query(`SELECT version FROM "${schema}".migrations ORDER BY version`);
      expect(rows.map((row) => row.version)).toEqual(versions);
      const [store] = stores as [Store];
      const found = await store.getMany([FIRST, SECOND, LOOSE].map(handleOf));
      expect(found.map((stored) => [stored?.text, stored?.refs])).toEqual([
        [FIRST, [{ session: 's1', turn: 1 }]],
        [SECOND, [{ session: 's1', turn: 2, tool: 'read_file' }]],
        [LOOSE, [{}]],
      ]);
      expect((await all(store.list('s1'))).map(({ text }) => text)).toEqual([FIRST, SECOND]);
      expect((await all(store.search('kept'))).map(({ text }) => text)).toEqual([FIRST, SECOND]);
      expect((await all(store.turns('s1'))).map(({ turn, reasoning }) => [turn, reasoning])).toEqual([
        [1, 'because'],
        [2, 'because'],
      ]);
      expect(await store.note('s1', 'kept')).toBe(version >= 2 ? 'a note' : undefined);
      expect(await store.secret()).toMatch(version >= 3 ? /^(ab){32}$/ : /^[0-9a-f]{64}$/);
      expect(await store.deletions()).toBe(version >= 8 ? 4 : 0);
      expect((await all(store.records?.())).map(({ id, session }) => [id, session])).toEqual(
        version >= 9 ? [['r1', 'session']] : [],
      );
      expect((await all(store.sessions())).map(({ session, texts, turns }) => [session, texts, turns])).toEqual([
        ['s1', 2, 2],
      ]);
      expect(await store.verify()).toEqual([]);
      expect((await all(store.export())).length).toBe(5 + Number(version >= 2) + Number(version >= 9));
    },
  );

  it.each(versions)('%i: a process of that version goes on beside new ones', async (version) => {
    const schema = await makeSchema(version);
    await writeAsOlder(schema, 'before');
    const store = open(schema);
    const writing = (async () => {
      for (let n = 0; n < 10; n++) await writeAsOlder(schema, `meanwhile ${n}`);
    })();
    await Promise.all([store.put('of now', { session: 'new' }), writing]);
    await writeAsOlder(schema, 'after');
    // The new one writes what the older one has, and the other way round.
    await store.put('after', { session: 'new' });
    await writeAsOlder(schema, 'of now');
    const texts = ['before', 'meanwhile 0', 'meanwhile 9', 'of now', 'after'];
    const found = await store.getMany(texts.map(handleOf));
    expect(found.map((stored) => stored?.text)).toEqual(texts);
    expect(found.at(-1)?.refs.map(({ session }) => session)).toEqual(['older', 'new']);
    expect((await store.delete('older')).texts).toBe(11);
    expect((await all(store.list('new'))).map(({ text }) => text)).toEqual(['of now', 'after']);
    expect(await store.verify()).toEqual([]);
  });

  it('that is newer than the program is refused, and the error says what to do', async () => {
    const schema = await makeSchema(SCHEMA_VERSION);
    await pool.query(`INSERT INTO "${schema}".migrations (version) VALUES (${SCHEMA_VERSION + 1})`);
    const error = await open(schema)
      .stats()
      .catch((thrown) => thrown);
    expect(error.code).toBe('STORE_FAILED');
    expect(error.message).toContain(`found ${SCHEMA_VERSION + 1}; update palimpsest`);
  });
});
