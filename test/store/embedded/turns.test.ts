import { expect, it } from 'vitest';
import type { StoreStats, TurnRecord } from '../../../src/store/store.ts';
import { RecordingDisk } from '../../support/store/recording-disk.ts';
import { collect, openOn, RESTLESS, statsCompacted } from '../../support/store/stores.ts';

const LARGE = 'x'.repeat(3000);

const turnOf = (turn: number, observation: string): TurnRecord => ({
  session: 's',
  turn,
  reasoning: 'because',
  action: 'bash ls',
  observation,
  masked: observation !== LARGE,
});

const all = (observation: string): TurnRecord[] => Array.from({ length: 20 }, (_, i) => turnOf(i, observation));

it('a batch of turns is one sync', async () => {
  const disk = new RecordingDisk();
  const store = await openOn(disk, 'write', {});
  const before = disk.syncs;
  await store.putTurns(all(LARGE));
  expect(disk.syncs - before).toBe(1);
  await store.close();
});

it('whole turns that were replaced by placeholders leave the disk by themselves', async () => {
  const store = await openOn(new RecordingDisk());
  await store.putTurns(all(LARGE));
  expect((await store.stats()).diskBytes).toBeGreaterThan(20 * LARGE.length);
  for (const record of all('[masked]')) await store.putTurns([record]);
  const isSmall = ({ diskBytes }: StoreStats): boolean => Number(diskBytes) < 10 * LARGE.length;
  const { diskBytes = 0, deadBytes = 0 } = await statsCompacted(store, isSmall);
  expect(deadBytes).toBeLessThan(Math.max(RESTLESS.leastDead ?? 0, diskBytes / 4) + LARGE.length);
  expect(diskBytes).toBeLessThan(10 * LARGE.length);
  expect(await collect(store.turns('s'))).toEqual(all('[masked]'));
  expect(await store.verify()).toEqual([]);
  await store.close();
});

it('turns that are stored stay acknowledged where the disk has no room to compact', async () => {
  const disk = new RecordingDisk();
  const store = await openOn(disk);
  await store.putTurns(all(LARGE));
  let refused = 0;
  disk.onWrite = (path) => {
    if (path.includes('/1.')) return;
    refused += 1;
    throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  };
  await store.putTurns(all('[masked]'));
  expect(refused).toBe(1);
  // Not tried again for every turn.
  await store.putTurns([turnOf(20, 'one more')]);
  expect(refused).toBe(1);
  expect(await collect(store.turns('s'))).toEqual([...all('[masked]'), turnOf(20, 'one more')]);
  disk.onWrite = undefined;
  await store.close();
});
