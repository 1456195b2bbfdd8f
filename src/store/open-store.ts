import type { Store } from './store.ts';

/** Options of `openStore`. */
export interface OpenStoreOptions {
  /** The folder of the store. Use it for nothing else. */
  readonly path: string;
  /** One process can write, any number can read. @default 'write' */
  readonly mode?: 'write' | 'read';
  /** The owner of the data. Tenants cannot read each other's data. @default 'default' */
  readonly tenant?: string;
}

/**
 * Opens the store in a folder. Creates it if it is opened for writing.
 *
 * @example
 * ```ts
 * import { openStore } from 'palimpsest/store';
 *
 * const store = await openStore({ path: 'history' });
 * console.log(await store.stats());
 * await store.close();
 * ```
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  // Loaded only here: it needs WebAssembly, which a process may forbid. Other stores do not need it.
  const { openWithLimits } = await import('./embedded/open-with-limits.ts');
  return openWithLimits(options);
}
