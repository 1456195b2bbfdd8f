import { setTimeout } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FORMAT, readStart } from '../../../src/store/embedded/log.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { type Files, RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';
import { collect, diskOf, FOLDER, openOn, RESTLESS, textOf } from '../../support/store/stores.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const START_AT = Date.UTC(2026, 0, 1);

/** A store with a clock of its own. */
function clocked(disk = new RecordingDisk()) {
  const clock = { now: START_AT };
  const open = (mode: 'read' | 'write' = 'write') =>
    openOn(disk, mode, { checkpointBytes: 1e9, checkpointPages: 1e9, now: () => clock.now });
  return { disk, clock, open };
}

const timesOf = async (store: Awaited<ReturnType<typeof openOn>>) =>
  (await collect(store.sessions())).map(({ session, firstAt, lastAt }) => [
    session,
    (firstAt - START_AT) / HOUR,
    (lastAt - START_AT) / HOUR,
  ]);

describe('the times of sessions', () => {
  it('move on with use, once an hour, and outlive a compaction, a lost index and a restart', async () => {
    const { disk, clock, open } = clocked();
    const store = await open();
    await store.put('a', { session: 'a' });
    await store.put('b', { session: 'b' });
    clock.now += 2 * HOUR;
    await store.put('more', { session: 'a' });
    clock.now += 5 * HOUR;
    await store.touch('b');
    const expected = [
      ['a', 0, 2],
      ['b', 0, 7],
    ];
    expect(await timesOf(store)).toEqual(expected);
    clock.now += HOUR / 2;
    const { length } = disk.operations;
    await store.touch('b');
    expect(disk.operations.length).toBe(length);
    await store.gc({ force: true });
    expect(await timesOf(store)).toEqual(expected);
    expect(await timesOf(await open('read'))).toEqual(expected);
    await store.close();
    const files = new Map(disk.files);
    files.delete(`${FOLDER}/2.index`);
    expect(await timesOf(await clocked(diskOf(files)).open())).toEqual(expected);
    expect(await timesOf(await open())).toEqual(expected);
  });

  it('a session that is only touched is not removed by age, one that is idle is', async () => {
    const { clock, open } = clocked();
    const store = await open();
    for (const session of ['live', 'idle']) await store.put(`of ${session}`, { session });
    for (let day = 0; day < 40; day++) {
      clock.now += DAY;
      await store.touch('live');
    }
    expect(await store.prune({ maxAgeMs: 30 * DAY })).toMatchObject({ sessions: 1, texts: 1, inUse: 0 });
    expect(await timesOf(store)).toEqual([['live', 0, 960]]);
    expect((await store.get(handleOf('of live')))?.text).toBe('of live');
  });

  it('a clock that was once in the future keeps no session for ever', async () => {
    const { clock, open } = clocked();
    const store = await open();
    clock.now += 10_000 * DAY;
    await store.put('from the future', { session: 'odd' });
    clock.now = START_AT;
    await store.put('of now', { session: 'even' });
    await store.prune({ maxAgeMs: 30 * DAY });
    expect((await store.stats()).sessions).toBe(2);
    clock.now += 31 * DAY;
    expect((await store.prune({ maxAgeMs: 30 * DAY })).sessions).toBe(2);
  });

  it('by size, the session in use goes last, and the report says that it went', async () => {
    const { clock, open } = clocked();
    const store = await open();
    for (const [n, session] of ['live', 'idle', 'other'].entries()) {
      await store.put(textOf(n, 4000), { session });
      clock.now += DAY;
    }
    await store.touch('live');
    const { usedBytes = 0 } = await store.stats();
    expect(await store.prune({ maxBytes: usedBytes - 6000 })).toMatchObject({ sessions: 2, inUse: 0 });
    expect(await timesOf(store)).toEqual([['live', 0, 72]]);
    expect(await store.prune({ maxBytes: 1000 })).toMatchObject({ sessions: 1, inUse: 1 });
  });

  it('growth counts what was stored in the last seven days', async () => {
    const { clock, open } = clocked();
    const store = await open();
    await store.put(textOf(1, 50_000), { session: 'old' });
    clock.now += 20 * DAY;
    await store.put(textOf(2, 10_000), { session: 'new' });
    const { weekBytes = 0, oldestAt, newestAt } = await store.stats();
    expect([oldestAt, newestAt]).toEqual([START_AT, START_AT + 20 * DAY]);
    expect(Math.round(weekBytes / 1000)).toBe(10);
  });
});

