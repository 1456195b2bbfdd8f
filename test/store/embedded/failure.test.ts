import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../../src/errors.ts';
import { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { aligned, usedSize } from '../../../src/store/embedded/log.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { untilTaken } from '../../support/store/failing-disk.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';
import { collect, diskOf, FOLDER, openOn, RESTLESS, textOf } from '../../support/store/stores.ts';

const noSpace = (): Error => Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' });

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
    expect(await code(store.putNote({ session: 's', name: 'n', text: '' }))).toBe('STORE_FAILED');
    expect(await code(store.delete('s'))).toBe('STORE_FAILED');
    expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
    await store.close();
    expect(disk.operations.length).toBe(length);
    const again = await openOn(diskOf(disk.afterPowerLoss(length, { choose: () => 0 })));
    expect((await again.get(handleOf('safe')))?.text).toBe('safe');
  });

  it.each(['journal', 'index', 'meta', '2.current', '/store/default/2.log'])(
    'in a compaction, of %s, leaves the store as it was',
    async (name) => {
      const disk = new RecordingDisk();
      const store = await openOn(disk, 'write', CALM);
      await store.put('safe', {});
      disk.onSync = failing((path) => path.includes(name));
      expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
      disk.onSync = undefined;
      await store.put('more', {});
      for (const seed of [0, 1]) {
        const again = await openOn(diskOf(disk.afterPowerLoss(disk.operations.length, { choose: () => seed })));
        for (const text of ['safe', 'more']) expect((await again.get(handleOf(text)))?.text).toBe(text);
      }
    },
  );

  it('of the folder, when a compaction is named, fails the store: either generation may be there', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { ...CALM, retryMs: 20 });
    await store.put('safe', {});
    disk.onSync = failing((path) => path === FOLDER && disk.files.get(`${FOLDER}/current`)?.toString()[0] === '2');
    expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
    disk.onSync = undefined;
    expect(await code(store.put('refused', {}))).toBe('STORE_FAILED');
    await putUntilTaken(store, 'more');
    for (const seed of [0, 1]) {
      const again = await openOn(diskOf(disk.afterPowerLoss(disk.operations.length, { choose: () => seed })));
      for (const text of ['safe', 'more']) expect((await again.get(handleOf(text)))?.text).toBe(text);
    }
  });

  it.each<[string, (store: EmbeddedStore) => Promise<unknown>]>([
    ['a compaction', (store) => store.gc({ force: true })],
    ['a removal by age', (store) => store.prune({ maxAgeMs: 1e9 })],
  ])('is over for %s too, though nobody writes a text meanwhile', async (_, work) => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { ...CALM, retryMs: 20 });
    await store.put('safe', { session: 's' });
    disk.onSync = failing((path) => path.endsWith('.log'));
    expect(await code(store.put('refused', { session: 's' }))).toBe('STORE_FAILED');
    disk.onSync = undefined;
    expect(await code(work(store))).toBe('STORE_FAILED');
    await untilTaken(() => work(store));
    expect((await store.get(handleOf('safe')))?.text).toBe('safe');
    expect(await store.verify()).toEqual([]);
  });

  it('of the log refuses all writes, but not what is read, until the store could be copied to new files', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { ...CALM, retryMs: 20 });
    await store.put('safe', { session: 's' });
    disk.onSync = failing((path) => path.endsWith('.log'));
    expect(await code(store.put('unknown', { session: 's' }))).toBe('STORE_FAILED');
    for (let n = 0; n < 20; n++) {
      expect(await code(store.put('more', { session: 's' }))).toBe('STORE_FAILED');
      expect((await store.get(handleOf('safe')))?.text).toBe('safe');
      await sleep(5);
    }
    disk.onSync = undefined;
    // The same text once more: that it stands in the old log must not count.
    await putUntilTaken(store, 'unknown');
    await store.put('more', { session: 's' });
    expect(disk.list(FOLDER).filter((name) => name.startsWith('1.'))).toEqual([]);
    const texts = ['safe', 'unknown', 'more'];
    const again = await openOn(diskOf(disk.afterPowerLoss(disk.operations.length, { choose: () => 0 })));
    for (const one of [store, again]) {
      expect((await one.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
      expect(await one.verify()).toEqual([]);
    }
    await store.close();
  });
});

const failing =
  (isIt: (path: string) => boolean) =>
  (path: string): void => {
    if (isIt(path)) throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
  };

/** It is tried again only once in a while. */
async function putUntilTaken(store: EmbeddedStore, text: string): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    if ((await code(store.put(text, { session: 's' }))) === 'no error') return;
    await sleep(10);
  }
  throw new Error('Expected the store to go on but it refuses every write');
}

