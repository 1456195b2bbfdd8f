import { dirname, join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { AliveCopy } from './copy-alive.ts';
import {
  chooseCurrent,
  nextNumber,
  prepareCurrent,
  removeDrafts,
  removeOthers,
  switchCurrent,
  writeCurrent,
} from './current.ts';
import type { Disk } from './disk.ts';
import { Generation, type Limits } from './generation.ts';
import { DamagedPage } from './pages.ts';

/** The location of a store. */
export interface StorePlace {
  readonly disk: Disk;
  readonly folder: string;
  readonly limits?: Limits | undefined;
}

/** A reader tries this many times before it reads the whole log. */
export const PATIENCE = 20;
const NAP_MS = 2;
const NAP = new Int32Array(new SharedArrayBuffer(4));

export interface WrittenPlace extends StorePlace {
  /** Throws if another process has taken over. */
  mayWrite?(): void;
  /** The previous writer may still run and write to the files that it has open. */
  readonly isContested?: boolean | undefined;
}

/** The current generation, or the first one of a new store. */
export async function openToWrite(place: WrittenPlace): Promise<Generation> {
  const { disk, folder, limits } = place;
  if (place.isContested) removeDrafts(place);
  const { number, problem } = chooseCurrent(place);
  if (number === undefined) {
    // The process that created the folder may have been killed before the folder was durable.
    await disk.syncFolder(dirname(folder));
    return createFirst(place);
  }
  if (place.isContested && disk.exists(join(folder, `${number}.log`))) return copyToNew(place);
  const generation = await Generation.open({ disk, folder, number, limits });
  if (problem) {
    generation.lose(problem);
    await generation.checkpoint();
    await writeCurrent(place, number);
  }
  if (removeOthers(place, number)) await disk.syncFolder(folder);
  return generation;
}

/** Replaces a first generation that was never finished, unless its writer may still run. */
async function createFirst(place: WrittenPlace): Promise<Generation> {
  const { disk, folder, limits } = place;
  const number = place.isContested ? nextNumber(place) : 1;
  if (!place.isContested) removeOthers(place, 0);
  const generation = await Generation.create({ disk, folder, number, limits });
  await writeCurrent(place, number);
  if (removeOthers(place, number)) await disk.syncFolder(folder);
  return generation;
}

/** Continues in a new generation. The old files are left to a writer that may still run. */
async function copyToNew(place: WrittenPlace): Promise<Generation> {
  const { disk, folder } = place;
  const old = openToRead(place);
  try {
    const next = await copyOf(old, place);
    try {
      await switchCurrent(place, next.number);
      removeOthers(place, next.number);
      await disk.syncFolder(folder);
      return next;
    } catch (error) {
      next.close();
      throw error;
    }
  } finally {
    old.close();
  }
}

/** Copies a generation. On failure nothing is left, because the disk may be full. */
async function copyOf(old: Generation, { disk, folder, limits }: StorePlace): Promise<Generation> {
  const number = nextNumber({ disk, folder });
  const next = await Generation.create({ disk, folder, number, limits });
  try {
    const copy = new AliveCopy({ to: next, look: (use) => rebuilding(old, use) });
    await copy.finish();
    next.lost = copy.problems;
    await next.checkpoint();
    await prepareCurrent({ disk, folder }, number);
    return next;
  } catch (error) {
    next.close();
    Generation.remove({ disk, folder, number });
    throw error;
  }
}

/** Rebuilds the index if one of its pages is damaged. Nothing is lost: the log has everything. */
export function rebuilding<T>(generation: Generation, use: (generation: Generation) => T): T {
  try {
    return use(generation);
  } catch (error) {
    if (!(error instanceof DamagedPage)) throw error;
    generation.rebuild();
    return use(generation);
  }
}

/** Opens the current generation, which may be replaced or change while it is opened. */
export function openToRead({ disk, folder, limits }: StorePlace): Generation {
  for (let attempt = 0; ; attempt++) {
    const isPatient = attempt < PATIENCE;
    const { number, problem } = chooseCurrent({ disk, folder });
    if (number === undefined) throw missing(folder);
    if (attempt > 2) Atomics.wait(NAP, 0, 0, NAP_MS);
    // A compaction may have changed the file between two reads.
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
