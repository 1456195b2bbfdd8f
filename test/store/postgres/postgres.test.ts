import { setTimeout } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slidingWindow } from '../../../src/index.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { fitAndStore } from '../../../src/store/index.ts';
import { lockKey } from '../../../src/store/postgres/migrate.ts';
import { createPostgresStore, type PostgresPool } from '../../../src/store/postgres-store.ts';
import type { Store, TurnRecord } from '../../../src/store/store.ts';
import { storeConformance } from '../../../src/testing/index.ts';
import { history } from '../../support/chat.ts';
import { changedStore } from '../../support/gateway/gateway.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { recordOf } from '../../support/store/records.ts';

let server: PostgresServer;
let pool: Pool;
const pools: Pool[] = [];

/** One run's own schema: a server that is already there may have been used before. */
const schema = `palimpsest_test_${process.pid}_${Date.now().toString(36)}`;
const schemas: string[] = [schema];

beforeAll(async () => {
  server = await startPostgres();
  pool = openPool();
}, 60_000);

afterAll(async () => {
  for (const name of schemas) await pool?.query(`DROP SCHEMA IF EXISTS "${name}" CASCADE`);
  await Promise.all(pools.map((one) => one.end()));
  await server?.stop();
}, 60_000);

function openPool(options: object = {}): Pool {
  const opened = new Pool({ connectionString: server.url, max: 4, ...options });
  // Connections are killed here on purpose.
  opened.on('error', () => {});
  pools.push(opened);
  return opened;
}

const open = (tenant: string, on: Pool = pool): Store => createPostgresStore({ pool: on, tenant, schema });

function newSchema(): string {
  const name = `${schema}_${schemas.length}`;
  schemas.push(name);
  return name;
}

storeConformance(
  { describe, it, expect },
  {
    name: 'postgres',
    keepsRecords: true,
    open: async (tenant = 'default') => open(tenant),
    reopen: async (store, tenant) => {
      await store.close();
      return open(tenant, openPool());
    },
  },
);