describe('a checkpoint that fails', () => {
  const faults: [string, (disk: RecordingDisk) => void][] = ['journal', 'index', 'meta'].flatMap((kind) => [
    [
      `for a sync of ${kind}`,
      (disk) => {
        disk.onSync = failing((path) => path.includes(`.${kind}`));
      },
    ],
    [
      `for no room for ${kind}`,
      (disk) => {
        disk.onWrite = (path) => {
          if (path.includes(`.${kind}`)) throw noSpace();
        };
      },
    ],
  ]);

  it.each(faults)('%s refuses neither reads nor writes, is told, and is made later', async (_, break_) => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { ...RESTLESS, retryMs: 20 });
    const texts: string[] = [];
    const put = async (): Promise<void> => {
      const text = textOf(texts.length, (texts.length * 41) % 1500);
      await store.put(text, { session: 's' });
      texts.push(text);
    };
    while (texts.length < 10) await put();
    break_(disk);
    while (texts.length < 60) await put();
    expect((await store.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
    expect((await store.verify()).map(({ what }) => what)).toEqual([
      expect.stringContaining('the last checkpoint failed'),
    ]);
    const broken = diskOf(disk.afterPowerLoss(disk.operations.length, { choose: () => 0 }));
    [disk.onSync, disk.onWrite] = [undefined, undefined];
    const checkpoints = disk.folderSyncs;
    for (let n = 0; n < 500 && (await store.verify()).length > 0; n++) {
      await put();
      await sleep(5);
    }
    expect(disk.folderSyncs).toBeGreaterThan(checkpoints);
    const later = diskOf(disk.afterPowerLoss(disk.operations.length, { choose: () => 0 }));
    for (const [files, count] of [
      [broken, 60],
      [later, texts.length],
    ] as const) {
      const again = await openOn(files);
      const some = texts.slice(0, count);
      expect((await again.getMany(some.map(handleOf))).map((stored) => stored?.text)).toEqual(some);
      expect(await again.verify()).toEqual([]);
    }
  });
});

