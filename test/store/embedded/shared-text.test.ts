import { describe, expect, it } from 'vitest';
import type { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';
import { diskOf, openOn, textOf } from '../../support/store/stores.ts';

const SECOND = 1000;
const START_AT = Date.UTC(2026, 0, 1);
const TEXT = textOf(1, 2000);
const BATCH = 50;

interface Shared {
  readonly disk: RecordingDisk;
  readonly store: EmbeddedStore;
}

/** A store with one text in many sessions. Sessions that were stored last are the least recently used. */
async function sharedBy(sessions: number): Promise<Shared> {
  const disk = new RecordingDisk();
  const clock = { now: START_AT };
  const store = await openOn(disk, 'write', { now: () => clock.now });
  for (let first = 0; first < sessions; first += BATCH) {
    clock.now = START_AT - first * SECOND;
    const about = (n: number) => ({ session: `s${first + n}`, turn: 1 });
    await store.putMany(Array.from({ length: BATCH }, (_, n) => ({ text: TEXT, about: about(n) })));
  }
  clock.now = START_AT;
  return { disk, store };
}

/** How often the disk is read, and the most processor time between two turns of the event loop. */
async function costOf({ disk, store }: Shared, work: (store: EmbeddedStore) => Promise<unknown>) {
  const before = disk.reads;
  let [last, blockedMs] = [process.cpuUsage(), 0];
  const look = (): void => {
    blockedMs = Math.max(blockedMs, process.cpuUsage(last).user / 1000);
    last = process.cpuUsage();
  };
  const timer = setInterval(look, 10);
  await work(store);
  clearInterval(timer);
  look();
  return { reads: disk.reads - before, blockedMs };
}

const [FEW, MANY] = [750, 3000];
const upkeep: Record<string, (store: EmbeddedStore) => Promise<unknown>> = {
  'a compaction': (store) => store.gc({ force: true }),
  'a dry prune': (store) => store.prune({ maxAgeMs: 0, now: START_AT + SECOND, dryRun: true }),
  'a prune': (store) => store.prune({ maxAgeMs: 0, now: START_AT + SECOND }),
};

describe('a text that is in thousands of sessions', () => {
  it.each(Object.entries(upkeep))(
    '%s reads in proportion to the sessions, and the event loop keeps turning',
    { timeout: 120_000 },
    async (_, work) => {
      const few = await costOf(await sharedBy(FEW), work);
      const many = await costOf(await sharedBy(MANY), work);
      // Work that grows with the square of the sessions would be 16 times as much.
      expect(many.reads / few.reads).toBeLessThan(7);
      expect(many.reads / MANY).toBeLessThan(100);
      expect(many.blockedMs).toBeLessThan(1500);
    },
  );

  it('keeps exactly the references that were not deleted, also after a restart and without its index', async () => {
    const { disk, store } = await sharedBy(200);
    const left = new Set(Array.from({ length: 200 }, (_, n) => `s${n}`));
    const remove = async (n: number): Promise<void> => {
      await store.delete(`s${n}`);
      left.delete(`s${n}`);
    };
    const check = async (one: EmbeddedStore): Promise<void> => {
      const refs = (await one.get(handleOf(TEXT)))?.refs.map(({ session }) => session);
      expect(new Set(refs)).toEqual(left);
    };
    const checkAll = async (): Promise<void> => {
      const files = disk.afterCrash();
      await check(store);
      await check(await openOn(diskOf(files)));
      await check(await openOn(diskOf(new Map([...files].filter(([path]) => !path.endsWith('.index'))))));
    };
    // The session that the text was stored with, then the newest references, then some in the middle.
    for (const n of [0, 199, 198, 197, 50, 51, 196]) await remove(n);
    await checkAll();
    await store.put(TEXT, { session: 'again', turn: 1 });
    left.add('again');
    for (let n = 190; n < 196; n++) await remove(n);
    await checkAll();
    await store.gc({ force: true });
    await checkAll();
    for (let n = 1; n < 199; n++) if (left.has(`s${n}`)) await remove(n);
    await checkAll();
    await store.delete('again');
    expect(await store.get(handleOf(TEXT))).toBe(undefined);
    expect((await store.stats()).texts).toBe(0);
  });
});
