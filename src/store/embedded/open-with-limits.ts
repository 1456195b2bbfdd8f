import { chmodSync, lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { checkOptions, given, oneOf, text } from '../../options.ts';
import { checkTenant } from '../check-input.ts';
import type { OpenStoreOptions } from '../open-store.ts';
import type { Store } from '../store.ts';
import { nodeDisk } from './disk.ts';
import { EmbeddedStore, type StoreLimits } from './embedded-store.ts';
import { Lock } from './lock.ts';

/** Opens a store, for tests with checkpoints and compactions as often as they like. */
export async function openWithLimits(options: OpenStoreOptions, limits: StoreLimits = {}): Promise<Store> {
  checkOptions('openStore', given('openStore', options), { path: text, mode: oneOf('write', 'read'), tenant: text });
  const { path, mode = 'write', tenant = 'default' } = options;
  checkOptions('openStore', { path }, { path: text });
  checkTenant(tenant);
  const folder = join(resolve(path), tenant);
  checkFolder(folder);
  if (mode === 'read') return EmbeddedStore.open({ disk: nodeDisk, folder, mode, limits });
  await nodeDisk.makeFolder(folder);
  chmodSync(folder, 0o700);
  const lock = Lock.take(join(folder, 'lock'));
  const release = () => lock.release();
  try {
    return await EmbeddedStore.open({
      disk: nodeDisk,
      folder,
      mode,
      limits,
      mayWrite: () => lock.check(),
      onClose: release,
    });
  } catch (error) {
    release();
    throw error;
  }
}

/** A link in its place would lead to files that are not the store's. */
function checkFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) return;
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
  throw new PalimpsestError('STORE_DAMAGED', `Expected a folder at ${folder} but found ${what}; take it away`);
}
