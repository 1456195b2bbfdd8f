import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deleteSession, openSession, sweepSessions } from '../../../src/manager/index.ts';
import type { Session } from '../../../src/manager/session/session.ts';
import type { ChatMessage } from '../../../src/message.ts';
import type { PostgresPool } from '../../../src/store/postgres-store.ts';
import { sessionConformance } from '../../../src/testing/index.ts';
import { databaseSessions } from '../../support/manager/session-places.ts';
import { eventsOf, user } from '../../support/manager/sessions.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../../support/postgres.ts';
import { randomFrom } from '../../support/store/recording-disk.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';
import { WriterProcess } from '../../support/writer-process.ts';

let server: OwnPostgresServer;
let proxy: TcpProxy;
/** Not through the proxy. */
let direct: Pool;
const pools: Pool[] = [];

beforeAll(async () => {
  ensureBuilt();
  server = await startOwnPostgres();
  proxy = await startTcpProxy(server.port);
  direct = openPool();
}, 180_000);

afterAll(async () => {
  await proxy?.close();
  await Promise.all(pools.map((pool) => pool.end()));
  await server?.stop();
}, 60_000);

function openPool(options: object = {}): Pool {
  const pool = new Pool({ connectionString: server.url, max: 8, ...options });
  pool.on('error', () => {});
  pools.push(pool);
  return pool;
}

const throughProxy = (): string => Object.assign(new URL(server.url), { port: proxy.port }).href;

let schemas = 0;
const newSchema = (): string => `faults_${schemas++}`;

const quiet = { id: 'chat', onProblem: () => {} };
const open = (database: object, more: object = {}): Promise<Session<ChatMessage>> =>
  openSession<ChatMessage>({ ...quiet, database: database as never, ...more });

const textsOf = (session: Session<ChatMessage>): string[] => session.messages().map(({ content }) => content);

/** All texts in the log, in order. */
async function loggedTexts(schema: string): Promise<string[]> {
  const session = await open({ pool: direct, schema });
  const events = await eventsOf(session);
  expect(session.recovery).toMatchObject({ missing: [], damagedLines: 0 });
  await session.close();
  return events.flatMap((event) => (event.type === 'message' ? [event.message.content] : []));
}

const expire = (schema: string): Promise<unknown> =>
  direct.query(`UPDATE "${schema}".sessions SET leased_until = '-infinity'`);

const renew = (schema: string): Promise<unknown> =>
  direct.query(`UPDATE "${schema}".sessions SET leased_until = now() + interval '1 hour'`);

/** Does something between the look at a session and the statement that takes it. */
const beforeTaking = (pool: Pool, work: () => Promise<unknown>): PostgresPool =>
  before(/^INSERT INTO "\w+"\.sessions/, pool, work);

/** Does something before each statement of a kind. */
function before(statement: RegExp, pool: Pool, work: () => Promise<unknown>): PostgresPool {
  return {
    connect: (done) =>
      pool.connect((error, client) => {
        const query = client?.query.bind(client);
        const late = async (config: { readonly text: string }): Promise<unknown> => {
          if (statement.test(config.text)) await work();
          return query?.(config);
        };
        done(error, client && (Object.assign(Object.create(client), { query: late }) as never));
      }),
  };
}

describe('while connections are cut again and again', () => {
  const schema = 'faults_cut';
  let pool: PostgresPool;
  const random = randomFrom(7);
  let [lent, cuts] = [0, 0];

  beforeAll(() => {
    const inner = openPool();
    const cut = (client: unknown): void => {
      const { processID, connection } = client as { processID: number; connection: { stream: Socket } };
      cuts += 1;
      if (cuts % 2 === 0) connection.stream.destroy();
      else direct.query('SELECT pg_terminate_backend($1)', [processID]).catch(() => {});
    };
    pool = {
      connect: (done) =>
        inner.connect((error, client) => {
          lent += 1;
          // Before, in and after the statement. Not every third one: three statements in a row would never get through.
          if (client && random() < 0.25) setTimeout(cut, random() * 4, client);
          done(error, client as never);
        }),
    };
  });

  afterAll(() => {
    expect(cuts).toBeGreaterThan(lent / 10);
  });

  sessionConformance(
    { describe, it, expect },
    {
      ...databaseSessions({
        name: 'in PostgreSQL, connections cut',
        pool: () => direct,
        schema,
        // A session that is abandoned must not renew its lease.
        database: (tenant) => ({ pool, schema, tenant, leaseMs: 3_600_000 }),
      }),
      runs: 1,
      timeoutMs: 120_000,
    },
  );
});

