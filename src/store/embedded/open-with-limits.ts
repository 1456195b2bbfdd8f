import { chmodSync, lstatSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { badOption, checkOptions, given, oneOf, text } from '../../options.ts';
import { checkTenant, isOfHome, NOT_OF_HOME } from '../check-input.ts';
import type { OpenStoreOptions } from '../open-store.ts';
import type { Store } from '../store.ts';
import { nodeDisk } from './disk.ts';
import type { StoreLimits } from './embedded-options.ts';
import { EmbeddedStore } from './embedded-store.ts';
import { Lock } from './lock.ts';
import { serveRequests } from './requests.ts';

/** Opens a store. Tests pass limits that make checkpoints and compactions frequent. */
export async function openWithLimits(options: OpenStoreOptions, limits: StoreLimits = {}): Promise<Store> {
  checkOptions('openStore', given('openStore', options), { path: text, mode: oneOf('write', 'read'), tenant: text });
  const { path, mode = 'write', tenant = 'default' } = options;
  // An empty path would mean the working directory.
  if (!path) throw badOption('openStore option path', 'the path of a folder', path);
  if (isAddress(path)) throw notAnAddress(path);
  if (isOfHome(path)) throw badOption('openStore option path', NOT_OF_HOME, path);
  checkTenant(tenant);
  const folder = join(resolve(path), tenant);
  try {
    checkFolder(folder);
    return await (mode === 'read'
      ? EmbeddedStore.open({ disk: nodeDisk, folder, mode, limits })
      : openLocked(folder, limits));
  } catch (error) {
    throw isOfSystem(error) ? notOpened(folder, error) : error;
  }
}

async function openLocked(folder: string, limits: StoreLimits): Promise<Store> {
  let lock = await takeLock(folder);
  let stopServing = (): void => {};
  try {
    const store = await EmbeddedStore.open({
      disk: nodeDisk,
      folder,
      mode: 'write',
      limits,
      isContested: lock.isContested,
      mayWrite: () => lock.check(),
      takeLockAgain: async () => {
        const again = await takeLock(folder);
        lock.release();
        lock = again;
      },
      onOpen: () => lock.settle(),
      onClose: () => {
        stopServing();
        lock.release();
      },
    });
    stopServing = serveRequests(folder, store, () => lock.nonce);
    return store;
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Makes the folder too: it is missing before the first use, and after it was removed while a store used it. */
async function takeLock(folder: string): Promise<Lock> {
  await nodeDisk.makeFolder(folder);
  chmodSync(folder, 0o700);
  const remedy = "stop that process, or open with mode 'read'";
  return Lock.take(join(folder, 'lock'), { what: `the store in ${folder}`, remedy });
}

/** An address would become folders of that name. It may hold a password, so only its scheme is shown. */
const isAddress = (path: string): boolean => /^[a-z][a-z\d+.-]*:\/\//i.test(path);

function notAnAddress(path: string): PalimpsestError {
  const remedy = 'createPostgresStore of palimpsest/store/postgres makes a store in PostgreSQL';
  const [scheme] = path.split('://');
  const text = `Expected openStore option path to be the path of a folder but found ${scheme}://…; ${remedy}`;
  return new PalimpsestError('BAD_OPTION', text);
}

/** Throws for a link, which would lead to other files. */
function checkFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found || found.isDirectory()) return;
  const what = found.isSymbolicLink() ? 'a symbolic link' : 'a file';
  throw new PalimpsestError('STORE_DAMAGED', `Expected a folder at ${folder} but found ${what}; take it away`);
}

/** Whether the error came from the file system, such as missing permission or a full disk. */
const isOfSystem = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && 'syscall' in error;

function notOpened(folder: string, cause: NodeJS.ErrnoException): PalimpsestError {
  const text = `Expected to open the store in ${folder} but found: ${cause.message}; name another folder or set that right`;
  return new PalimpsestError('STORE_FAILED', text, { cause });
}
