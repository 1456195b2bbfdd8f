import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { isTenant } from '../../store/check-input.ts';
import { openStore } from '../../store/open-store.ts';
import { createPool } from '../../store/postgres/create-pool.ts';
import { tenantsOf } from '../../store/postgres/tenants-of.ts';
import type { Store } from '../../store/store.ts';
import { UsageError } from '../io.ts';

/** The tenant if none is named. */
export const DEFAULT_TENANT = 'default';

/** The tenant of a second run at the same time, and of further ones, by number. */
export const runTenant = (number: number): string => `run-${number}`;

export const isRunTenant = (tenant: string): boolean => /^run-\d+$/.test(tenant);

/** The stores of all tenants at one place. */
export interface Stores {
  /** Opens the store of a tenant, once. */
  open(tenant: string): Promise<Store>;
  /** The tenants that have a store. */
  tenants(): Promise<readonly string[]>;
  /** Whether several gateways may write to it. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

/** Stores in a folder, or in the database of a postgres:// address. */
export async function createStores(place: string, mode: 'read' | 'write' = 'write'): Promise<Stores> {
  checkPlace(place);
  return isDatabase(place) ? inDatabase(place) : inFolder(place, mode);
}

/** An address of another database would make folders of that name. */
function checkPlace(place: string): void {
  if (isDatabase(place) || !/^[a-z][a-z\d+.-]*:\/\//i.test(place)) return;
  const [scheme = ''] = place.split('://');
  throw new UsageError(`expected the store to be a folder or a postgres:// address but found ${scheme}://…`);
}

/** A place for people to read: an address is shown without its password. */
export function showPlace(place: string): string {
  if (!isDatabase(place)) return place;
  if (!URL.canParse(place)) return 'PostgreSQL';
  const { protocol, username, host, pathname } = new URL(place);
  return `${protocol}//${username && `${username}@`}${host}${pathname}`;
}

export const isDatabase = (place: string): boolean => /^postgres(?:ql)?:\/\//.test(place);

function inFolder(path: string, mode: 'read' | 'write'): Stores {
  const stores = keepOpen(async (tenant) => {
    namesIn(path);
    return openStore({ path, mode, tenant });
  });
  return { ...stores, isShared: false, tenants: async () => tenantsIn(path) };
}

function tenantsIn(path: string): string[] {
  // Not `default.bak`, which no command could open.
  return namesIn(path)
    .filter((name) => isTenant(name) && holdsStore(join(path, name)))
    .sort();
}

/** The names in a folder, none if it does not exist yet. Throws if it is a file, or may not be read. */
function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return [];
    const found = code === 'ENOTDIR' ? 'a file' : message;
    const remedy = 'name a folder that you may read with --store or $PALIMPSEST_STORE';
    throw new PalimpsestError('BAD_INPUT', `Expected stores in the folder ${path} but found: ${found}; ${remedy}`, {
      cause: error,
    });
  }
}

/** An unreadable folder counts as a store: opening it reports the error. */
function holdsStore(folder: string): boolean {
  const files = unless(['EACCES', 'EPERM'], () => unless(['ENOTDIR', 'ENOENT'], () => readdirSync(folder)) ?? []);
  return files?.some((file) => file === 'current' || /^\d+\.log$/.test(file)) ?? true;
}

/** Undefined if the system fails with one of these codes. */
function unless<T>(codes: readonly string[], look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

async function inDatabase(url: string): Promise<Stores> {
  const { createPostgresStore } = await import('../../store/postgres-store.ts');
  if (!URL.canParse(url))
    throw new UsageError('expected the store to be an address such as postgres://me@host/database');
  const pool = createPool(url, 'a store');
  const stores = keepOpen(async (tenant) => createPostgresStore({ pool, tenant }));
  const close = async (): Promise<void> => {
    await stores.close();
    await pool.end();
  };
  const tenants = async (): Promise<string[]> => {
    const found = await tenantsOf(pool);
    return found ? [...new Set([DEFAULT_TENANT, ...found])].sort() : [];
  };
  return { ...stores, isShared: true, tenants, close };
}

function keepOpen(open: (tenant: string) => Promise<Store>): Pick<Stores, 'open' | 'close'> {
  const stores = new Map<string, Promise<Store>>();
  return {
    open: (tenant) => {
      const opening = stores.get(tenant) ?? open(tenant);
      stores.set(tenant, opening);
      opening.catch(() => stores.delete(tenant));
      return opening;
    },
    close: async () => {
      for (const opening of stores.values()) await (await opening.catch(() => undefined))?.close();
    },
  };
}
