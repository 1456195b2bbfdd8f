import { setTimeout } from 'node:timers/promises';
import type { StoreLimits } from '../../../src/store/embedded/embedded-options.ts';
import { EmbeddedStore } from '../../../src/store/embedded/embedded-store.ts';
import type { Stored, StoreStats } from '../../../src/store/store.ts';
import { type Files, RecordingDisk } from './recording-disk.ts';

export const FOLDER = '/store/default';

/** Checkpoints and compactions all the time, and hardly a page in memory. */
export const RESTLESS: StoreLimits = {
  checkpointBytes: 3000,
  checkpointPages: 6,
  cachePages: 3,
  leastDead: 2000,
  copyStepBytes: 600,
};

export const openOn = (
  disk: RecordingDisk,
  mode: 'read' | 'write' = 'write',
  limits = RESTLESS,
): Promise<EmbeddedStore> => EmbeddedStore.open({ disk, folder: FOLDER, mode, limits });

export const diskOf = (files: Files): RecordingDisk => new RecordingDisk(files);

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** What a store tells when it has compacted itself, which it does behind the writes. */
export async function statsCompacted(
  store: EmbeddedStore,
  isDone: (stats: StoreStats) => boolean,
): Promise<StoreStats> {
  for (let n = 0; n < 500 && !isDone(await store.stats()); n++) await setTimeout(10);
  return store.stats();
}

/** What `get` answers: the text, nothing, or the code of the error. Anything else is thrown. */
export async function outcome(work: () => Promise<Stored | undefined>): Promise<string | undefined> {
  try {
    const stored = await work();
    return stored && `text: ${stored.text}`;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'STORE_DAMAGED') return code;
    throw error;
  }
}

/** A text of a size that no other number has. */
export function textOf(number: number, bytes = 40): string {
  const mark = `<<${number}>>`;
  return bytes <= mark.length ? mark : mark + `${number} `.repeat(bytes).slice(0, bytes - mark.length);
}
