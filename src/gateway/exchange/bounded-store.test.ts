import { describe, expect, it } from 'vitest';
import { storeConformance } from '../../testing/store-conformance.ts';
import { createBoundedStore } from './bounded-store.ts';

storeConformance(
  { describe, it, expect },
  { name: 'memory, bounded', open: async () => createBoundedStore(256 * 1024 * 1024) },
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
});