describe('a store of format 5', () => {
  /** As that version left it: no times, and no records of use. */
  async function oldFiles(): Promise<Files> {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { now: () => 0 });
    for (const session of ['a', 'b']) await store.put(`of ${session}`, { session });
    await store.put('alone', {});
    await store.close();
    const files = new Map(disk.files);
    const log = Buffer.from(files.get(`${FOLDER}/1.log`) as Buffer);
    log.writeUInt32LE(5, 4);
    log.writeUInt32LE(crc32(log.subarray(0, 12)), 12);
    return files.set(`${FOLDER}/1.log`, log);
  }

  it('opens with all that is in it, and becomes one that older versions refuse', async () => {
    const disk = diskOf(await oldFiles());
    const store = await openOn(disk);
    expect((await store.stats()).texts).toBe(3);
    expect(await store.verify()).toEqual([]);
    expect(readStart(disk.open(`${FOLDER}/1.log`, 'read'))?.format).toBe(FORMAT);
  });

  it('is read without a change, and its sessions are listed', async () => {
    const disk = diskOf(await oldFiles());
    const reader = await openOn(disk, 'read');
    expect((await collect(reader.sessions())).map(({ session, texts }) => [session, texts])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect(await reader.prune({ maxAgeMs: 30 * DAY, dryRun: true })).toMatchObject({ sessions: 0, texts: 0 });
    expect(disk.operations).toEqual([]);
  });

  it('loses nothing by age before that age has passed since the first prune', async () => {
    const { clock, open } = clocked(diskOf(await oldFiles()));
    const store = await open();
    expect(await store.prune({ maxAgeMs: 30 * DAY })).toMatchObject({ sessions: 0, texts: 0 });
    expect((await store.stats()).texts).toBe(3);
    clock.now += 29 * DAY;
    await store.touch('a');
    clock.now += 2 * DAY;
    expect(await store.prune({ maxAgeMs: 30 * DAY })).toMatchObject({ sessions: 1, texts: 2 });
    expect(await timesOf(store)).toEqual([['a', 0, 696]]);
  });
});

