import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PalimpsestError } from '../errors.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './io.ts';

export interface Place {
  readonly path: string;
  readonly mode: 'read' | 'write';
}

/** Opens a store, lets a command work with it, and closes it whatever happens. A misspelt path makes no new one. */
export async function withStore<T>({ path, mode }: Place, work: (store: Store) => Promise<T>): Promise<T> {
  if (!existsSync(path)) throw noStore(path);
  const store = await openStore({ path, mode });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** The store that a command means: that of its flag, of the environment, or the one in the user's home. */
export function storePath(flag: string | undefined, io: Io): string {
  return flag ?? (io.env?.PALIMPSEST_STORE || join(homedir(), '.palimpsest', 'store'));
}

const noStore = (path: string): PalimpsestError =>
  new PalimpsestError('BAD_INPUT', `there is no store at ${path}; name yours with --store or $PALIMPSEST_STORE`);
