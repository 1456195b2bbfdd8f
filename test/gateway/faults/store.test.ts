import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../../src/errors.ts';
import type { GatewayOptions, Status } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { requestLimits } from '../../../src/limits.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { anthropicBody, anthropicMessages, maskedIn } from '../../support/gateway/requests.ts';
import { type Received, startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type PutMany = Store['putMany'];

/** A store whose writes go as a test says. */
function withWrites(write: (items: Parameters<PutMany>[0], store: Store) => ReturnType<PutMany>): Store {
  const store = createMemoryStore();
  return changedStore(store, { putMany: (items) => write(items, store) });
}

async function start(store: Store | (() => Promise<Store>), options: GatewayOptions = {}) {
  const upstream = await startUpstream();
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }), store, ...options });
  closers.push(() => gateway.close({ graceMs: 0 }));
  const send = async (turns: number): Promise<number> => {
    const body = JSON.stringify(anthropicBody(anthropicMessages(turns)));
    const headers = { 'anthropic-version': '2023-06-01', 'x-api-key': 'k' };
    expect((await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body })).status).toBe(200);
    const { body: got } = upstream.received.at(-1) as Received;
    const masks = maskedIn(got).filter(Boolean).length;
    if (masks === 0) expect(got.toString()).toBe(body);
    return masks;
  };
  return { ...gateway, upstream, send };
}

const full = () => Promise.reject(new PalimpsestError('STORE_FAILED', 'no space left'));

const shownIn = ({ body }: Received): string[] => [...new Set(body.toString().match(/p_[a-z2-7]{26}/g))];

const sessionsOf = async (store: Store): Promise<string[]> => {
  const found: string[] = [];
  for await (const { session } of store.sessions()) found.push(session);
  return found.sort();
};

describe('a session that was deleted while its conversation goes on', () => {
  it.each([false, true])(
    'is stored again with the next request, shared with other gateways: %s',
    async (isStoreShared) => {
      const store = createMemoryStore();
      const gateway = await start(store, { isStoreShared });
      for (let n = 0; n < 2; n++) expect(await gateway.send(8)).toBe(6);
      const sessions = await sessionsOf(store);
      expect(sessions.map((session) => session.split('-')[0])).toEqual(['g', 'ge']);
      for (const session of sessions) await store.delete(session);
      expect((await store.stats()).texts).toBe(0);
      const before = gateway.upstream.received.at(-1) as Received;
      expect(await gateway.send(8)).toBe(6);
      const after = gateway.upstream.received.at(-1) as Received;
      expect(after.body.toString()).toBe(before.body.toString());
      for (const handle of shownIn(after)) expect(await store.get(handle)).toBeDefined();
      expect(await sessionsOf(store)).toEqual(sessions);
    },
  );

  it('is not removed by age while it only shows what was masked long ago', async () => {
    const clock = { now: Date.UTC(2026, 0, 1) };
    const now = (): number => clock.now;
    const store = createMemoryStore({ now });
    const gateway = await start(store, { now });
    expect(await gateway.send(8)).toBe(6);
    await store.put('of a session that nobody uses', { session: 'idle' });
    for (let day = 0; day < 40; day++) {
      clock.now += 86_400_000;
      await gateway.send(8);
    }
    expect((await store.prune({ maxAgeMs: 30 * 86_400_000 })).sessions).toBe(1);
    for (const handle of shownIn(gateway.upstream.received.at(-1) as Received))
      expect(await store.get(handle)).toBeDefined();
  });
});

describe('a store that is slow, after a restart or beside another gateway,', () => {
  const SLOW_MS = 2 * requestLimits.storeWaitMs;
  const later = <T>(work: () => Promise<T>): Promise<T> => setTimeout(SLOW_MS).then(work);

  const slowly = (store: Store): Store =>
    changedStore(store, {
      putMany: (items) => later(() => store.putMany(items)),
      secret: () => later(() => store.secret()),
      deletions: () => later(() => store.deletions()),
      list: async function* (session) {
        await setTimeout(SLOW_MS);
        yield* store.list(session);
      },
    });

  const restarts: readonly (readonly [string, (store: Store) => Store | (() => Promise<Store>)])[] = [
    ['to answer', slowly],
    ['to open', (store) => () => later(async () => store)],
    ['to open and to answer', (store) => () => later(async () => slowly(store))],
  ];

  it.each(restarts)('%s takes no mask back that was sent', async (_, slow) => {
    const store = createMemoryStore();
    const before = await start(store);
    expect(await before.send(8)).toBe(6);
    await before.close();
    const [fast, after] = [await start(store), await start(slow(store))];
    expect([await fast.send(8), await after.send(8)]).toEqual([6, 6]);
    expect(after.upstream.received[0]?.body.toString()).toBe(fast.upstream.received[0]?.body.toString());
  });

  it('takes no mask back that another gateway sent since, where both share it', async () => {
    const store = createMemoryStore();
    const isStoreShared = true;
    const other = await start(store, { isStoreShared });
    let isSlow = false;
    const list: Store['list'] = async function* (session) {
      if (isSlow) await setTimeout(SLOW_MS);
      yield* store.list(session);
    };
    const gateway = await start(changedStore(store, { list }), { isStoreShared });
    expect(await gateway.send(4)).toBe(2);
    expect(await other.send(8)).toBe(6);
    isSlow = true;
    expect(await gateway.send(8)).toBe(6);
    expect(gateway.upstream.received[1]?.body.toString()).toBe(other.upstream.received[0]?.body.toString());
  });

  it('takes no arm back: a session that was held out stays untouched without a holdout', async () => {
    const store = createMemoryStore();
    const before = await start(store, { holdout: 1 });
    for (const turns of [0, 8]) expect(await before.send(turns)).toBe(0);
    await before.close();
    const after = await start(slowly(store));
    expect(await after.send(9)).toBe(0);
    expect((await recordsOf(after, 1)).receipts[0]?.arm).toBe('held-out');
  });

  it('and never answers is waited for once, and not at each request', async () => {
    let asked = 0;
    const gateway = await start(
      changedStore(createMemoryStore(), {
        list: async function* () {
          asked += 1;
          await new Promise(() => {});
          yield* [];
        },
      }),
    );
    expect(await gateway.send(8)).toBe(0);
    const first = asked;
    for (let n = 0; n < 5; n++) expect(await gateway.send(8)).toBe(0);
    expect([first > 0, asked]).toEqual([true, first]);
  });
});

