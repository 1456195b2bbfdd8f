import { chmodSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { checkOptions, given, oneOf, text } from '../options.ts';
import { checkTenant } from './check-input.ts';
import { nodeDisk } from './embedded/disk.ts';
import { EmbeddedStore } from './embedded/embedded-store.ts';
import { Lock } from './embedded/lock.ts';
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
  checkOptions('openStore', given('openStore', options), { path: text, mode: oneOf('write', 'read'), tenant: text });
  const { path, mode = 'write', tenant = 'default' } = options;
  checkOptions('openStore', { path }, { path: text });
  checkTenant(tenant);
  const folder = join(resolve(path), tenant);
  if (mode === 'read') return EmbeddedStore.open({ disk: nodeDisk, folder, mode });
  nodeDisk.makeFolder(folder);
  chmodSync(folder, 0o700);
  const lock = Lock.take(join(folder, 'lock'));
  try {
    return await EmbeddedStore.open({ disk: nodeDisk, folder, mode, onClose: () => lock.release() });
  } catch (error) {
    lock.release();
    throw error;
  }
}
