import { setTimeout } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { handleOf } from '../../../src/store/handle.ts';
import { createPostgresStore } from '../../../src/store/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { storeConformance } from '../../../src/testing/index.ts';
import { type OwnPostgresServer, startOwnPostgres } from '../../support/postgres.ts';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

let server: OwnPostgresServer;
let proxy: TcpProxy;
const pools: Pool[] = [];

beforeAll(async () => {
  server = await startOwnPostgres();
  proxy = await startTcpProxy(server.port);
}, 60_000);

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await proxy?.close();
  await server?.stop();
}, 60_000);

function openPool(options: object = {}): Pool {
  const pool = new Pool({ connectionString: server.url, max: 4, ...options });
  pool.on('error', () => {});
  pools.push(pool);
  return pool;
}

const throughProxy = (): string => Object.assign(new URL(server.url), { port: proxy.port }).href;

/** How long a statement may take in these tests. */
const timeoutMs = 1000;

function openStore(tenant: string, options: object = {}): Store {
  return createPostgresStore({ pool: openPool(options), tenant, timeoutMs });
}

const itemsOf = (batch: number | string, count = 40) =>
  Array.from({ length: count }, (_, i) => ({
    text: `batch ${batch} text ${i} ${'x'.repeat(20_000)}`,
    about: { session: `s${batch}`, turn: i },
  }));

async function countStored(store: Store, batch: number | string, count = 40): Promise<number> {
  const handles = itemsOf(batch, count).map(({ text }) => handleOf(text));
  return (await store.getMany(handles)).filter(Boolean).length;
}

/** The code of the error, or undefined where it went well; and how long it took. */
async function outcomeOf(work: Promise<unknown>): Promise<{ code: string | undefined; tookMs: number }> {
  const began = performance.now();
  const code = await work.then(
    () => undefined,
    (error) => String(error.code ?? error),
  );
  return { code, tookMs: performance.now() - began };
}

/** A store whose calls take connections of several pools in turn, as several processes would. */
function spread(stores: readonly Store[]): Store {
  let turn = 0;
  return new Proxy(stores[0] as Store, {
    get(_first, name: keyof Store) {
      if (name === 'close') return () => Promise.all(stores.map((store) => store.close()));
      const store = stores[turn++ % stores.length] as Store;
      const method: unknown = store[name];
      return typeof method === 'function' ? method.bind(store) : method;
    },
  });
}

describe('with other writers on other connections at the same time', () => {
  const writers: Promise<number>[] = [];
  const connections: Pool[] = [];
  let isOver = false;

  beforeAll(() => {
    connections.push(...[0, 1, 2].map(() => openPool({ max: 2 })));
    const write = async (writer: number): Promise<number> => {
      const store = openStore('beside', { max: 1 });
      for (let batch = 0; ; batch++) {
        if (isOver) return batch;
        // Every writer also writes the texts that the others write.
        await store.putMany([...itemsOf(`${writer}-${batch}`, 2), ...itemsOf(`all-${batch}`, 2)]);
      }
    };
    writers.push(...[0, 1, 2].map(write));
  });

  afterAll(async () => {
    isOver = true;
    const batches = await Promise.all(writers);
    const witness = openStore('beside');
    for (const [writer, count] of batches.entries()) {
      expect(count).toBeGreaterThan(0);
      for (let batch = 0; batch < count; batch++) expect(await countStored(witness, `${writer}-${batch}`, 2)).toBe(2);
    }
    expect(await witness.verify()).toEqual([]);
  }, 60_000);

  const open = async (tenant = 'default'): Promise<Store> => {
    return spread(connections.map((pool) => createPostgresStore({ pool, tenant })));
  };
  storeConformance(
    { describe, it, expect },
    {
      name: 'postgres, each call on another connection',
      keepsRecords: true,
      open,
      reopen: async (store, tenant) => {
        await store.close();
        return open(tenant);
      },
    },
  );
});

describe('a connection that is cut', () => {
  it('at any byte of putMany loses nothing that was acknowledged and leaves no half batch', async () => {
    const store = openStore('cut', { connectionString: throughProxy() });
    await store.stats();
    const before = proxy.sent();
    await store.putMany(itemsOf('whole'));
    const bytes = proxy.sent() - before;
    const codes: (string | undefined)[] = [];
    const cuts = 30;
    for (let batch = 0; batch < cuts; batch++) {
      proxy.cutAfter(Math.ceil(((batch + 1) * bytes * 1.05) / cuts));
      codes.push((await outcomeOf(store.putMany(itemsOf(batch)))).code);
      proxy.resume();
    }
    expect(codes).toContain('STORE_FAILED');
    const witness = openStore('cut');
    for (const [batch, code] of codes.entries()) {
      const found = await countStored(witness, batch);
      expect([batch, found]).toEqual([batch, code === undefined || found > 0 ? 40 : 0]);
      await store.putMany(itemsOf(batch));
    }
    expect((await witness.stats()).texts).toBe(40 * (cuts + 1));
    expect(await witness.verify()).toEqual([]);
  }, 60_000);
});

