import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../../src/errors.ts';
import type { StoreLimits } from '../../../src/store/embedded/embedded-options.ts';
import { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';
import { diskOf, FOLDER, openOn, RESTLESS, textOf } from '../../support/store/stores.ts';
import { WriterProcess } from '../../support/writer-process.ts';

const root = mkdtempSync(join(tmpdir(), 'palimpsest-fence-'));
let stores = 0;
const freshPath = (): string => join(root, `store-${stores++}`);

beforeAll(ensureBuilt);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A process that writes to a store until it is ended. */
class Writer extends WriterProcess {
  constructor(path: string, name: string, limits: StoreLimits) {
    super('test/support/store/writer.js', [path, name, JSON.stringify(limits)]);
  }
}

async function lostOf(path: string, writers: readonly Writer[]): Promise<string[]> {
  const store = await openStore({ path });
  const texts = writers.flatMap(({ acknowledged }) => acknowledged);
  const found = await store.getMany(texts.map(handleOf));
  expect(await store.verify()).toEqual([]);
  await store.close();
  return texts.filter((text, i) => found[i]?.text !== text);
}

const lockOf = (path: string): string => join(path, 'default/lock');

/** As the lock of a process in another container looks to one whose clock is ahead. */
function makeForeign(path: string): void {
  const lock = lockOf(path);
  writeFileSync(lock, JSON.stringify({ ...JSON.parse(readFileSync(lock, 'utf8')), boot: 'elsewhere', host: 'other' }));
  utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000));
}

const LOSSES: [string, (path: string) => void][] = [
  ['was removed by hand', (path) => rmSync(lockOf(path))],
  ['was removed by hand with all that is named like it', removeAllLocks],
  ['was taken for silent by a clock that is ahead', makeForeign],
];

function removeAllLocks(path: string): void {
  const folder = join(path, 'default');
  for (const name of readdirSync(folder)) if (name.startsWith('lock')) rmSync(join(folder, name), { force: true });
}

describe.each(LOSSES)('a writer whose lock %s', (_, lose) => {
  it('acknowledges nothing that the next writer does not have', { timeout: 240_000 }, async () => {
    for (let round = 0; round < 6; round++) {
      const path = freshPath();
      const limits = round % 2 ? {} : RESTLESS;
      const first = new Writer(path, 'first', limits);
      await first.writes(5 + 17 * round);
      lose(path);
      const second = new Writer(path, 'second', limits);
      await second.writes(60);
      // At the latest with the heartbeat on which a lost lock was noticed once.
      await Promise.race([first.ended(), sleep(10_000)]);
      for (const one of [first, second]) one.signal('SIGKILL');
      await Promise.all([first.ended(), second.ended()]);
      expect(await lostOf(path, [first, second])).toEqual([]);
      expect(first.end).toContain('STORE_LOCKED');
    }
  });

  it('does so too when it was stopped in between, and goes on later', { timeout: 240_000 }, async () => {
    for (let round = 0; round < 8; round++) {
      const path = freshPath();
      const limits = round % 2 ? {} : RESTLESS;
      const first = new Writer(path, 'first', limits);
      await first.writes(40);
      await sleep(Math.random() * 20);
      first.signal('SIGSTOP');
      lose(path);
      const second = new Writer(path, 'second', limits);
      await second.writes(30);
      first.signal('SIGCONT');
      await second.writes(60);
      // At the latest with the heartbeat on which a lost lock was noticed once.
      await Promise.race([first.ended(), sleep(10_000)]);
      for (const one of [first, second]) one.signal('SIGKILL');
      await Promise.all([first.ended(), second.ended()]);
      expect(await lostOf(path, [first, second])).toEqual([]);
      expect(first.end).toContain('STORE_LOCKED');
    }
  });
});

describe('a writer that is stopped, while another takes over,', () => {
  it.each(['sync', 'rename'] as const)('at any %s loses nothing that either acknowledged', async (where) => {
    for (let stop = 0; ; stop++) {
      const disk = new RecordingDisk();
      const acknowledged: string[] = [];
      let calls = 0;
      let takingOver: Promise<EmbeddedStore> | undefined;
      const takeOver = async (): Promise<EmbeddedStore> => {
        const store = await openContested(disk);
        for (let n = 0; n < 20; n++) acknowledged.push(await putText(store, 1000 + n));
        return store;
      };
      const stopAndTakeOver = async (): Promise<void> => {
        if (takingOver || calls++ < stop) return;
        takingOver = takeOver();
        await takingOver;
      };
      if (where === 'sync') disk.onSync = stopAndTakeOver;
      else disk.onRename = stopAndTakeOver;
      const mayWrite = (): void => {
        if (takingOver) throw new PalimpsestError('STORE_LOCKED', 'another process holds it');
      };
      await writeUntilLost({ disk, mayWrite }, acknowledged);
      if (!takingOver) {
        expect(stop).toBeGreaterThan(10);
        break;
      }
      const second = await takingOver;
      for (let n = 20; n < 40; n++) acknowledged.push(await putText(second, 1000 + n));
      for (const one of [second, await openOn(diskOf(disk.afterCrash()))]) {
        const found = await one.getMany(acknowledged.map(handleOf));
        expect(found.map((stored) => stored?.text)).toEqual(acknowledged);
        expect(await one.verify()).toEqual([]);
      }
    }
  });

  it('in the middle of a write hides the store from no reader', { timeout: 30_000 }, async () => {
    const disk = new RecordingDisk();
    const first = await openOn(disk, 'write', {});
    await first.put('before', {});
    const reader = await openOn(disk, 'read', {});
    expect((await reader.get(handleOf('before')))?.text).toBe('before');
    const log = disk.open(`${FOLDER}/1.log`, 'write');
    const end = log.size();
    const second = await openContested(disk);
    await second.put('after', {});
    // The late write, over the record that says where the store goes on.
    log.write(Buffer.alloc(end - 16, 'late'), 16);
    while (!(await reader.get(handleOf('after')).catch(() => undefined))) await sleep(50);
    expect((await second.get(handleOf('before')))?.text).toBe('before');
    expect(await second.verify()).toEqual([]);
  });
});

const openContested = (disk: RecordingDisk): Promise<EmbeddedStore> =>
  EmbeddedStore.open({ disk, folder: FOLDER, mode: 'write', limits: RESTLESS, isContested: true });

async function putText(store: EmbeddedStore, n: number): Promise<string> {
  const text = textOf(n, (n * 53) % 900);
  await store.put(text, { session: 's' });
  return text;
}

/** Texts, checkpoints and compactions. */
async function writeUntilLost(
  { disk, mayWrite }: { readonly disk: RecordingDisk; mayWrite(): void },
  acknowledged: string[],
): Promise<void> {
  try {
    const store = await EmbeddedStore.open({ disk, folder: FOLDER, mode: 'write', limits: RESTLESS, mayWrite });
    for (let n = 0; n < 40; n++) {
      acknowledged.push(await putText(store, n));
      if (n % 15 === 14) await store.gc({ force: true });
    }
    await store.close();
  } catch (error) {
    // While it is opened, its files may be gone before it looks at its lock.
    expect(mayWrite).toThrow();
    expect((error as PalimpsestError).code).toMatch(/^(?:STORE_LOCKED|ENOENT|EEXIST)$/);
  }
}