describe('a store', () => {
  it('is told by the status before the first request', async () => {
    const gateway = await start(createMemoryStore());
    expect((await gateway.ask<Status>('status')).store).toEqual({ kind: 'memory', ok: true });
  });

  it('that cannot be opened is told by the status before the first request, and when it can', async () => {
    let isThere = false;
    const gateway = await start(async () => {
      if (!isThere) throw new PalimpsestError('STORE_LOCKED', 'another process writes');
      return createMemoryStore();
    });
    const because = 'STORE_LOCKED: another process writes';
    expect((await gateway.ask<Status>('status')).store).toEqual({ kind: 'unknown', ok: false, because });
    isThere = true;
    expect((await gateway.ask<Status>('status')).store).toEqual({ kind: 'memory', ok: true });
  });

  it('that is full masks nothing, and says so', async () => {
    const gateway = await start(withWrites(full));
    expect(await gateway.send(8)).toBe(0);
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({ masked: 0, newMasks: [] });
    expect(receipts[0]?.because).toContain('store');
    expect((await gateway.ask<Status>('status')).store).toEqual({
      kind: 'memory',
      ok: false,
      because: 'STORE_FAILED: no space left',
    });
    expect(gateway.logged).toContainEqual(expect.objectContaining({ level: 'warn', code: 'store-failed' }));
  });

  it('that is slow puts the epoch off, and it is taken when the store is well again', async () => {
    let letGo = (): void => {};
    let isSlow = true;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const gateway = await start(
      withWrites(async (items, store) => {
        if (isSlow) await held;
        return store.putMany(items);
      }),
    );
    expect(await gateway.send(8)).toBe(0);
    // What waits already is waited for once.
    expect(await gateway.send(9)).toBe(0);
    const { receipts } = await recordsOf(gateway, 2);
    expect(receipts.map(({ because }) => /store/.test(because))).toEqual([true, true]);
    isSlow = false;
    letGo();
    await setTimeout(20);
    expect(await gateway.send(10)).toBe(8);
  });

  it('that goes away keeps masked what it is known to have', async () => {
    let isGone = false;
    const gateway = await start(withWrites((items, store) => (isGone ? full() : store.putMany(items))));
    expect(await gateway.send(8)).toBe(6);
    isGone = true;
    expect(await gateway.send(12)).toBe(6);
    isGone = false;
    expect(await gateway.send(13)).toBeGreaterThan(6);
    expect((await gateway.ask<Status>('status')).store.ok).toBe(true);
  });

  it('that does not tell what is recorded leaves everything as it came, but for the opt-in of bound thinking', async () => {
    let isDown = true;
    const store = createMemoryStore();
    const gateway = await start(
      changedStore(store, {
        list: (session) => {
          if (isDown) throw new PalimpsestError('STORE_FAILED', 'gone');
          return store.list(session);
        },
      }),
    );
    expect(await gateway.send(8)).toBe(0);
    const thinking = { type: 'adaptive' };
    const body = anthropicBody(anthropicMessages(8, { thinks: true }), { model: 'claude-opus-5-1', thinking });
    const headers = { 'anthropic-version': '2023-06-01' };
    await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
    const got = gateway.upstream.received.at(-1) as Received;
    const binding = { block_binding: { prefix_mismatch_behavior: 'drop_block' } };
    expect(JSON.parse(got.body.toString())).toEqual({ ...body, thinking: { ...thinking, ...binding } });
    expect(gateway.logged).toContainEqual(expect.objectContaining({ level: 'warn', code: 'store-failed' }));
    isDown = false;
    expect(await gateway.send(9)).toBe(7);
  });

  it('that cannot be opened is tried again', async () => {
    let isThere = false;
    const store = createMemoryStore();
    const gateway = await start(async () => {
      if (!isThere) throw new PalimpsestError('STORE_LOCKED', 'another process writes');
      return store;
    });
    expect(await gateway.send(8)).toBe(0);
    expect(gateway.logged).toContainEqual(expect.objectContaining({ level: 'error', code: 'STORE_LOCKED' }));
    isThere = true;
    expect(await gateway.send(8)).toBe(6);
  });
});