describe('a compaction', () => {
  it('lets others put, read and delete while it copies, and loses nothing of that', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { ...RESTLESS, leastDead: 1e9, copyStepBytes: 2000 });
    const texts = Array.from({ length: 150 }, (_, i) => textOf(i, 1000));
    await store.putMany(texts.map((text, i) => ({ text, about: { session: i % 3 ? 'stays' : 'gone' } })));
    let isDone = false;
    const compacted = store.gc({ force: true }).then((report) => {
      isDone = true;
      return report;
    });
    const meanwhile: string[] = [];
    for (let i = 0; !isDone && i < 10_000; i++) {
      const text = `put while it copies ${i}`;
      await store.put(text, { session: 'new' });
      expect((await store.get(handleOf(text)))?.text).toBe(text);
      if (!isDone) meanwhile.push(text);
      if (i === 15) await store.delete('gone');
      if (i === 16) await store.put(texts[0] as string, { session: 'again' });
    }
    await compacted;
    // The last step is short: all others let a put in between.
    expect(meanwhile.length).toBeGreaterThan(20);
    const expected = [...texts.filter((_, i) => i % 3 !== 0 || i === 0), ...meanwhile];
    for (const one of [store, await openOn(diskOf(disk.afterCrash()))]) {
      for (const text of expected) expect((await one.get(handleOf(text)))?.text).toBe(text);
      for (let i = 3; i < texts.length; i += 3) expect(await one.get(handleOf(texts[i] as string))).toBe(undefined);
      expect(await one.verify()).toEqual([]);
    }
    expect(disk.files.has(`${FOLDER}/1.log`)).toBe(false);
  });

  it.each([1, 2, 5])(
    'is given up where the store fails and recovers at its checkpoint %i, and nothing is lost',
    async (nth) => {
      const disk = new RecordingDisk();
      const store = await openOn(disk, 'write', { ...RESTLESS, leastDead: 1e9, copyStepBytes: 500, retryMs: 1 });
      await store.putMany(Array.from({ length: 60 }, (_, i) => ({ text: textOf(i, 300), about: { session: 's' } })));
      // The copy waits for a checkpoint of its own while all this happens.
      let goOn = (): void => {};
      let checkpoints = 0;
      const held = new Promise<void>((resolve) => (goOn = resolve));
      const reached = new Promise<void>((resolve) => {
        disk.onSync = async (path): Promise<void> => {
          if (!path.endsWith('2.index') || ++checkpoints < nth) return;
          resolve();
          await held;
        };
      });
      const compacting = store.gc({ force: true }).catch((error: { code?: string }) => error.code);
      await reached;
      await store.put('before', { session: 's' });
      const hold = disk.onSync;
      disk.onSync = (path) => {
        if (path.endsWith('1.log')) throw new Error('the disk failed once');
        return hold?.(path);
      };
      await expect(store.put('never acknowledged', { session: 's' })).rejects.toMatchObject({ code: 'STORE_FAILED' });
      disk.onSync = hold;
      const isPut = (): Promise<boolean> =>
        store.put('after', { session: 's' }).then(
          () => true,
          () => false,
        );
      for (let n = 0; n < 100 && !(await isPut()); n++) await setTimeout(5);
      goOn();
      expect(await compacting).toBe('STORE_FAILED');
      await store.gc({ force: true });
      for (const one of [store, await openOn(diskOf(disk.afterCrash()))]) {
        for (let i = 0; i < 60; i++) expect((await one.get(handleOf(textOf(i, 300))))?.bytes).toBe(300);
        for (const text of ['before', 'after']) expect((await one.get(handleOf(text)))?.text).toBe(text);
      }
    },
  );

  it('of a store that is closed meanwhile ends, and the next one finds all of it', async () => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { ...RESTLESS, copyStepBytes: 500 });
    await store.putMany(
      Array.from({ length: 60 }, (_, i) => ({ text: textOf(i, 300), about: { session: `s${i % 2}` } })),
    );
    await store.delete('s1');
    await store.close();
    const again = await openOn(disk);
    expect((await again.stats()).texts).toBe(30);
    expect(await again.verify()).toEqual([]);
  });

  it.each([0, 1, 2])('that is cut off by a power loss at any moment costs nothing: seed %i', async (seed) => {
    const disk = new RecordingDisk();
    const store = await openOn(disk, 'write', { copyStepBytes: 700 });
    await store.putMany(
      Array.from({ length: 12 }, (_, i) => ({ text: textOf(i, 400), about: { session: `s${i % 2}` } })),
    );
    const from = disk.operations.length;
    const done: { readonly at: number; readonly text: string }[] = [];
    await Promise.all([
      store.gc({ force: true }),
      (async () => {
        for (let i = 100; i < 106; i++) {
          await store.put(textOf(i, 300), { session: 'new' });
          done.push({ at: disk.operations.length, text: textOf(i, 300) });
        }
      })(),
    ]);
    for (let length = from; length <= disk.operations.length; length++) {
      const files = disk.afterPowerLoss(length, { choose: randomFrom(1000 * length + seed) });
      const again = await openOn(diskOf(files));
      for (let i = 0; i < 12; i++) expect((await again.get(handleOf(textOf(i, 400))))?.bytes).toBe(400);
      for (const { at, text } of done) if (at <= length) expect((await again.get(handleOf(text)))?.text).toBe(text);
    }
  });
});
