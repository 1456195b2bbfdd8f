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
  // Only now: it needs WebAssembly, which a process may forbid, and a store in memory or PostgreSQL does not.
  const { openWithLimits } = await import('./embedded/open-with-limits.ts');
  return openWithLimits(options);
}