describe('createPostgresStore', () => {
  it('stores any letter in a database of another encoding', async () => {
    const name = `${schema}_latin`;
    await pool.query(`CREATE DATABASE "${name}" ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`);
    const latin = new Pool({ connectionString: Object.assign(new URL(server.url), { pathname: name }).href, max: 2 });
    const store = createPostgresStore({ pool: latin });
    const record = recordOf('r', 1, { model: 'モデル' });
    await store.putRecords?.([record]);
    const handle = await store.put('テキスト', { session: 's', turn: 1, tool: 'シェル' });
    await store.putNote({ session: 's', name: 'n', text: 'メモ' });
    const records: unknown[] = [];
    for await (const one of store.records?.() ?? []) records.push(one);
    expect(records).toEqual([record]);
    expect(await store.get(handle)).toMatchObject({ text: 'テキスト', refs: [{ tool: 'シェル' }] });
    expect(await store.note('s', 'n')).toBe('メモ');
    await store.close();
    await latin.end();
    await pool.query(`DROP DATABASE "${name}"`);
  });

  it('records the turns of a conversation, only new ones after it was closed and opened', async () => {
    const policy = slidingWindow({ turns: 2 });
    for (const [turns, statements] of [
      [4, true],
      [4, false],
      [5, true],
    ] as const) {
      const store = open('trajectory', openPool());
      let written = false;
      const putTurns: Store['putTurns'] = (records) => {
        written = true;
        return store.putTurns(records);
      };
      await fitAndStore(history(turns), { store: changedStore(store, { putTurns }), session: 'run', policy });
      expect([turns, written]).toEqual([turns, statements]);
      await store.close();
    }
    const records: TurnRecord[] = [];
    const store = open('trajectory');
    for await (const record of store.turns('run')) records.push(record);
    expect(records.map(({ turn, masked }) => [turn, masked])).toEqual(
      [0, 1, 2, 3, 4, 5].map((turn) => [turn, turn > 0 && turn < 4]),
    );
    expect((await store.get(records[3]?.results?.[0]?.handle ?? ''))?.text).toBe(history(3)[7]?.content);
    await store.delete('run');
    expect((await store.stats()).turns).toBe(0);
  });

  it.each([
    { pool: undefined },
    { pool: {} },
    { tenant: '../x' },
    { tenant: 5 },
    { schema: 'a"; DROP TABLE x; --' },
    { schema: '' },
    { schema: 'x'.repeat(64) },
    { scheme: 'x' },
    { timeoutMs: 0 },
    { timeoutMs: Number.POSITIVE_INFINITY },
  ])('refuses %j', (options) => {
    expect(() => createPostgresStore({ pool, ...options } as never)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION' }),
    );
  });

  it('works with a pool of one connection, also while a list is being read', async () => {
    const store = open('one-connection', openPool({ max: 1 }));
    await store.putMany(Array.from({ length: 600 }, (_, i) => ({ text: `t${i}`, about: { session: 's', turn: i } })));
    let seen = 0;
    for await (const { handle } of store.list('s')) {
      if (seen++ % 100 === 0) expect((await store.get(handle))?.handle).toBe(handle);
    }
    expect(seen).toBe(600);
  });

  it('does not mind how the owner of the pool parses values', async () => {
    const types = { getTypeParser: () => () => 'mine' };
    const store = open('own-types', openPool({ types }));
    const handle = await store.put('text', { session: 's', turn: 3 });
    expect(await store.get(handle)).toEqual({ handle, text: 'text', bytes: 4, refs: [{ session: 's', turn: 3 }] });
    expect((await store.stats()).texts).toBe(1);
  });

  it('leaves the pool open', async () => {
    const store = open('left-open');
    await store.put('text', {});
    await store.close();
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it('stores more than one statement holds, in one batch', async () => {
    const store = open('large-batch');
    const items = Array.from({ length: 30 }, (_, i) => ({
      text: `${i}`.repeat(500_000),
      about: { session: 's', turn: i },
    }));
    await store.putMany(items);
    let index = 0;
    for await (const { text } of store.list('s')) expect(text === items[index++]?.text).toBe(true);
    expect(index).toBe(30);
  });

  it('pages through more texts, turns and notes than a page holds', async () => {
    const store = open('pages');
    await store.putMany(
      Array.from({ length: 2500 }, (_, i) => ({ text: `text ${i}`, about: { session: 's', turn: i } })),
    );
    for (let turn = 0; turn < 300; turn++)
      await store.putTurn({ session: `s${turn % 3}`, turn, reasoning: '', action: '', observation: '', masked: false });
    for (let n = 0; n < 200; n++) await store.putNote({ session: `s${n % 3}`, name: `n${n}`, text: '' });
    const lines: object[] = [];
    for await (const line of store.export()) lines.push(line);
    expect(lines.length).toBe(3000);
    expect(new Set(lines.map((line) => JSON.stringify(line))).size).toBe(3000);
    const found: number[] = [];
    for await (const { refs } of store.search('9', { session: 's' })) found.push(refs[0]?.turn ?? -1);
    expect(found).toEqual(Array.from({ length: 2500 }, (_, i) => i).filter((i) => `${i}`.includes('9')));
  });

  it('is durable where the server is set to answer before its disk does', async () => {
    const name = newSchema();
    const relaxed = openPool({ options: '-c synchronous_commit=off' });
    const store = createPostgresStore({ pool: relaxed, schema: name });
    await store.stats();
    // A deferred trigger runs at the commit, with the setting that the commit obeys.
    await pool.query(`CREATE TABLE "${name}".seen (setting text);
      CREATE FUNCTION "${name}".see() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO "${name}".seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`);
    for (const table of ['texts', 'turns', 'notes', 'records', 'uses'])
      await pool.query(`CREATE CONSTRAINT TRIGGER see AFTER INSERT ON "${name}".${table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION "${name}".see()`);
    await writeOneOfEach(store);
    await store.putMany(['several', 'texts'].map((text) => ({ text, about: {} })));
    await store.putMany(['a', 'b'].map((letter) => ({ text: letter.repeat(5_000_000), about: {} })));
    const { rows } = await pool.query(`SELECT setting, count(*)::int FROM "${name}".seen GROUP BY setting`);
    expect(rows).toEqual([{ setting: 'on', count: 9 }]);
  });

  it('takes one statement for each call, however many texts it has', async () => {
    const name = newSchema();
    const { watched, sent } = watchedPool();
    const store = createPostgresStore({ pool: watched, schema: name });
    await store.deletions();
    sent.length = 0;
    await writeOneOfEach(store);
    expect(sent.length).toBe(5);
    const items = Array.from({ length: 500 }, (_, i) => ({ text: `text ${i}`, about: { session: 's', turn: i } }));
    const handles = await store.putMany(items);
    await store.getMany(handles);
    await store.get(handles[0] ?? '');
    await store.note('s', 'n');
    await store.turn('s', 1);
    expect(sent.length).toBe(10);
    expect(sent.filter((text) => /^(BEGIN|COMMIT)/.test(text))).toEqual([]);
  });

  it('takes one statement for one text, however large it is and however many references it has', async () => {
    const { watched, sent } = watchedPool();
    const store = createPostgresStore({ pool: watched, schema: newSchema() });
    await store.stats();
    sent.length = 0;
    const large = await store.put('€'.repeat(3_000_000), { session: 's' });
    const [shared] = await store.putMany(Array.from({ length: 6000 }, (_, turn) => ({ text: 'one', about: { turn } })));
    expect(sent.length).toBe(2);
    expect((await store.get(large))?.bytes).toBe(9_000_000);
    expect((await store.get(shared ?? ''))?.refs.map(({ turn }) => turn)).toEqual([...Array(6000).keys()]);
  });

  it('keeps turns, tools and sizes of a batch as they are', async () => {
    const store = open('edges');
    const items = [
      { text: 'largest turn', about: { session: 's', turn: Number.MAX_SAFE_INTEGER } },
      { text: 'beyond 32 bits', about: { session: 's', turn: 2 ** 32 } },
      { text: 'no turn, no session', about: {} },
      { text: 'empty tool', about: { tool: '' } },
      { text: 'tool', about: { session: 's', turn: 0, tool: '{"a", NULL} \\ \0 é 🙂 \ud800' } },
      { text: 'é€🙂', about: { turn: 1 } },
      { text: 'lone \udfff', about: { turn: 2 } },
      { text: '', about: { turn: 3 } },
    ];
    const found = await store.getMany(await store.putMany(items));
    expect(found.map((stored) => stored && { text: stored.text, about: stored.refs[0] })).toEqual(items);
    expect(found.map((stored) => stored?.bytes)).toEqual(items.map(({ text }) => Buffer.byteLength(text)));
    expect(await store.verify()).toEqual([]);
  });

  it('never mixes the texts of stores that write at once', async () => {
    const name = newSchema();
    const pools = [openPool(), openPool(), openPool()];
    const stores = pools.map((own, i) => createPostgresStore({ pool: own, schema: name, tenant: `t${i}` }));
    const batch = (store: number, round: number) =>
      Array.from({ length: 50 }, (_, i) => ({
        text: `${store} ${round} ${i} ${'x'.repeat(i * 40)}`,
        about: { session: 's' },
      }));
    for (let round = 0; round < 20; round++)
      await Promise.all(stores.map((store, i) => store.putMany(batch(i, round % (5 + i) === 0 ? 0 : round))));
    for (const [i, store] of stores.entries()) {
      expect(await store.verify()).toEqual([]);
      const texts: string[] = [];
      for await (const { text } of store.list('s')) texts.push(text);
      expect(texts.every((text) => text.startsWith(`${i} `))).toBe(true);
    }
  });

  it('writes where the database is read-only by default, or isolates more strictly', async () => {
    for (const option of ['default_transaction_read_only=on', 'default_transaction_isolation=serializable']) {
      const name = newSchema();
      await createPostgresStore({ pool, schema: name }).stats();
      const stores = [0, 1, 2].map(() =>
        createPostgresStore({ pool: openPool({ options: `-c ${option}` }), schema: name }),
      );
      await Promise.all(stores.map(writeOneOfEach));
      const items = Array.from({ length: 100 }, (_, i) => ({ text: `text ${i}`, about: { session: 's' } }));
      await Promise.all(stores.flatMap((store) => [store.putMany(items), store.putMany(items)]));
      expect((await stores[0]?.stats())?.texts).toBe(101);
      expect(await stores[0]?.verify()).toEqual([]);
    }
  });

  it('goes on where a pooler loses prepared statements', async () => {
    const forgetful = openPool({ max: 1 });
    const store = open('forgetful', forgetful);
    const handle = await store.put('text', { session: 's' });
    await forgetful.query('DEALLOCATE ALL');
    expect((await store.get(handle))?.text).toBe('text');
    await forgetful.query('DEALLOCATE ALL');
    await writeOneOfEach(store);
    expect((await store.get(handle))?.text).toBe('text');
    expect(forgetful.totalCount).toBe(1);
  });

  it('keeps its connection when it reads what PostgreSQL has no text for', async () => {
    const one = openPool({ max: 1 });
    const store = open('no-text', one);
    const texts = ['plain', 'with \0 in it', 'lone \ud800', 'é𝄞'];
    const handles = await store.putMany(
      texts.map((text) => ({ text, about: { session: 'NULL', tool: 'a "b" \\ \n' } })),
    );
    const pidOf = async () => (await one.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
    const pid = await pidOf();
    const found = await store.getMany(handles);
    expect(found.map((stored) => stored?.text)).toEqual(texts);
    expect(found[1]?.refs).toEqual([{ session: 'NULL', tool: 'a "b" \\ \n' }]);
    for (const [i, handle] of handles.entries()) expect((await store.get(handle))?.text).toBe(texts[i]);
    expect(await pidOf()).toBe(pid);
  });
});

/** A pool, and the statements that were sent through it. */
function watchedPool(): { watched: Pool; sent: string[] } {
  const sent: string[] = [];
  const watched = openPool();
  watched.on('connect', (client) => {
    const query = client.query.bind(client) as (config: object) => Promise<unknown>;
    Object.assign(client, {
      query: (config: { readonly text: string }) => {
        sent.push(config.text);
        return query(config);
      },
    });
  });
  return { watched, sent };
}

/** One statement each. */
async function writeOneOfEach(store: Store): Promise<void> {
  await store.put('text', { session: 's' });
  await store.putTurn({ session: 's', turn: 1, reasoning: '', action: '', observation: '', masked: false });
  await store.putNote({ session: 's', name: 'n', text: '' });
  await store.putRecords?.([recordOf('r', 1)]);
  await store.touch('s');
}

describe('the secret', () => {
  it('is one for all processes that make it at once, and a role that may only read finds it', async () => {
    const name = newSchema();
    const stores = Array.from({ length: 8 }, () => createPostgresStore({ pool: openPool({ max: 1 }), schema: name }));
    const secrets = await Promise.all(stores.map((store) => store.secret()));
    expect(new Set(secrets).size).toBe(1);
    const { rows } = await pool.query(`SELECT tenant, secret FROM "${name}".secrets`);
    expect(rows).toEqual([{ tenant: 'default', secret: secrets[0] }]);
    const reader = openPool({ options: '-c default_transaction_read_only=on' });
    expect(await createPostgresStore({ pool: reader, schema: name }).secret()).toBe(secrets[0]);
  });
});

describe('migrations', () => {
  const versions = async (name: string) => (await pool.query(`SELECT version FROM "${name}".migrations`)).rows;

  const LAST = 9;
  const upTo = (last: number) => Array.from({ length: last }, (_, i) => ({ version: i + 1 }));

  /** Makes a schema what an older version left. */
  async function takeBack(name: string, version: 1 | 2): Promise<void> {
    for (const table of ['texts', 'refs', 'turns', 'notes'])
      await pool.query(`ALTER TABLE "${name}".${table} DROP COLUMN at`);
    await pool.query(`DROP TABLE "${name}".secrets, "${name}".uses, "${name}".deletions, "${name}".records`);
    if (version === 1) await pool.query(`DROP TABLE "${name}".notes`);
    await pool.query(`DELETE FROM "${name}".migrations WHERE version > $1`, [version]);
  }

  it('run once, however many processes start at once', async () => {
    const name = newSchema();
    const stores = Array.from({ length: 8 }, () =>
      createPostgresStore({ pool: openPool({ max: 1 }), tenant: 'default', schema: name }),
    );
    await Promise.all(stores.map((store, i) => store.put(`text ${i}`, { session: 's' })));
    expect(await versions(name)).toEqual(upTo(LAST));
    expect((await stores[0]?.stats())?.texts).toBe(8);
  });

  it('change nothing the second time, also for a role that may create nothing', async () => {
    const name = newSchema();
    await createPostgresStore({ pool, schema: name }).put('kept', { session: 's' });
    const role = `${name}_role`;
    await pool.query(`CREATE ROLE "${role}" LOGIN PASSWORD 'x'`);
    await pool.query(`GRANT USAGE ON SCHEMA "${name}" TO "${role}"`);
    await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${name}" TO "${role}"`);
    await pool.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA "${name}" TO "${role}"`);
    const url = new URL(server.url);
    const limited = openPool({
      connectionString: undefined,
      host: url.hostname,
      port: Number(url.port),
      database: url.pathname.slice(1),
      user: role,
      password: 'x',
    });
    const store = createPostgresStore({ pool: limited, schema: name });
    await store.put('more', { session: 's' });
    expect((await store.get(handleOf('kept')))?.text).toBe('kept');
    await store.delete('s');
    expect((await store.stats()).texts).toBe(0);
    await limited.end();
    pools.splice(pools.indexOf(limited), 1);
    await pool.query(`DROP OWNED BY "${role}"`);
    await pool.query(`DROP ROLE "${role}"`);
  });

  it('that a role may not run are told with the version, and what to do', async () => {
    const name = newSchema();
    await createPostgresStore({ pool, schema: name }).put('kept', { session: 's' });
    await takeBack(name, 2);
    const role = `${name}_role`;
    await pool.query(`CREATE ROLE "${role}"; GRANT USAGE ON SCHEMA "${name}" TO "${role}";
      GRANT SELECT ON ALL TABLES IN SCHEMA "${name}" TO "${role}"`);
    const limited = openPool({ options: `-c role=${role}` });
    await expect(createPostgresStore({ pool: limited, schema: name }).get(handleOf('kept'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringMatching(
        /from version 2 to 9 but found: permission denied .*; run this version .* once with a role/,
      ),
    });
    await pool.query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
  });

  it('add notes and secrets to a schema of the first version, and keep all that is in it', async () => {
    const name = newSchema();
    await createPostgresStore({ pool, schema: name }).put('kept', { session: 's' });
    await takeBack(name, 1);
    const store = createPostgresStore({ pool, schema: name });
    expect(await store.note('s', 'n')).toBe(undefined);
    await store.putNote({ session: 's', name: 'n', text: 'new' });
    expect(await store.note('s', 'n')).toBe('new');
    expect((await store.get(handleOf('kept')))?.text).toBe('kept');
    expect(await store.secret()).toMatch(/^[0-9a-f]{64}$/);
    expect(await versions(name)).toEqual(upTo(LAST));
  });

  it('add times to a schema of the version before, while processes of that version go on writing', async () => {
    const name = newSchema();
    await createPostgresStore({ pool, schema: name }).put('of before', { session: 'old', turn: 1 });
    await takeBack(name, 2);
    // The statements of that version.
    const write = async (n: number): Promise<void> => {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query(`INSERT INTO "${name}".texts (tenant, handle, seq, digest, bytes, body)
        VALUES ('default', '${handleOf(`text ${n}`)}', ${1e9 + n}, sha256('text ${n}'), 6, 'text ${n}')`);
      await client.query(`INSERT INTO "${name}".refs (tenant, handle, key, seq, session, turn, tool)
        VALUES ('default', '${handleOf(`text ${n}`)}', '\\x00', ${1e9 + n}, 'beside', 1, '')`);
      await client.query('COMMIT');
      client.release();
    };
    const remove = async (n: number): Promise<void> => {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query(`DELETE FROM "${name}".refs WHERE handle = '${handleOf(`text ${n}`)}'`);
      await client.query(`DELETE FROM "${name}".texts WHERE handle = '${handleOf(`text ${n}`)}'`);
      await client.query('COMMIT');
      client.release();
    };
    const writing = (async () => {
      for (let n = 0; n < 60; n++) {
        await write(n);
        if (n % 2) await remove(n);
      }
    })();
    const store = createPostgresStore({ pool: openPool(), schema: name });
    const began = Date.now();
    await Promise.all([writing, store.put('of now', { session: 'new' })]);
    expect(await versions(name)).toEqual(upTo(LAST));
    expect((await store.stats()).texts).toBe(32);
    // Rows without a time count from the migration on.
    for await (const { firstAt } of store.sessions()) expect(Math.abs(firstAt - began)).toBeLessThan(600_000);
    expect((await store.prune({ maxAgeMs: 86_400_000 })).sessions).toBe(0);
  });

  it('refuse a schema from the future', async () => {
    const name = newSchema();
    await createPostgresStore({ pool, schema: name }).stats();
    await pool.query(`INSERT INTO "${name}".migrations (version) VALUES (99)`);
    await expect(createPostgresStore({ pool, schema: name }).stats()).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});

describe('retention', () => {
  it('a session that is only touched is not the oldest any more', async () => {
    const store = open('touched');
    for (const session of ['live', 'idle']) await store.put(`of ${session}`, { session });
    await pool.query(`UPDATE "${schema}".refs SET at = now() - interval '40 days' WHERE tenant = 'touched'`);
    await store.touch('live');
    const report = await store.prune({ maxAgeMs: 30 * 86_400_000 });
    expect([report.sessions, report.texts]).toEqual([1, 1]);
    expect((await store.get(handleOf('of live')))?.text).toBe('of live');
    expect(await store.get(handleOf('of idle'))).toBe(undefined);
  });

  it('a session that is used while prune gets to it keeps that use, and the next prune leaves it alone', async () => {
    const [store, other] = [open('used'), open('used', openPool())];
    await store.put('of live', { session: 'live' });
    await pool.query(`UPDATE "${schema}".refs SET at = now() - interval '40 days' WHERE tenant = 'used'`);
    const own = openPool();
    let isTouched = false;
    // The session is chosen, then touched by another process, then looked at in the transaction that would remove it.
    const watched: PostgresPool = {
      connect: (lent) =>
        own.connect((error, client) => {
          const query = client?.query.bind(client);
          if (client)
            client.query = (async (config: { text: string }) => {
              const isRemoval = config.text.startsWith('BEGIN') && !isTouched;
              isTouched ||= isRemoval;
              if (isRemoval) await other.touch('live');
              return query?.(config as never);
            }) as never;
          lent(error, client as never);
        }),
    };
    const limits = { maxAgeMs: 30 * 86_400_000 };
    const pruning = createPostgresStore({ pool: watched, tenant: 'used', schema });
    await pruning.stats();
    isTouched = false;
    expect(await pruning.prune(limits)).toMatchObject({ sessions: 0, texts: 0 });
    expect(isTouched).toBe(true);
    expect(await store.prune(limits)).toMatchObject({ sessions: 0, texts: 0 });
    expect((await store.get(handleOf('of live')))?.text).toBe('of live');
  });

  it('a session of thousands of texts is removed in short transactions, and others write meanwhile', async () => {
    const [store, other] = [open('large'), open('large', openPool())];
    await store.putMany(Array.from({ length: 3500 }, (_, i) => ({ text: `t${i}`, about: { session: 's', turn: i } })));
    const begun: string[] = [];
    const own = openPool();
    const watched: PostgresPool = {
      connect: (lent) =>
        own.connect((error, client) => {
          const query = client?.query.bind(client);
          if (client)
            client.query = ((config: { text: string }) => {
              if (config.text.startsWith('BEGIN')) begun.push(config.text);
              return query?.(config as never);
            }) as never;
          lent(error, client as never);
        }),
    };
    const pruning = createPostgresStore({ pool: watched, tenant: 'large', schema });
    const [removed] = await Promise.all([pruning.delete('s'), other.put('meanwhile', { session: 'new' })]);
    expect([removed.texts, begun.length > 3]).toEqual([3500, true]);
    expect((await other.stats()).texts).toBe(1);
    expect((await other.get(handleOf('meanwhile')))?.text).toBe('meanwhile');
  });

  it('a deletion is noticed by other processes', async () => {
    const [store, other] = [open('noticed'), open('noticed', openPool())];
    await store.put('text', { session: 's' });
    const before = await other.deletions();
    await store.delete('s');
    await setTimeout(1100);
    expect(await other.deletions()).not.toBe(before);
  });
});

describe('two pools', () => {
  it('see each other’s notes, and the last one of a name', async () => {
    const [a, b] = [open('shared-notes'), open('shared-notes', openPool())];
    for (let count = 0; count < 10; count++) {
      const [writer, reader] = count % 2 ? [a, b] : [b, a];
      await writer.putNote({ session: 's', name: 'count', text: `${count}` });
      expect(await reader.note('s', 'count')).toBe(`${count}`);
    }
    expect((await a.stats()).notes).toBe(1);
  });

  it('write the same and other texts at once', async () => {
    const stores = [open('shared-tenant'), open('shared-tenant', openPool())];
    const batch = (first: number, step: number) =>
      Array.from({ length: 300 }, (_, i) => ({
        text: `text ${(first + i * step + 300) % 300}`,
        about: { session: 's', turn: i },
      }));
    await Promise.all(
      stores.flatMap((store, i) => [
        ...Array.from({ length: 5 }, () => store.putMany(batch(i, i === 0 ? 1 : -1))),
        ...Array.from({ length: 50 }, (_, n) => store.put(`own ${i} ${n}`, { session: `own${i}` })),
      ]),
    );
    for (const store of stores) expect((await store.stats()).texts).toBe(400);
    expect(await stores[0]?.verify()).toEqual([]);
  });

  it('delete and put at once, and no text is without a reference, no reference without a text', async () => {
    const [a, b] = [open('delete-and-put'), open('delete-and-put', openPool())];
    const items = (session: string) =>
      Array.from({ length: 50 }, (_, i) => ({ text: `text ${i}`, about: { session } }));
    for (let round = 0; round < 20; round++) {
      await a.putMany(items('a'));
      await Promise.all([a.delete('a'), b.putMany(items('b')), b.delete('c'), a.putMany(items('c'))]);
      expect((await b.getMany(items('b').map(({ text }) => handleOf(text)))).every((stored) => stored)).toBe(true);
      expect(await b.verify()).toEqual([]);
      await Promise.all([a.delete('b'), b.delete('c')]);
      expect(await a.gc()).toEqual({ freedBytes: 0, removedTexts: 0, repaired: 0 });
      expect((await a.stats()).texts).toBe(0);
    }
  });
});

describe('a put that waits for a deletion', () => {
  const lockOf = (tenant: string) => lockKey(schema, 'tenant', tenant);

  /** Resolves when a statement waits for the tenant's lock. */
  async function untilWaiting(): Promise<void> {
    const waiting = `SELECT count(*)::int AS waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    while ((await pool.query(waiting)).rows[0].waiting === 0) await setTimeout(5);
  }

  it('stores the text that the deletion removed, though it saw it before', async () => {
    const store = open('waits', openPool());
    await store.putMany(['one', 'two', 'three'].map((text) => ({ text, about: { session: 'old' } })));
    for (const texts of [['one'], ['two', 'three']]) {
      const deleting = await pool.connect();
      await deleting.query(`BEGIN; SELECT pg_advisory_xact_lock(${lockOf('waits')})`);
      for (const table of ['refs', 'texts'])
        await deleting.query(`DELETE FROM "${schema}".${table} WHERE tenant = 'waits' AND handle = ANY ($1)`, [
          texts.map(handleOf),
        ]);
      const putting = store.putMany(texts.map((text) => ({ text, about: { session: 'new' } })));
      await untilWaiting();
      await deleting.query('COMMIT');
      deleting.release();
      const found = await store.getMany(await putting);
      expect(found.map((stored) => [stored?.text, stored?.refs])).toEqual(
        texts.map((text) => [text, [{ session: 'new' }]]),
      );
    }
    expect(await store.verify()).toEqual([]);
  });

  it('gives up on the server too when it gives up, and holds nothing', async () => {
    const given = { pool: openPool(), tenant: 'gives-up', schema };
    const store = createPostgresStore({ ...given, timeoutMs: 400 });
    await store.stats();
    const deleting = await pool.connect();
    await deleting.query(`BEGIN; SELECT pg_advisory_xact_lock(${lockOf('gives-up')})`);
    await expect(store.put('text', { session: 's' })).rejects.toMatchObject({ code: 'STORE_FAILED' });
    const locks = `SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()`;
    while ((await deleting.query(locks)).rows[0].held > 0) await setTimeout(10);
    await deleting.query('COMMIT');
    deleting.release();
    expect(await store.get(handleOf('text'))).toBe(undefined);
    expect(await store.put('text', { session: 's' })).toBe(handleOf('text'));
  });
});

describe('a connection that is killed', () => {
  const itemsOf = (batch: number) =>
    Array.from({ length: 40 }, (_, i) => ({
      text: `batch ${batch} text ${i} ${'x'.repeat(20_000)}`,
      about: { session: `s${batch}`, turn: i },
    }));
  const countStored = async (store: Store, batch: number) =>
    (await store.getMany(itemsOf(batch).map(({ text }) => handleOf(text)))).filter((stored) => stored).length;

  it('at random moments of putMany loses nothing that was acknowledged, and leaves no half batch', async () => {
    const name = `victim_${process.pid}`;
    const store = open('killed', openPool({ application_name: name }));
    const kill = async (): Promise<void> => {
      await setTimeout(Math.random() * 25);
      const all = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1';
      await pool.query(all, [name]);
    };
    const results: string[] = [];
    for (let batch = 0; batch < 40; batch++) {
      const work = store.putMany(itemsOf(batch)).then(
        () => 'stored',
        (error) => String(error.code),
      );
      const [result] = await Promise.all([work, batch % 2 ? kill() : undefined]);
      results.push(result);
    }
    expect([...new Set(results)].sort()).toEqual(['STORE_FAILED', 'stored']);
    const witness = open('killed');
    for (const [batch, result] of results.entries()) {
      const found = await countStored(witness, batch);
      expect([batch, found]).toEqual([batch, result === 'stored' || found > 0 ? 40 : 0]);
    }
    expect(await witness.verify()).toEqual([]);
  });

  // The second batch is larger than a statement: begin, texts, texts, references, commit.
  it.each([
    { statements: 1, characters: 1000 },
    { statements: 5, characters: 250_000 },
  ])('before any of the $statements statements of putMany leaves nothing, and the store goes on', async (given) => {
    const witness = open('killed-between');
    await witness.stats();
    for (let at = 1; at <= given.statements; at++) {
      const items = itemsOf(at).map(({ text, about }) => ({ text: text.padEnd(given.characters, '.'), about }));
      const found = async () =>
        (await witness.getMany(items.map(({ text }) => handleOf(text)))).filter((stored) => stored).length;
      let sent = 0;
      const victims = openPool({ max: 1 });
      const store = open('killed-between', victims);
      await store.stats();
      victims.once('acquire', (client) => {
        const query = client.query.bind(client) as (config: object) => Promise<{ rows: { pid: number }[] }>;
        const watched = async (config: object) => {
          if (++sent === at) {
            const { rows } = await query({ text: 'SELECT pg_backend_pid() AS pid' });
            await pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid]);
          }
          return query(config);
        };
        Object.assign(client, { query: watched });
      });
      await expect(store.putMany(items)).rejects.toMatchObject({ code: 'STORE_FAILED' });
      expect([at, sent, await found()]).toEqual([at, at, 0]);
      expect(await store.put(`after ${at}`, {})).toBe(handleOf(`after ${at}`));
      let written = 0;
      victims.once('acquire', (client) => {
        const query = client.query.bind(client) as (config: object) => Promise<unknown>;
        const counted = (config: object) => {
          written += 1;
          return query(config);
        };
        Object.assign(client, { query: counted });
      });
      await store.putMany(items);
      expect([written, await found()]).toEqual([given.statements, items.length]);
      await store.delete(`s${at}`);
    }
    expect(await witness.verify()).toEqual([]);
  });

  it('a server that is not there is STORE_FAILED, and the next call tries again', async () => {
    let isUp = false;
    const flaky: PostgresPool = {
      connect: (lent) => (isUp ? pool.connect(lent) : lent(new Error('connect ECONNREFUSED'), undefined)),
    };
    const store = createPostgresStore({ pool: flaky, tenant: 'flaky', schema });
    await expect(store.put('text', {})).rejects.toMatchObject({ code: 'STORE_FAILED' });
    isUp = true;
    expect(await store.put('text', {})).toBe(handleOf('text'));
    isUp = false;
    await expect(store.get(handleOf('text'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
  });
});

describe('an address that never works', () => {
  it.each([
    ['another database', { pathname: 'absent' }],
    ['another role', { username: 'nobody_of_that_name' }],
  ])('%s: the error says to look at it, and not to try again', async (_what, change) => {
    const wrong = openPool({ connectionString: Object.assign(new URL(server.url), change).href });
    await expect(createPostgresStore({ pool: wrong }).put('text', {})).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('check the address of the database, the role and its rights'),
    });
  });
});

describe('damage', () => {
  it('is found, never given as good, hides nothing else, and is given up by gc with repair', async () => {
    const store = open('damaged');
    const texts = ['one', 'two', 'three'];
    await store.putMany(texts.map((text) => ({ text, about: { session: 's' } })));
    const where = `WHERE tenant = 'damaged' AND handle = '${handleOf('two')}'`;
    await pool.query(`UPDATE "${schema}".texts SET body = 'twp' ${where}`);
    await expect(store.get(handleOf('two'))).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect((await store.get(handleOf('three')))?.text).toBe('three');
    const seen: string[] = [];
    const read = async () => {
      for await (const { text } of store.list('s')) seen.push(text);
    };
    await expect(read()).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect(seen).toEqual(['one', 'three']);
    expect((await store.verify()).map(({ handle }) => handle)).toEqual([handleOf('two')]);
    await store.gc();
    expect((await store.verify()).length).toBe(1);
    expect(await store.gc({ repair: true })).toEqual({ freedBytes: 3, removedTexts: 1, repaired: 1 });
    expect(await store.verify()).toEqual([]);
    expect(await store.get(handleOf('two'))).toBe(undefined);
  });

  it('a text that is gone under its references is reported, and put anew by the next put', async () => {
    const store = open('lost');
    const handle = await store.put('text', { session: 's' });
    await pool.query(`DELETE FROM "${schema}".texts WHERE tenant = 'lost'`);
    expect((await store.verify()).map((problem) => problem.handle)).toEqual([handle]);
    await store.put('text', { session: 's' });
    expect(await store.verify()).toEqual([]);
  });

  it('of a note is found, never given as good, hides no other, and ends with a put or a repair', async () => {
    const store = open('damaged-notes');
    const exported = async (seen: unknown[]) => {
      for await (const line of store.export()) seen.push(line);
    };
    const change = () =>
      pool.query(`UPDATE "${schema}".notes SET body = 'changed' WHERE tenant = 'damaged-notes' AND name = 'b'`);
    for (const name of ['a', 'b', 'c']) await store.putNote({ session: 's', name, text: name });
    await change();
    await expect(store.note('s', 'b')).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect(await store.note('s', 'c')).toBe('c');
    const seen: unknown[] = [];
    await expect(exported(seen)).rejects.toMatchObject({ code: 'STORE_DAMAGED' });
    expect(seen).toEqual(['a', 'c'].map((name) => ({ type: 'note', session: 's', name, text: name })));
    expect((await store.verify()).map(({ what }) => what)).toEqual([expect.stringContaining('note b of session s')]);
    await store.putNote({ session: 's', name: 'b', text: 'again' });
    expect(await store.note('s', 'b')).toBe('again');
    expect(await store.verify()).toEqual([]);
    await change();
    await store.gc();
    expect((await store.verify()).length).toBe(1);
    expect((await store.gc({ repair: true })).repaired).toBe(1);
    expect(await store.verify()).toEqual([]);
    expect(await store.note('s', 'b')).toBe(undefined);
    expect((await store.stats()).notes).toBe(2);
  });

  it('a handle that names another text is HANDLE_CLASH, and others in the queue are stored', async () => {
    const store = open('clash');
    const handle = await store.put('text', { session: 's' });
    await pool.query(`UPDATE "${schema}".texts SET digest = sha256('other') WHERE tenant = 'clash'`);
    const [, ...work] = ['first', 'text', 'good', 'better'].map((text) => store.put(text, { session: 's' }));
    const [clash, ...others] = await Promise.allSettled(work);
    expect(clash).toMatchObject({ status: 'rejected', reason: { code: 'HANDLE_CLASH' } });
    expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect(handle).toBe(handleOf('text'));
  });
});

describe('a text that another process commits after the statement began', () => {
  /** Inserts a text, waits until a put of the same one waits for it, and commits. */
  async function race(tenant: string, text: string, digest: string, put: (store: Store) => Promise<unknown>) {
    const store = open(tenant);
    await store.stats();
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO "${schema}".texts (tenant, handle, seq, digest, bytes, body)
       VALUES ($1, $2, 0, sha256($3), $4, $5)`,
      [tenant, handleOf(text), digest, Buffer.byteLength(text), text],
    );
    const commit = async (): Promise<void> => {
      const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}".texts%'`;
      while ((await pool.query(waits)).rowCount === 0) await setTimeout(5);
      await other.query('COMMIT');
      other.release();
    };
    // Together: a put may be rejected before the answer to the commit arrives.
    await Promise.all([put(store), commit()]);
    return store;
  }

  const several = ['one', 'raced', 'three'].map((text, turn) => ({ text, about: { session: 's', turn } }));

  it('is the same text: the put is repeated, and stores its references', async () => {
    const one = await race('race-one', 'raced', 'raced', (store) => store.put('raced', { session: 's', turn: 1 }));
    expect(await one.get(handleOf('raced'))).toMatchObject({ text: 'raced', refs: [{ session: 's', turn: 1 }] });
    const many = await race('race-many', 'raced', 'raced', (store) => store.putMany(several));
    const found = await many.getMany(several.map(({ text }) => handleOf(text)));
    expect(found.map((stored) => [stored?.text, stored?.refs])).toEqual(
      several.map(({ text, about }) => [text, [about]]),
    );
  });

  it('is another text under the same handle: HANDLE_CLASH, and nothing is stored', async () => {
    const clash = { code: 'HANDLE_CLASH' };
    await expect(race('race-clash', 'raced', 'x', (store) => store.put('raced', {}))).rejects.toMatchObject(clash);
    await expect(race('race-clashes', 'raced', 'x', (store) => store.putMany(several))).rejects.toMatchObject(clash);
    const { rows } = await pool.query(`SELECT FROM "${schema}".refs WHERE tenant LIKE 'race-clash%'`);
    expect(rows).toEqual([]);
  });
});

it('a batch restores lost texts whose references are still there', async () => {
  const store = open('lost');
  const items = ['one', 'two'].map((text, turn) => ({ text, about: { session: 's', turn } }));
  const handles = await store.putMany(items);
  await pool.query(`DELETE FROM "${schema}".texts WHERE tenant = 'lost'`);
  expect(await store.putMany(items)).toEqual(handles);
  const found = await store.getMany(handles);
  expect(found.map((stored) => [stored?.text, stored?.refs])).toEqual(items.map(({ text, about }) => [text, [about]]));
});

it('two processes that put the same new texts at once in other orders store them once, with the references of both', async () => {
  const stores = [open('both'), open('both')];
  for (let round = 0; round < 20; round++) {
    const texts = Array.from({ length: 30 }, (_, i) => `text ${round} ${i}`);
    const puts = stores.map((store, turn) =>
      store.putMany((turn === 0 ? texts : texts.toReversed()).map((text) => ({ text, about: { session: 's', turn } }))),
    );
    await Promise.all(puts);
    const found = await stores[0]?.getMany(texts.map(handleOf));
    expect(found?.map((stored) => [stored?.text, stored?.refs.map(({ turn }) => turn).sort()])).toEqual(
      texts.map((text) => [text, [0, 1]]),
    );
  }
  expect((await stores[0]?.stats())?.texts).toBe(600);
});

it('a row with the body of another text is STORE_DAMAGED, also if both are asked for', async () => {
  const store = open('swapped');
  const [one, two] = await store.putMany(['one', 'two'].map((text) => ({ text, about: { session: 's' } })));
  await pool.query(`UPDATE "${schema}".texts SET body = 'two' WHERE tenant = 'swapped' AND handle = $1`, [one]);
  for (const handles of [[one], [one, two], [two, one]] as string[][])
    await expect(store.getMany(handles)).rejects.toMatchObject({
      code: 'STORE_DAMAGED',
      message: expect.stringContaining(String(one)),
    });
  expect(await store.getMany([String(two), handleOf('missing')])).toMatchObject([{ text: 'two' }, undefined]);
});

it('getMany gives texts that are UTF-16, have a NUL or are plain, in the order asked', async () => {
  const store = open('mixed');
  const texts = ['plain', 'a\ud800b', 'nul\0nul', 'ü €', '\udfff', '\ufffd'];
  const handles = await store.putMany(texts.map((text, turn) => ({ text, about: { session: 's', turn } })));
  const found = await store.getMany(handles.toReversed());
  expect(found.map((stored) => [stored?.text, stored?.refs[0]?.turn])).toEqual(
    texts.map((text, turn) => [text, turn]).toReversed(),
  );
  expect((await store.get(handles[1] as string))?.text).toBe('a\ud800b');
});

describe('deleting', () => {
  it('really deletes: no row is left, and after purge no dead one either', async () => {
    const store = open('deleted');
    await store.putMany(
      Array.from({ length: 100 }, (_, i) => ({ text: `secret ${i}`, about: { session: 's', turn: i } })),
    );
    await store.putNote({ session: 's', name: 'n', text: 'secret' });
    await store.delete('s', { purge: true });
    for (const table of ['texts', 'refs', 'turns', 'notes']) {
      const { rows } = await pool.query(
        `SELECT count(*)::int AS left FROM "${schema}"."${table}" WHERE tenant = 'deleted'`,
      );
      expect(rows).toEqual([{ left: 0 }]);
    }
    // Not n_dead_tup: a connection reports its deletions up to a second late, also after the VACUUM.
    await pool.query('CREATE EXTENSION IF NOT EXISTS pgstattuple');
    const { rows } = await pool.query(`SELECT dead_tuple_count::int AS dead FROM pgstattuple('"${schema}".texts')`);
    expect(rows).toEqual([{ dead: 0 }]);
  });
});
