import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { entryOf } from '../../../test/support/gateway/receipt-entry.ts';
import { collect } from '../../../test/support/store/stores.ts';
import type { RequestRecord } from '../../report/request-record.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { searchTexts } from '../../store/search-texts.ts';
import type { Store } from '../../store/store.ts';
import { headsOf, type TextHead } from '../../store/text-heads.ts';
import { storeConformance } from '../../testing/store-conformance.ts';
import type { Entered } from '../receipts/receipt-log.ts';
import { createRecords } from '../receipts/records.ts';
import { serveWorker } from './cluster-owner.ts';
import { connectToOwner } from './cluster-worker.ts';

/** An owner and a worker of it, with what goes between them copied as it is between processes. */
function connect(openStore: (tenant: string) => Promise<Store>, onReply: (message: unknown) => void = () => {}) {
  const [toOwner, toWorker] = [new EventEmitter(), new EventEmitter()];
  const later = (emitter: EventEmitter) => (message: unknown) => {
    const copy = structuredClone(message);
    setImmediate(() => emitter.emit('message', copy));
  };
  const records = createRecords({ startedAt: 0 });
  const toWorkerLater = later(toWorker);
  const send = (message: unknown): void => {
    onReply(message);
    toWorkerLater(message);
  };
  serveWorker(Object.assign(toOwner, { send, isConnected: () => true }), { openStore, records });
  return { records, ...{ remote: connectToOwner(Object.assign(toWorker, { send: later(toOwner) })) } };
}

const stores = new Map<string, Store>();
const { remote } = connect(async (tenant) => {
  const store = stores.get(tenant) ?? createMemoryStore();
  stores.set(tenant, store);
  return store;
});

storeConformance(
  { describe, it, expect },
  { name: 'the store of a worker', keepsRecords: true, open: async (tenant = 'default') => remote.store(tenant) },
);

describe('what goes to a worker', () => {
  const CHARS = 500_000;

  async function connectLarge() {
    const store = createMemoryStore();
    const items = Array.from({ length: 20 }, (_, turn) => ({
      text: `text ${turn}\n`.padEnd(CHARS, 'x'),
      about: { session: 's', turn },
    }));
    await store.putMany(items);
    const sizes: number[] = [];
    const { remote: worker } = connect(
      async () => store,
      (message) => sizes.push(JSON.stringify(message).length),
    );
    return { store: worker.store('default'), sizes };
  }

  it('is a large session in parts, and only as many as are read', async () => {
    const { store, sizes } = await connectLarge();
    const handles: string[] = [];
    for await (const { handle } of store.list('s')) handles.push(handle);
    expect(handles).toHaveLength(20);
    expect(Math.max(...sizes)).toBeLessThan(3 * CHARS);
    expect(sizes.length).toBeGreaterThan(5);
    sizes.length = 0;
    for await (const _ of store.list('s')) break;
    await store.stats();
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(4 * CHARS);
  });

  it('is no text where a list is asked for', async () => {
    const { store, sizes } = await connectLarge();
    const heads: TextHead[] = [];
    for await (const head of headsOf(store, 's')) heads.push(head);
    expect(heads).toHaveLength(20);
    expect(heads[19]).toMatchObject({ lines: 2, chars: CHARS, first: 'text 19', refs: [{ session: 's', turn: 19 }] });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(CHARS / 10);
  });
});

describe('a search of a worker', () => {
  it('stops in the owner when its signal is aborted', async () => {
    let [begun, end]: [boolean, unknown] = [false, undefined];
    async function* endless() {
      begun = true;
      for (;;) yield { handle: 'p_aaaaaaaaaaaaaaaaaaaaaaaaaa' as const, text: 'text', bytes: 4, refs: [] };
    }
    const store: Store = Object.assign(createMemoryStore(), {
      async *search(...[query, options]: Parameters<Store['search']>) {
        try {
          yield* searchTexts(endless(), query, options);
        } catch (error) {
          end = (error as Error).name;
          throw error;
        }
      },
    });
    const { remote: worker } = connect(async () => store);
    const stop = new AbortController();
    const search = async (signal: AbortSignal): Promise<void> => {
      for await (const _ of worker.store('default').search('none', { signal }));
    };
    const searching = search(stop.signal);
    await expect.poll(() => begun).toBe(true);
    stop.abort(new Error('no longer wanted'));
    await expect(searching).rejects.toThrow('no longer wanted');
    expect(end).toBe('AbortError');
    await expect(search(stop.signal)).rejects.toThrow('no longer wanted');
  });
});

it('damaged records of the owner are counted in a worker', async () => {
  const record = { id: 'r1', at: 5, session: 's', conversation: 'c' } as RequestRecord;
  const store: Store = {
    ...createMemoryStore(),
    async *records(range = {}) {
      yield record;
      range.onDamaged?.();
      range.onDamaged?.();
    },
  };
  let damaged = 0;
  const worker = connect(async () => store).remote.store('default');
  const range = { since: 1, onDamaged: () => void damaged++ };
  expect(worker.records && (await collect(worker.records(range)))).toEqual([record]);
  expect(damaged).toBe(2);
});

describe('the records of a worker', () => {
  it('are kept by the owner, for each tenant apart', async () => {
    const { remote: worker, records } = connect(async () => createMemoryStore());
    worker.records.finish({ tenant: 'a', provider: 'openai', status: 200, ended: 'passed', entry: entryOf({}) });
    expect(await worker.records.receipts('a').totals()).toMatchObject({ requests: 1, tokensSent: 100 });
    expect(await records.receipts('a').conversations(5)).toHaveLength(1);
    expect(await worker.records.receipts('b').conversations(5)).toEqual([]);
    expect(await worker.records.receipts('a').conversation('none')).toBeUndefined();
    expect(await worker.records.metrics()).toContain('palimpsest_tokens_sent_total 100');
  });

  it('are watched through the owner, until the last watcher stops', async () => {
    const { remote: worker, records } = connect(async () => createMemoryStore());
    const seen: Entered[] = [];
    const stop = worker.records.receipts('a').watch((entered) => seen.push(entered));
    await worker.records.receipts('a').totals();
    const finish = () =>
      records.finish({ tenant: 'a', provider: 'openai', status: 200, ended: 'passed', entry: entryOf({}) });
    finish();
    await worker.records.receipts('a').totals();
    expect(seen).toMatchObject([{ receipt: { request: 1 }, totals: { requests: 1 } }]);
    stop();
    await worker.records.receipts('a').totals();
    finish();
    await worker.records.receipts('a').totals();
    expect(seen).toHaveLength(1);
  });
});
