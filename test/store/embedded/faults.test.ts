import { afterAll, describe, expect, it } from 'vitest';
import { PalimpsestError } from '../../../src/errors.ts';
import type { StoreLimits } from '../../../src/store/embedded/embedded-options.ts';
import { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { storeConformance } from '../../../src/testing/index.ts';
import { type FailingDiskOptions, failNowAndThen, repeating, untilTaken } from '../../support/store/failing-disk.ts';
import { RecordingDisk, randomFrom } from '../../support/store/recording-disk.ts';
import { collect, FOLDER, openOn, RESTLESS } from '../../support/store/stores.ts';

type Faults = Omit<FailingDiskOptions, 'random'>;

/** Stores on disks that fail, one disk for each tenant. Each store that is closed must be whole after a power failure. */
function failingStores(faults: Faults, limits: StoreLimits) {
  const random = randomFrom(11);
  const disks = new Map<string, RecordingDisk>();
  const stores = { refused: 0, opened: 0 };

  const afterPowerLoss = (tenant: string): RecordingDisk => {
    const disk = disks.get(tenant) as RecordingDisk;
    return new RecordingDisk(disk.afterPowerLoss(disk.operations.length, { choose: random }));
  };
  const open = async (tenant: string, disk: RecordingDisk): Promise<Store> => {
    disks.set(tenant, disk);
    stores.opened += 1;
    const failing = failNowAndThen(disk, { ...faults, random });
    const options = { disk: failing.disk, folder: FOLDER, mode: 'write', limits: { ...limits, retryMs: 1 } } as const;
    const store = await untilTaken(() => EmbeddedStore.open(options).catch(named));
    let isOpen = true;
    const close = async (): Promise<void> => {
      const held = isOpen ? await contentOf(store) : undefined;
      isOpen = false;
      // It may have no room for its last checkpoint. The log has everything.
      await store.close().catch((error) => expect(error).toMatchObject({ code: 'STORE_FAILED' }));
      stores.refused += failing.refused();
      if (!held) return;
      const left = await openOn(afterPowerLoss(tenant), 'write', limits);
      expect(await contentOf(left)).toEqual(held);
      // Of a write that was refused, some sectors may be there. A repair gives up those, and nothing else.
      await left.gc({ repair: true });
      expect([await left.verify(), await contentOf(left)]).toEqual([[], held]);
      await left.close();
    };
    // What was removed before a refusal is missing in the report of the next attempt. failure.test.ts has these.
    const calmly = async <T>(work: () => Promise<T>): Promise<T> => {
      failing.pause();
      return untilTaken(work).finally(failing.resume);
    };
    const verify = async () =>
      (await store.verify()).filter(({ what }) => !what.startsWith('the last checkpoint failed'));
    return repeating(store, {
      close,
      verify,
      delete: (...about) => calmly(() => store.delete(...about)),
      prune: (...about) => calmly(() => store.prune(...about)),
    });
  };
  return {
    stores,
    open: (tenant = 'default') => open(tenant, new RecordingDisk()),
    reopen: async (store: Store, tenant: string) => {
      await store.close();
      return open(tenant, afterPowerLoss(tenant));
    },
  };
}

/** As `openStore` names what the disk refuses while a store is opened. */
function named(cause: unknown): never {
  throw cause instanceof Error && 'syscall' in cause
    ? new PalimpsestError('STORE_FAILED', cause.message, { cause })
    : cause;
}

/** Everything in a store, in no order. */
async function contentOf(store: Store): Promise<string[]> {
  return (await collect(store.export())).map((one) => JSON.stringify(one)).sort();
}

const CALM: StoreLimits = { checkpointBytes: 1e9, checkpointPages: 1e9 };

const FAULTS: Faults = { full: 0.05, broken: 0.05, isEverRarer: true };

const DISKS: readonly [string, Faults, StoreLimits][] = [
  ['that is full now and then', { full: 0.1 }, CALM],
  ['that fails now and then', FAULTS, CALM],
  ['that fails now and then, in checkpoints and compactions too', FAULTS, RESTLESS],
];

describe.each(DISKS)('on a disk %s', (name, faults, limits) => {
  const { stores, open, reopen } = failingStores(faults, limits);
  storeConformance(
    { describe, it, expect },
    { name: `embedded, on a disk ${name}`, open, reopen, largestBytes: 200_000 },
  );

  afterAll(() => {
    expect(stores.refused).toBeGreaterThan(stores.opened);
  });
});
