import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../report/request-record.ts';
import { storeConformance } from '../../testing/store-conformance.ts';
import { createBoundedStore } from './bounded-store.ts';

storeConformance(
  { describe, it, expect },
  { name: 'memory, bounded', keepsRecords: true, open: async () => createBoundedStore(256 * 1024 * 1024) },
);

describe('createBoundedStore', () => {
  it('never holds more than its limit, however often texts are put again and by however many sessions', async () => {
    const store = createBoundedStore(100_000);
    const text = (i: number): string => `${i} ${'x'.repeat(1000)}`;
    for (let session = 0; session < 100; session++) {
      const about = { session: `s${session}` };
      for (let round = 0; round < 3; round++)
        await Promise.all([1, 2, 3].map((i) => store.putMany([{ text: text(session + i), about }])));
      const { usedBytes = 0, sessions } = await store.stats();
      expect(usedBytes + sessions * 3 * 512).toBeLessThanOrEqual(100_000);
      expect(await store.get(await store.put(text(session + 1), about))).toBeDefined();
    }
    expect((await store.stats()).sessions).toBeGreaterThan(15);
  });

  it('deletes other sessions for a put, not the one it writes to, even if that was unused for longest', async () => {
    const store = createBoundedStore(10_000);
    const first = await store.put('a'.repeat(3000), { session: 'own' });
    const other = await store.put('b'.repeat(4000), { session: 'other' });
    const second = await store.put('c'.repeat(3000), { session: 'own' });
    expect((await store.getMany([first, other, second])).map(Boolean)).toEqual([true, false, true]);
  });

  it('refuses a put that does not fit beside its own session, and deletes nothing for it', async () => {
    const store = createBoundedStore(10_000);
    const own = await store.put('a'.repeat(6000), { session: 'own' });
    const other = await store.put('b'.repeat(1000), { session: 'other' });
    await expect(store.put('c'.repeat(6000), { session: 'own' })).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect((await store.getMany([own, other])).map(Boolean)).toEqual([true, true]);
    expect(await store.put('a'.repeat(6000), { session: 'own' })).toBe(own);
    expect(await store.deletions()).toBe(0);
  });

  it('deletes neither the events of a conversation for its texts nor its texts for its events', async () => {
    const store = createBoundedStore(10_000);
    const texts = await store.put('a'.repeat(4000), { session: 'g-aa-owner' });
    const events = await store.put('b'.repeat(3000), { session: 'ge-aa' });
    for (const session of ['g-aa-owner', 'ge-aa'])
      await expect(store.put('c'.repeat(3000), { session })).rejects.toMatchObject({ code: 'STORE_FULL' });
    const elsewhere = await store.put('d'.repeat(3000), { session: 'g-aa-another' });
    expect((await store.getMany([texts, events, elsewhere])).map(Boolean)).toEqual([false, true, true]);
  });

  it('keeps most of the other sessions when one needs most of the room', async () => {
    const store = createBoundedStore(100_000);
    await store.put('a'.repeat(70_000), { session: 'own' });
    const others = Array.from({ length: 14 }, (_, i) => `${i}`.padEnd(1488, 'x'));
    const handles = await Promise.all(others.map((text, i) => store.put(text, { session: `s${i}` })));
    await store.put('b'.repeat(1000), { session: 'own' });
    const kept = (await store.getMany(handles)).map(Boolean);
    expect(kept.slice(0, 3)).toEqual([false, false, false]);
    expect(kept.filter(Boolean)).toHaveLength(10);
  });

  it('deletes last what was touched last', async () => {
    const store = createBoundedStore(10_000);
    const kept = await store.put('kept', { session: 'kept' });
    const gone = await store.put('gone'.repeat(750), { session: 'gone' });
    await store.touch('kept');
    await store.put('x'.repeat(4000), { session: 'large' });
    await store.put('y'.repeat(1500), { session: 'other' });
    expect([await store.get(kept), await store.get(gone)]).toEqual([
      expect.objectContaining({ text: 'kept' }),
      undefined,
    ]);
  });

  it('keeps the records of conversations whose texts it deletes to make room', async () => {
    const store = createBoundedStore(20_000);
    const record: RequestRecord = {
      ...{ id: 'r', at: 1, session: 'c1', conversation: 'c1', arm: 'treated', api: 'anthropic' },
      prices: { name: 'none', read: 1, write: 1 },
      ...{ status: 200, act: 'wait', masked: 0, newMasks: 0 },
      expected: { sent: { cached: 0, written: 1 }, without: { cached: 0, written: 1 } },
      without: { cached: 0, written: 1 },
      signs: { results: 0, failed: 0, repeated: 0, recalls: 0 },
    };
    await store.putRecords?.([record]);
    for (let i = 1; i <= 10; i++) await store.putMany([{ text: `${i}`.repeat(5000), about: { session: `g-c${i}` } }]);
    const { records, sessions } = await store.stats();
    expect([records, sessions < 10]).toEqual([1, true]);
  });
});