describe('a disk that is full', () => {
  const full = (isOnlyLarge: boolean) => (_: string, bytes: Uint8Array) => {
    if (!isOnlyLarge || bytes.length > 500) throw noSpace();
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

  it('keeps what was written of a batch that did not fit, whole and in its session, and nothing of the rest', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    const texts = Array.from({ length: 3000 }, (_, i) => textOf(i, 1000));
    await store.put('before', { session: 's' });
    let writes = 0;
    disk.onWrite = () => {
      writes += 1;
      if (writes > 4) throw noSpace();
    };
    expect(await code(store.putMany(texts.map((text) => ({ text, about: { session: 's' } }))))).toBe('STORE_FAILED');
    expect(writes).toBeGreaterThan(4);
    disk.onWrite = undefined;
    await store.put('after', { session: 's' });
    for (const one of [store, await openOn(diskOf(disk.afterCrash()))]) {
      const listed = (await collect(one.list('s'))).map(({ text }) => text);
      expect(listed.length).toBeGreaterThan(1000);
      expect(listed.length).toBeLessThan(3000);
      expect(listed).toEqual(['before', ...texts.slice(0, listed.length - 2), 'after']);
      const found = (await one.getMany(texts.map(handleOf))).filter((stored) => stored !== undefined);
      expect(found.length).toBe(listed.length - 2);
      expect((await one.stats()).texts).toBe(listed.length);
      expect(await one.verify()).toEqual([]);
      await one.delete('s');
      expect((await one.getMany(texts.map(handleOf))).filter((stored) => stored !== undefined)).toEqual([]);
    }
  });

  it('never makes a reader lose what is acknowledged later, though it looked at half a write', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('before', { session: 's' });
    const reader = await openOn(disk, 'read', CALM);
    let seen: Promise<unknown> | undefined;
    disk.onWrite = (path, bytes, position) => {
      if (bytes.length < 60_000) return;
      disk.onWrite = undefined;
      disk.open(path, 'write').write(bytes.subarray(0, 45_000), position);
      seen = reader.get(handleOf(textOf(1, 20_000)));
      throw noSpace();
    };
    const batch = [1, 2, 3, 4].map((n) => ({ text: textOf(n, 20_000), about: { session: 's' } }));
    expect(await code(store.putMany(batch))).toBe('STORE_FAILED');
    expect(await seen).toMatchObject({ text: textOf(1, 20_000) });
    for (let n = 5; n < 9; n++) {
      await store.put(textOf(n, 6000 * n), { session: 's' });
      expect((await reader.get(handleOf(textOf(n, 6000 * n))))?.text).toBe(textOf(n, 6000 * n));
    }
    const listed = await collect(store.list('s'));
    expect(listed.length).toBe(7);
    expect(await collect(reader.list('s'))).toEqual(listed);
    for (const { text } of batch) expect(await reader.get(handleOf(text))).toEqual(await store.get(handleOf(text)));
    expect(await reader.verify()).toEqual([]);
  });

  it('has room left to tell readers that the store goes on elsewhere', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    // So large that nothing is prepared behind it.
    await store.put(textOf(1, 20_000), { session: 's' });
    const reader = await openOn(disk, 'read', CALM);
    disk.onWrite = (path, bytes, position) => {
      const isMoved = disk.files.get(`${FOLDER}/current`)?.toString().startsWith('2 ');
      if (isMoved && position + bytes.length > (disk.files.get(path)?.length ?? 0)) throw noSpace();
    };
    await store.gc({ force: true });
    disk.onWrite = undefined;
    await store.put('later', {});
    expect((await reader.get(handleOf('later')))?.text).toBe('later');
    expect(disk.list(FOLDER).filter((name) => name.startsWith('1.'))).toEqual([]);
  });

  it.each(['/1.log', '/2.current'])('keeps the store as it was when a compaction has no room for %s', async (name) => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put(textOf(1, 20_000), { session: 's' });
    disk.onWrite = (path) => {
      if (path.endsWith(name)) throw noSpace();
    };
    expect(await code(store.gc({ force: true }))).toBe('STORE_FAILED');
    disk.onWrite = undefined;
    await store.put('more', { session: 's' });
    for (const one of [store, await openOn(diskOf(disk.afterCrash()))])
      expect((await collect(one.list('s'))).map(({ text }) => text)).toEqual([textOf(1, 20_000), 'more']);
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

it('diskBytes are those of records and index, not of what is prepared for more', async () => {
  const disk = new RecordingDisk();
  const store = await openOn(disk, 'write', CALM);
  await store.put('small', {});
  const { diskBytes } = await store.stats();
  await store.close();
  expect((await (await openOn(disk, 'write', CALM)).stats()).diskBytes).toBe(diskBytes);
});

describe('writes at once', () => {
  it('share a write and a sync: those who come while one runs wait for the next', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    // The first one makes room for the next.
    await store.put('first', {});
    const before = disk.syncs;
    const done = disk.operations.length;
    await Promise.all(Array.from({ length: 500 }, (_, i) => store.put(`text ${i}`, { session: 's' })));
    expect(disk.syncs - before).toBe(2);
    expect(disk.operations.slice(done).map(({ kind }) => kind)).toEqual(['write', 'synced', 'write', 'synced']);
    for (let i = 0; i < 10; i++) await store.put(`one ${i}`, {});
    expect(disk.syncs - before).toBe(12);
    await store.putMany(Array.from({ length: 500 }, (_, i) => ({ text: `batch ${i}`, about: {} })));
    expect(disk.syncs - before).toBe(13);
    expect(disk.folderSyncs).toBe(4);
  });

  it('fail alone where they share a write that fails', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    disk.onWrite = (_, bytes) => {
      if (bytes.length > 1000) throw noSpace();
    };
    const texts = [20, 30, 2000, 40].map((bytes, n) => textOf(n, bytes));
    const puts = await Promise.allSettled(texts.map((text) => store.put(text, { session: 's' })));
    expect(puts.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    const listed = (await collect(store.list('s'))).map(({ text }) => text);
    expect(listed).toEqual([texts[0], texts[1], texts[3]]);
  });

  it('fail the store where the disk fails them, and are not tried again', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('first', {});
    let writes = 0;
    disk.onWrite = () => {
      writes += 1;
      if (writes === 2) throw Object.assign(new Error('EIO: input/output error'), { code: 'EIO' });
    };
    const puts = await Promise.allSettled([1, 2, 3].map((n) => store.put(textOf(n), {})));
    expect(puts.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await code(store.put('later', {}))).toBe('STORE_FAILED');
    expect(writes).toBe(2);
  });

  it('keep their order: what is put behind a deletion stays, what was put before it goes', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    const put = (n: number): Promise<string> => store.put(textOf(n), { session: 's' });
    await Promise.all([put(1), put(2), store.delete('s'), put(3), put(4)]);
    for (const one of [store, await openOn(diskOf(disk.afterCrash()))]) {
      const listed = (await collect(one.list('s'))).map(({ text }) => text);
      expect(listed).toEqual([textOf(3), textOf(4)]);
      expect(await one.get(handleOf(textOf(2)))).toBeUndefined();
      expect(await one.stats()).toMatchObject({ texts: 2, sessions: 1 });
    }
  });

  it('of one batch are on their way to the disk a megabyte at a time, and acknowledged when all is there', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    const before = disk.syncs;
    await store.putMany(Array.from({ length: 10 }, (_, n) => ({ text: textOf(n, 300_000), about: {} })));
    expect(disk.syncs - before).toBe(3);
    expect(disk.operations.at(-1)?.kind).toBe('synced');
    let told = 0;
    disk.onSync = () => {
      told += 1;
      if (told === 1) throw new Error('EIO');
    };
    const more = Array.from({ length: 10 }, (_, n) => ({ text: textOf(10 + n, 300_000), about: {} }));
    expect(await code(store.putMany(more))).toBe('STORE_FAILED');
  });

  it('of one batch take a write each half megabyte, not one each, also where they are alike', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    const before = disk.operations.length;
    const texts = Array.from({ length: 1000 }, (_, i) => textOf(i, 500));
    await store.putMany(texts.map((text, i) => ({ text, about: { session: `s${i % 7}`, turn: i } })));
    const writes = disk.operations.slice(before).filter(({ kind }) => kind === 'write');
    expect(writes.length).toBe(2);
    await store.putMany([...texts, ...texts].map((text, i) => ({ text, about: { session: 'again', turn: i } })));
    const { refs } = (await store.get(handleOf(textOf(8, 500)))) ?? { refs: [] };
    expect(refs).toEqual([
      { session: 's1', turn: 8 },
      { session: 'again', turn: 8 },
      { session: 'again', turn: 1008 },
    ]);
    expect((await store.stats()).texts).toBe(1000);
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
    for (let i = 0; i < 5; i++) await store.put(`after ${i}`, {});
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

describe('a store that another process has taken over', () => {
  it('is left as it is when the one who lost it is closed', async () => {
    const disk = new RecordingDisk();
    let isLost = false;
    const mayWrite = (): void => {
      if (isLost) throw new PalimpsestError('STORE_LOCKED', 'another process holds it');
    };
    const first = await EmbeddedStore.open({ disk, folder: FOLDER, mode: 'write', limits: CALM, mayWrite });
    await first.put('one', { session: 's' });
    isLost = true;
    const second = await openOn(disk, 'write', CALM);
    await second.put('two', { session: 's' });
    const { length } = disk.operations;
    await first.close();
    expect(disk.operations.length).toBe(length);
    await second.put('three', { session: 's' });
    const again = await openOn(diskOf(disk.afterCrash()), 'write', CALM);
    expect((await collect(again.list('s'))).map(({ text }) => text)).toEqual(['one', 'two', 'three']);
  });
});

describe('a reader beside a writer', () => {
  it('goes on behind a torn record of which the disk has zeros in place of the beginning', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', CALM);
    await store.put('before', {});
    const log = disk.open(`${FOLDER}/1.log`, 'write');
    const end = aligned(usedSize(log));
    await store.put(textOf(1, 3000), {});
    log.write(Buffer.alloc(1000), end);
    const torn = diskOf(disk.files);
    const reader = await openOn(torn, 'read', CALM);
    expect((await reader.get(handleOf('before')))?.text).toBe('before');
    await (await openOn(torn, 'write', CALM)).put('behind', {});
    expect((await reader.get(handleOf('behind')))?.text).toBe('behind');
  });

  it('finds what was acknowledged, and not what was deleted, whatever it read just before', async () => {
    const disk = new RecordingDisk();
    const writer = await openOn(disk, 'write', CALM);
    await writer.putMany([1, 2, 3].map((n) => ({ text: textOf(n), about: { session: `s${n}` } })));
    const reader = await openOn(disk, 'read', CALM);
    for (let n = 4; n < 40; n++) {
      expect((await reader.get(handleOf(textOf(1))))?.refs.length).toBe(1);
      await writer.put(textOf(n), { session: `s${n}` });
      expect((await reader.get(handleOf(textOf(n))))?.text).toBe(textOf(n));
      expect((await reader.get(handleOf(textOf(n))))?.text).toBe(textOf(n));
      await writer.delete(`s${n}`);
      expect(await reader.get(handleOf(textOf(n)))).toBe(undefined);
      expect(await reader.getMany([textOf(n), textOf(2)].map(handleOf))).toMatchObject([
        undefined,
        { text: textOf(2) },
      ]);
    }
    await writer.gc({ force: true });
    expect((await reader.get(handleOf(textOf(3))))?.text).toBe(textOf(3));
  });
});

const turn = { session: 's', turn: 1, reasoning: '', action: '', observation: '', masked: false };
