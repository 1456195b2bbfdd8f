import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreGate } from '../../../src/gateway/exchange/store-gate.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { openWithLimits } from '../../../src/store/embedded/open-with-limits.ts';
import { handleOf } from '../../../src/store/handle.ts';
import { recordOf } from '../../support/store/records.ts';
import { collect, RESTLESS, textOf } from '../../support/store/stores.ts';

const disk = mkdtempSync(join(tmpdir(), 'palimpsest-full-'));
const filler = join(disk, 'filler');
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk]);

/** Takes all the room that is left. */
function fill(): void {
  for (let bytes = 1 << 20; bytes >= 4096; ) {
    try {
      writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      bytes /= 2;
    }
  }
}

const free = (): void => rmSync(filler, { force: true });

// A file system of 8 MB can be mounted only by a user who may.
describe.skipIf(mounted.status !== 0)('a store on a full disk', () => {
  let path = '';
  beforeEach(() => {
    free();
    path = join(disk, `${Math.random()}`);
    mkdirSync(path);
  });
  afterAll(() => {
    spawnSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  it('reads, writes as long as the log has room, and goes on when there is room again', async () => {
    const store = await openWithLimits({ path }, { ...RESTLESS, retryMs: 20 });
    const texts: string[] = [];
    const put = async (): Promise<void> => {
      const text = textOf(texts.length, (texts.length * 41) % 1500);
      await store.put(text, { session: 's' });
      texts.push(text);
    };
    while (texts.length < 20) await put();
    fill();
    const refused = await (async () => {
      for (;;) {
        try {
          await put();
        } catch (error) {
          return error;
        }
      }
    })();
    expect(refused).toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('ENOSPC') });
    // There was room behind the end of the log, and none for a checkpoint.
    expect(texts.length).toBeGreaterThan(40);
    expect((await store.verify()).map(({ what }) => what)).toEqual([expect.stringContaining('checkpoint failed')]);
    expect((await store.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
    free();
    while (texts.length < 200) await put();
    for (let n = 0; n < 500 && (await store.verify()).length > 0; n++) {
      await sleep(10);
      await put();
    }
    await store.close();
    const again = await openWithLimits({ path });
    expect((await again.getMany(texts.map(handleOf))).map((stored) => stored?.text)).toEqual(texts);
    expect(await again.verify()).toEqual([]);
    await again.close();
  });

  it('keeps none of a batch of records that did not fit, and each once when there is room again', async () => {
    const store = await openWithLimits({ path });
    const day = 86_400_000;
    const batch = Array.from({ length: 200 }, (_, i) => recordOf(`r${i}`, 100 * day + (i % 2) * day));
    await store.putRecords?.([recordOf('before', 100 * day)]);
    fill();
    const idsOf = async () => (await collect(store.records?.() as AsyncIterable<RequestRecord>)).map(({ id }) => id);
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(store.putRecords?.(batch)).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect([await idsOf(), await store.verify()]).toEqual([['before'], []]);
    free();
    await store.putRecords?.(batch);
    expect((await idsOf()).sort()).toEqual(['before', ...batch.map(({ id }) => id)].sort());
    await store.close();
  });

  it('keeps the room it had for texts where a deletion of records finds none', async () => {
    const store = await openWithLimits({ path });
    const records = Array.from({ length: 3000 }, (_, i) =>
      recordOf(`r${i}`, 1000 + i, { session: i === 0 ? 'gone' : 'stays' }),
    );
    await store.putRecords?.(records);
    fill();
    // Room for texts, and none for the records of a day once more.
    truncateSync(filler, statSync(filler).size - 600_000);
    await expect(store.delete('gone')).rejects.toMatchObject({ code: 'STORE_FAILED' });
    await store.put(textOf(1, 500_000), { session: 's' });
    expect((await collect(store.records?.() as AsyncIterable<RequestRecord>)).length).toBe(3000);
    free();
    expect((await store.delete('gone')).records).toBe(1);
    await store.close();
  });

  it('is used by the gateway again when there is room, without a restart', async () => {
    const store = await openWithLimits({ path }, { ...RESTLESS, retryMs: 20 });
    const gate = new StoreGate(store);
    let order = 0;
    const record = async (): Promise<boolean> => {
      gate.record('c', [{ kind: 'cold-cache', prefix: 'p'.repeat(500), order: order++, model: 'm' }]);
      await sleep(5);
      return (await gate.health()).ok;
    };
    expect(await record()).toBe(true);
    fill();
    while (await record());
    expect(await gate.health()).toMatchObject({ ok: false, because: expect.stringContaining('ENOSPC') });
    free();
    for (let n = 0; n < 500 && !(await record()); n++);
    expect((await gate.health()).ok).toBe(true);
    await store.close();
  });
});

describe.skipIf(mounted.status === 0)('a store on a full disk', () => {
  it.skip(`needs a small file system, and none could be mounted: ${mounted.stderr ?? mounted.error}`, () => {});
});
