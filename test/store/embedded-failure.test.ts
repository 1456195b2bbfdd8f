import { describe, expect, it } from 'vitest';
import { handleOf } from '../../src/store/handle.ts';
import { RecordingDisk } from './support/recording-disk.ts';
import { diskOf, openOn, textOf } from './support/stores.ts';

const CALM = { checkpointBytes: 1e9, checkpointPages: 1e9 };

const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: { code?: string }) => error.code,
  );

describe('a sync that fails', () => {
  it('fails the store: that write, all that wait, and every later one; and is never tried again', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('safe', {});
    disk.onSync = () => {
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
    };
    const before = disk.syncs;
    const waiting = ['one', 'two', 'three'].map((text) => code(store.put(text, {})));
    expect(await Promise.all(waiting)).toEqual(['STORE_FAILED', 'STORE_FAILED', 'STORE_FAILED']);
    expect(disk.syncs - before).toBe(1);
    disk.onSync = undefined;
    const { length } = disk.operations;
    expect(await code(store.put('four', {}))).toBe('STORE_FAILED');
    expect(await code(store.putTurn(turn))).toBe('STORE_FAILED');
    expect(await code(store.delete('s'))).toBe('STORE_FAILED');
    expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
    await store.close();
    expect(disk.operations.length).toBe(length);
    const again = await openOn(diskOf(disk.afterPowerLoss(length, { choose: () => 0 })));
    expect((await again.get(handleOf('safe')))?.text).toBe('safe');
  });

  it.each(['journal', 'index', 'meta', 'current', '/store/default'])(
    'fails the store also where it is of %s',
    async (name) => {
      const disk = new RecordingDisk();
      const store = await openOn(disk, 'write', CALM);
      await store.put('safe', {});
      disk.onSync = (path) => {
        if (path.includes(name)) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
      };
      expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
      disk.onSync = undefined;
      expect(await code(store.put('more', {}))).toBe('STORE_FAILED');
      for (const seed of [0, 1]) {
        const again = await openOn(diskOf(disk.afterPowerLoss(disk.operations.length, { choose: () => seed })));
        expect((await again.get(handleOf('safe')))?.text).toBe('safe');
      }
    },
  );
});

describe('a disk that is full', () => {
  const full = (isOnlyLarge: boolean) => (_: string, bytes: Uint8Array) => {
    if (!isOnlyLarge || bytes.length > 500) throw Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });
  };

  it('refuses what does not fit, and goes on when there is room', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('before', { session: 's' });
    disk.onWrite = full(true);
    expect(await code(store.put(textOf(1, 1000), { session: 's' }))).toBe('STORE_FAILED');
    expect(await store.put('small', { session: 's' })).toBe(handleOf('small'));
    disk.onWrite = undefined;
    await store.put(textOf(1, 1000), { session: 's' });
    const again = await openOn(diskOf(disk.afterCrash()));
    for (const text of ['before', 'small', textOf(1, 1000)]) expect((await again.get(handleOf(text)))?.text).toBe(text);
    expect(await again.verify()).toEqual([]);
  });

  it('keeps the store as it was when there is no room to compact it', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put(textOf(1, 1000), { session: 's' });
    disk.onWrite = full(true);
    expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
    disk.onWrite = undefined;
    expect((await store.get(handleOf(textOf(1, 1000))))?.text).toBe(textOf(1, 1000));
    await store.put('more', { session: 's' });
    await store.gc({ force: true });
    expect((await store.stats()).texts).toBe(2);
  });
});

describe('writes at once', () => {
  it('share syncs: those who come while one runs wait for the next', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    const before = disk.syncs;
    await Promise.all(Array.from({ length: 500 }, (_, i) => store.put(`text ${i}`, { session: 's' })));
    expect(disk.syncs - before).toBe(2);
    for (let i = 0; i < 10; i++) await store.put(`one ${i}`, {});
    expect(disk.syncs - before).toBe(12);
    await store.putMany(Array.from({ length: 500 }, (_, i) => ({ text: `batch ${i}`, about: {} })));
    expect(disk.syncs - before).toBe(13);
    expect(disk.folderSyncs).toBe(4);
  });

  it('are acknowledged though the log they wait for is compacted and closed meanwhile', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    disk.onSync = async (path) => {
      if (path.endsWith('/1.log')) await new Promise((resolve) => setTimeout(resolve, 30));
    };
    const puts = [1, 2, 3].map((n) => store.put(textOf(n), { session: 's' }));
    await Promise.all([...puts, store.gc({ force: true }), store.put('later', {})]);
    expect((await store.stats()).texts).toBe(4);
    await store.close();
  });

  it('start one checkpoint, not one each', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { checkpointBytes: 1000, checkpointPages: 1e9 });
    const before = disk.folderSyncs;
    await Promise.all(Array.from({ length: 100 }, (_, i) => store.put(`text ${i}`, { session: 's' })));
    await store.put('after', {});
    expect(disk.folderSyncs - before).toBeLessThanOrEqual(4);
    expect(disk.folderSyncs - before).toBeGreaterThan(0);
  });

  it('do not make a checkpoint when a store is closed that nobody changed', async () => {
    const disk = new RecordingDisk();
    await (await openOn(disk)).close();
    const before = disk.operations.length;
    await (await openOn(disk)).close();
    expect(disk.operations.length).toBe(before);
  });
});

const turn = { session: 's', turn: 1, reasoning: '', action: '', observation: '', masked: false };
