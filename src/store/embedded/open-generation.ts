import { dirname } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { chooseCurrent, removeOthers, writeCurrent } from './current.ts';
import type { Disk } from './disk.ts';
import { Generation, type Limits } from './generation.ts';
import { DamagedPage } from './pages.ts';

/** Where a store is. */
export interface StorePlace {
  readonly disk: Disk;
  readonly folder: string;
  readonly limits?: Limits | undefined;
}

/** So often a reader looks again before it reads the whole log. */
export const PATIENCE = 20;
const NAP_MS = 2;
const NAP = new Int32Array(new SharedArrayBuffer(4));

/** The generation in use, or the first one of a new store. */
export async function openToWrite({ disk, folder, limits }: StorePlace): Promise<Generation> {
  const { number, problem } = chooseCurrent({ disk, folder });
  if (number === undefined) {
    // Whoever made the folder may have been killed before it was durable.
    await disk.syncFolder(dirname(folder));
    const generation = await Generation.create({ disk, folder, number: 1, limits });
    await writeCurrent({ disk, folder }, 1);
    return generation;
  }
  const generation = await Generation.open({ disk, folder, number, limits });
  if (problem) {
    generation.lose(problem);
    await generation.checkpoint();
    await writeCurrent({ disk, folder }, number);
  }
  if (removeOthers({ disk, folder }, number)) await disk.syncFolder(folder);
  return generation;
}

/** The generation may be replaced while it is opened, and its index changed. */
export function openToRead({ disk, folder, limits }: StorePlace): Generation {
  for (let attempt = 0; ; attempt++) {
    const isPatient = attempt < PATIENCE;
    const { number, problem } = chooseCurrent({ disk, folder });
    if (number === undefined) throw missing(folder);
    if (attempt > 2) Atomics.wait(NAP, 0, 0, NAP_MS);
    // Between two looks a compaction may have changed what the file names.
    if (problem && isPatient) continue;
    try {
      const generation = Generation.openToRead({ disk, folder, number, limits }, { isPatient });
      if (problem) generation.lose(problem);
      return generation;
    } catch (error) {
      const isChanging = error instanceof DamagedPage || (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isChanging) throw error;
      if (!isPatient) throw lostLog(folder, number);
    }
  }
}

const missing = (folder: string): PalimpsestError =>
  new PalimpsestError(
    'BAD_INPUT',
    `Expected a store in ${folder} but found none; it is made when it is opened for writing`,
  );

const lostLog = (folder: string, number: number): PalimpsestError =>
  new PalimpsestError(
    'STORE_DAMAGED',
    `Expected ${number}.log in ${folder} but it is missing; put it back, or open the store for writing to go on without`,
  );