describe('a connection that is cut', () => {
  it('at any byte of a batch loses nothing, doubles nothing, and the session goes on', async () => {
    const schema = newSchema();
    const pool = openPool({ connectionString: throughProxy(), max: 2 });
    const session = await open({ pool, schema });
    const messages = (batch: number) => [0, 1, 2].map((i) => user(`batch ${batch} message ${i} ${'x'.repeat(5000)}`));
    const before = proxy.sent();
    await session.add(...messages(-1));
    const bytes = proxy.sent() - before;
    const cuts = 30;
    for (let batch = 0; batch < cuts; batch++) {
      proxy.cutAfter(Math.ceil(((batch + 1) * bytes * 1.05) / cuts));
      const adding = session.add(...messages(batch));
      // What is sent again must get through.
      const resuming = sleep(5).then(() => proxy.resume());
      await Promise.all([adding, resuming]);
    }
    await session.close();
    const all = Array.from({ length: cuts + 1 }, (_, i) => messages(i - 1)).flat();
    expect(await loggedTexts(schema)).toEqual(all.map(({ content }) => content));
  }, 60_000);
});

describe('a server that is silent', () => {
  it('ends the session where nobody knows what was written, and who opens it again sees what it holds', async () => {
    const schema = newSchema();
    const pool = openPool({ connectionString: throughProxy(), max: 2 });
    const session = await open({ pool, schema, timeoutMs: 300 });
    await session.add(user('before'));
    proxy.stall();
    await expect(session.add(user('unsure'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('open the session again'),
    });
    proxy.resume();
    await expect(session.add(user('after'))).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await expect(session.close()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await expire(schema);
    const again = await open({ pool, schema });
    expect([['before'], ['before', 'unsure']]).toContainEqual(textsOf(again));
    await again.add(user('goes on'));
    await again.close();
    expect((await loggedTexts(schema)).at(-1)).toBe('goes on');
  }, 60_000);

  it('refuses what could not be sent, and the session goes on when connections can be made', async () => {
    const schema = newSchema();
    const pool = openPool({ connectionString: throughProxy(), max: 2 });
    const session = await open({ pool, schema, timeoutMs: 300 });
    await session.add(user('before'));
    proxy.refuse();
    proxy.cut();
    // The pool must see that its connections are gone: what is sent on them would be unsure.
    while (pool.totalCount > 0) await sleep(1);
    await expect(session.add(user('refused'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('nothing was added'),
    });
    proxy.resume();
    await session.add(user('after'));
    await session.close();
    expect(await loggedTexts(schema)).toEqual(['before', 'after']);
  }, 60_000);
});

describe('a server that refuses a statement', () => {
  it('leaves nothing, and the session goes on when the cause is gone', async () => {
    const schema = newSchema();
    const session = await open({ pool: direct, schema });
    await direct.query(`ALTER TABLE "${schema}".session_events ADD CONSTRAINT full_disk CHECK (seq < 3)`);
    await session.add(user('fits'));
    await expect(session.add(user('refused'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringMatching(/full_disk.*nothing was added/),
    });
    expect(textsOf(session)).toEqual(['fits']);
    await direct.query(`ALTER TABLE "${schema}".session_events DROP CONSTRAINT full_disk`);
    await session.add(user('after'));
    await session.close();
    expect(await loggedTexts(schema)).toEqual(['fits', 'after']);
  });
});

describe('a connection with other defaults', () => {
  it.each(['default_transaction_isolation=serializable', 'default_transaction_read_only=on'])(
    '%s: works as any other',
    async (setting) => {
      const schema = newSchema();
      await (await open({ pool: direct, schema })).close();
      const pool = openPool({ options: `-c ${setting}`, max: 2 });
      const session = await open({ pool, schema });
      await Promise.all([session.add(user('one')), session.add(user('two'))]);
      await session.compact();
      await session.close();
      expect(await loggedTexts(schema)).toEqual(['one', 'two']);
    },
  );

  it('synchronous_commit=off: every commit waits for the disk all the same', async () => {
    const schema = newSchema();
    await (await open({ pool: direct, schema })).close();
    await direct.query(`CREATE TABLE "${schema}".seen (setting text);
      CREATE FUNCTION "${schema}".look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO "${schema}".seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON "${schema}".session_events
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "${schema}".look()`);
    const session = await open({ pool: openPool({ options: '-c synchronous_commit=off' }), schema });
    await session.add(user('one'));
    await session.compact();
    await session.close();
    const { rows } = await direct.query(`SELECT DISTINCT setting FROM "${schema}".seen`);
    expect(rows).toEqual([{ setting: 'on' }]);
  });

  it('a pool of one connection is enough', async () => {
    const schema = newSchema();
    const session = await open({ pool: openPool({ max: 1 }), schema });
    await session.add(...Array.from({ length: 600 }, (_, i) => user(`message ${i}`)));
    let seen = 0;
    for await (const { type } of session.events())
      if (type === 'message' && seen++ === 5) await session.add(user('more'));
    expect(seen).toBe(601);
    await session.close();
  });
});

describe('a batch that is larger than one statement should be', () => {
  it('is written whole', async () => {
    const schema = newSchema();
    const session = await open({ pool: direct, schema });
    const messages = Array.from({ length: 4 }, (_, i) => user(String(i).repeat(18_000_000)));
    await session.add(...messages);
    const tooLong = session.add(user('x'.repeat(2 ** 25)));
    await expect(tooLong).rejects.toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining('characters') });
    await expire(schema);
    const again = await open({ pool: direct, schema });
    expect(textsOf(again).map((text) => [text[0], text.length])).toEqual(
      [0, 1, 2, 3].map((i) => [String(i), 18_000_000]),
    );
    await again.close();
  }, 180_000);
});

const writers: Writer[] = [];
afterEach(() => {
  for (const writer of writers.splice(0)) writer.signal('SIGKILL');
});

/** A process that adds messages until it is ended. */
class Writer extends WriterProcess {
  constructor(schema: string, name: string, { leaseMs = 60_000 } = {}) {
    super('test/support/manager/database-writer.js', [server.url, schema, name, String(leaseMs)]);
    writers.push(this);
  }

  override async writes(count: number): Promise<void> {
    await super.writes(count);
    expect(this.end).toBeUndefined();
  }
}

/** Every text once, those of a writer in order, and all that was acknowledged. */
async function expectAll(schema: string, acknowledged: readonly string[]): Promise<string[]> {
  const texts = await loggedTexts(schema);
  expect(new Set(texts).size).toBe(texts.length);
  const known = new Set(acknowledged);
  expect(texts.filter((text) => known.has(text))).toEqual(acknowledged);
  return texts;
}

describe('a process that is killed', () => {
  it('ten times loses nothing that it acknowledged, and the next one goes on at once', async () => {
    const schema = newSchema();
    const acknowledged: string[] = [];
    for (let round = 0; round < 10; round++) {
      const writer = new Writer(schema, `round-${round}`);
      await writer.writes(3 + ((round * 17) % 40));
      writer.signal('SIGKILL');
      await writer.ended();
      acknowledged.push(...writer.acknowledged);
    }
    await expectAll(schema, acknowledged);
  }, 120_000);

  it('on another machine is waited for until its lease is over, and the message says for how long', async () => {
    const schema = newSchema();
    const writer = new Writer(schema, 'first', { leaseMs: 3000 });
    await writer.writes(9);
    writer.signal('SIGKILL');
    await writer.ended();
    await direct.query(
      `UPDATE "${schema}".sessions SET holder = jsonb_set(holder::jsonb, '{host}', '"elsewhere"')::text`,
    );
    const opening = () => open({ pool: direct, schema });
    await expect(opening()).rejects.toMatchObject({
      code: 'STORE_LOCKED',
      message: expect.stringMatching(/the session chat .*process \d+ on elsewhere .*free in [123] s/),
    });
    let session: Session<ChatMessage> | undefined;
    while (!session) {
      await sleep(50);
      session = await opening().catch(() => undefined);
    }
    await session.add(user('goes on'));
    await session.close();
    await expectAll(schema, [...writer.acknowledged, 'goes on']);
  }, 60_000);
});

describe('two processes on one session', () => {
  it('the second is told who has it open', async () => {
    const schema = newSchema();
    const first = new Writer(schema, 'first');
    await first.writes(3);
    const second = new Writer(schema, 'second');
    await second.ended();
    expect(second.end).toMatch(
      /^ended STORE_LOCKED Expected to open the session chat .* process \d+ on .* close it there/,
    );
    await first.writes(3);
  }, 60_000);

  it('one that was stopped until another took over writes nothing more when it goes on', async () => {
    const schema = newSchema();
    const first = new Writer(schema, 'first', { leaseMs: 500 });
    await first.writes(30);
    first.signal('SIGSTOP');
    let session: Session<ChatMessage> | undefined;
    while (!session) {
      await sleep(50);
      session = await open({ pool: direct, schema }).catch(() => undefined);
    }
    const before = await eventsOf(session);
    await session.add(user('from here'));
    first.signal('SIGCONT');
    await first.ended();
    expect(first.end).toMatch(/^ended STORE_LOCKED .*has taken it over; this write is not acknowledged/);
    await session.add(user('and on'));
    await session.close();
    const texts = await expectAll(schema, [...first.acknowledged, 'from here', 'and on']);
    expect(texts).toHaveLength(before.filter(({ type }) => type === 'message').length + 2);
  }, 60_000);
});

describe('a session that is kept', () => {
  it('is not taken over where its lease was over for a moment, and it was heard of again', async () => {
    const schema = newSchema();
    const first = await open({ pool: direct, schema });
    await expire(schema);
    const inner = openPool();
    const second = open({ pool: beforeTaking(inner, () => renew(schema)), schema });
    await expect(second).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    await first.add(user('still its writer'));
    await first.close();
  });

  it('is not taken over while its process lives, however long nothing is added', async () => {
    const schema = newSchema();
    const session = await open({ pool: direct, schema, leaseMs: 300 });
    for (let i = 0; i < 10; i++) {
      await sleep(100);
      await expect(open({ pool: direct, schema })).rejects.toMatchObject({ code: 'STORE_LOCKED' });
    }
    await session.add(user('still here'));
    await session.close();
  });
});

/** Rows of events whose session is not there. */
async function orphansIn(schema: string): Promise<number> {
  const { rows } = await direct.query(
    `SELECT count(*)::integer AS count FROM "${schema}".session_events AS event
     WHERE NOT EXISTS (SELECT FROM "${schema}".sessions WHERE sessions.tenant = event.tenant AND id = event.session)`,
  );
  return rows[0].count;
}

const DELETED = { code: 'STORE_LOCKED', message: expect.stringContaining('it was deleted, or taken over and closed') };

describe('a session whose lease is over, and which is deleted while its writer appends', () => {
  const deleting = /^DELETE FROM "\w+"\.sessions/;

  it('stays where the writer was heard of before the deletion, and the error says who has it open', async () => {
    const schema = newSchema();
    const session = await open({ pool: direct, schema });
    await expire(schema);
    const pool = before(deleting, openPool(), () => session.add(user('heard of')));
    const locked = { code: 'STORE_LOCKED', message: expect.stringContaining(`process ${process.pid}`) };
    await expect(deleteSession({ database: { pool, schema }, id: 'chat' })).rejects.toMatchObject(locked);
    await session.add(user('still its writer'));
    await session.close();
    expect(await loggedTexts(schema)).toEqual(['heard of', 'still its writer']);
  });

  it('is not swept where it got an event after the sweep looked at it', async () => {
    const schema = newSchema();
    const session = await open({ pool: direct, schema });
    await session.add(user('old'));
    await expire(schema);
    const pool = before(deleting, openPool(), async () => {
      await session.add(user('new'));
      await expire(schema);
    });
    const now = (): number => Date.now() + 1000 * 3_600_000;
    const swept = await sweepSessions({ database: { pool, schema }, remove: true, now });
    expect(swept).toEqual({ expired: [], removed: [], open: [], failed: [] });
    await session.close();
    expect(await loggedTexts(schema)).toEqual(['old', 'new']);
  });

  it.each([
    ['its row is gone', /^DELETE FROM "\w+"\.session_events/],
    ['its events are gone', /^COMMIT/],
  ])('takes no event once %s: the append waits for the deletion, is refused and leaves no row', async (_when, at) => {
    const schema = newSchema();
    const session = await open({ pool: direct, schema });
    await session.add(user('before'));
    await expire(schema);
    let appended: Promise<unknown> = Promise.resolve();
    const pool = before(at, openPool(), async () => {
      appended = session.add(user('late')).catch((error: unknown) => error);
      while (!(await isWaiting(schema))) await sleep(5);
    });
    expect(await deleteSession({ database: { pool, schema }, id: 'chat' })).toBe(true);
    expect(await appended).toMatchObject(DELETED);
    await expect(session.add(user('later'))).rejects.toMatchObject(DELETED);
    await expect(session.close()).rejects.toMatchObject(DELETED);
    expect(await orphansIn(schema)).toBe(0);
    expect(await loggedTexts(schema)).toEqual([]);
  });

  it('at any moment is deleted whole or not at all', { timeout: 120_000 }, async () => {
    const schema = newSchema();
    let deletions = 0;
    for (let round = 0; round < 40; round++) {
      const session = await open({ pool: direct, schema });
      const acknowledged: string[] = [];
      const writing = (async () => {
        for (let i = 0; i < 20; i++) {
          await session.add(user(`${round}-${i}`));
          acknowledged.push(`${round}-${i}`);
        }
      })().catch((error: unknown) => error);
      // In the first round the writer rests, so that a session is deleted however quick the machine is.
      if (round === 0) await writing;
      else await sleep(round % 7);
      await expire(schema);
      const deleted = await deleteSession({ database: { pool: direct, schema }, id: 'chat' }).catch(
        (error: unknown) => {
          expect(error).toMatchObject({ code: 'STORE_LOCKED' });
          return false;
        },
      );
      const failure = await writing;
      await session.close().catch((error: unknown) => expect(error).toMatchObject(DELETED));
      expect(await orphansIn(schema)).toBe(0);
      if (deleted) {
        deletions += 1;
        if (acknowledged.length < 20) expect(failure).toMatchObject(DELETED);
        expect(await loggedTexts(schema)).toEqual([]);
      } else expect(await loggedTexts(schema)).toEqual(acknowledged);
      await deleteSession({ database: { pool: direct, schema }, id: 'chat' });
    }
    expect(deletions).toBeGreaterThan(0);
  });
});

/** Whether a statement on the sessions of a schema waits for another one. */
async function isWaiting(schema: string): Promise<boolean> {
  const { rows } = await direct.query(
    `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"' || $1 || '".sessions%'`,
    [schema],
  );
  return rows.length > 0;
}

describe('the tables', () => {
  it('are made once by many processes at the same moment, beside a store of the same schema', async () => {
    const schema = newSchema();
    const sessions = await Promise.all(
      Array.from({ length: 8 }, (_, i) => open({ pool: openPool({ max: 1 }), schema }, { id: `chat-${i}` })),
    );
    for (const session of sessions) await session.close();
    const { createPostgresStore } = await import('../../../src/store/postgres-store.ts');
    const store = createPostgresStore({ pool: direct, schema });
    await store.put('text', {});
    await store.close();
    const { rows } = await direct.query(`SELECT version FROM "${schema}".session_migrations`);
    expect(rows).toEqual([{ version: 1 }]);
  }, 60_000);

  it('of a newer program are left alone, and the error says what to do', async () => {
    const schema = newSchema();
    await (await open({ pool: direct, schema })).close();
    await direct.query(`INSERT INTO "${schema}".session_migrations (version) VALUES (99)`);
    await expect(open({ pool: direct, schema })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('update palimpsest'),
    });
  });
});

describe('openSession with a database', () => {
  it.each([
    [{ database: 'mysql://here' }, /postgres:\/\/me@host\/database/],
    [{ database: 'mysql://me:secret@here' }, /^((?!secret).)*but found another text$/],
    [{ database: {} }, /postgres:\/\/me@host\/database.* but found an object/],
    [{ database: { url: 'postgres://x', pool: { connect: () => {} } } }, /a url or a pool but found both/],
    [{ database: 5 }, /option database/],
    [{ database: '' }, /option database/],
    [{ database: { url: 'postgres://x', lease: 5 } }, /lease/],
    [{ database: { url: 'postgres://x', leaseMs: 0 } }, /leaseMs/],
    [{ database: { url: 'postgres://x', schema: 'a"b' } }, /schema/],
    [{ database: 'postgres://x', directory: 'y' }, /directory/],
  ])('refuses %j', async (options, text) => {
    const opening = openSession({ id: 'chat', ...(options as object) });
    await expect(opening).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(text) });
  });

  it('says at once that nobody answers there', async () => {
    await expect(open({ url: 'postgres://me@127.0.0.1:1/none' })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

// The last one: it ends connections of all tests.
describe('a server that crashes and starts again', () => {
  it('three times loses nothing that was acknowledged, and the writers go on without opening again', async () => {
    const names = [newSchema(), newSchema()];
    const running = names.map((schema) => new Writer(schema, schema));
    for (let round = 0; round < 3; round++) {
      await Promise.all(running.map((writer) => writer.writes(20)));
      await server.kill();
      await server.start();
    }
    await Promise.all(running.map((writer) => writer.writes(20)));
    for (const [i, writer] of running.entries()) {
      writer.signal('SIGKILL');
      await writer.ended();
      await expectAll(names[i] as string, writer.acknowledged);
    }
  }, 120_000);
});