describe('a server that accepts connections and does not answer', () => {
  it('is STORE_FAILED after the time limit, for waiting calls too, and the store goes on when it answers', async () => {
    const store = openStore('stalled', { connectionString: throughProxy() });
    await store.putMany(itemsOf('before'));
    proxy.stall();
    // Each of these is a batch of its own.
    const large = 'y'.repeat(7_900_000);
    const calls = [
      store.putMany(itemsOf('first')),
      ...Array.from({ length: 20 }, (_, i) => store.put(i + large, { session: 's' })),
      store.get(handleOf('x')),
      store.putTurn({ session: 's', turn: 1, reasoning: '', action: '', observation: '', masked: false }),
      store.putNote({ session: 's', name: 'n', text: 'x' }),
    ];
    for (const { code, tookMs } of await Promise.all(calls.map(outcomeOf))) {
      expect(code).toBe('STORE_FAILED');
      expect(tookMs).toBeLessThan(10 * timeoutMs);
    }
    proxy.resume();
    await store.putMany(itemsOf('after'));
    const witness = openStore('stalled');
    expect(await countStored(witness, 'before')).toBe(40);
    expect(await countStored(witness, 'after')).toBe(40);
    expect(await countStored(witness, 'first')).toBe(0);
  }, 60_000);

  it('is told with the setting that changes it', async () => {
    const store = openStore('told', { connectionString: throughProxy() });
    await store.stats();
    proxy.stall();
    await expect(store.put('text', {})).rejects.toThrow(/no answer within 1000 ms.*timeoutMs/s);
    proxy.resume();
  });

  it('keeps no lock of a call that was given up: the same texts can be put on another connection', async () => {
    const store = openStore('locks', { connectionString: throughProxy() });
    await store.stats();
    // Nearly everything has arrived, and no answer comes back.
    const before = proxy.sent();
    await store.putMany(itemsOf('measured'));
    const bytes = proxy.sent() - before;
    proxy.resume();
    proxy.stallAfter(Math.ceil(bytes * 0.9));
    expect((await outcomeOf(store.putMany(itemsOf('again')))).code).toBe('STORE_FAILED');
    // The proxy holds the server's side open, as a network that lost the client does.
    const other = openStore('locks');
    let code: string | undefined = 'STORE_FAILED';
    for (let attempt = 0; attempt < 5 && code; attempt++)
      code = (await outcomeOf(other.putMany(itemsOf('again')))).code;
    expect(code).toBe(undefined);
    expect(await countStored(other, 'again')).toBe(40);
    proxy.resume();
  }, 60_000);
});

describe('a server that crashes and starts again', () => {
  it('has everything that was acknowledged to writers on several connections, and they go on', async () => {
    const acknowledged = new Set<string>();
    let isOver = false;
    const write = async (writer: number): Promise<number> => {
      const store = openStore('restarted', { max: 2, connectionTimeoutMillis: 5000 });
      let failed = 0;
      for (let batch = 0; !isOver; batch++) {
        const { code, tookMs } = await outcomeOf(store.putMany(itemsOf(`${writer}-${batch}`, 5)));
        expect(tookMs).toBeLessThan(20_000);
        if (code) {
          failed += 1;
          await setTimeout(20);
        } else acknowledged.add(`${writer}-${batch}`);
      }
      return failed;
    };
    const writing = [0, 1, 2, 3].map(write);
    for (let round = 1; round <= 3; round++) {
      const { size } = acknowledged;
      while (acknowledged.size < size + 20) await setTimeout(10);
      await server.kill();
      await server.start();
    }
    const { size } = acknowledged;
    while (acknowledged.size < size + 20) await setTimeout(10);
    isOver = true;
    const failed = await Promise.all(writing);
    expect(failed.reduce((sum, count) => sum + count)).toBeGreaterThan(0);
    const witness = openStore('restarted');
    for (const batch of acknowledged) expect([batch, await countStored(witness, batch, 5)]).toEqual([batch, 5]);
    expect(await witness.verify()).toEqual([]);
  }, 120_000);
});
