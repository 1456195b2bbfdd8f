import { openWithLimits } from './embedded/open-with-limits.ts';
import type { Store } from './store.ts';

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** A folder of the store's own. */
  readonly path: string;
  /** One process writes, any number read. */
  readonly mode?: 'write' | 'read';
  /** What one tenant stores, no other can have. */
  readonly tenant?: string;
}

/** Opens the store in a folder, and makes it if it is opened for writing. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  return openWithLimits(options);
}
