import { homedir } from 'node:os';
import { join } from 'node:path';
import { PalimpsestError } from '../errors.ts';
import { checkTenant } from '../store/check-input.ts';
import type { Store } from '../store/store.ts';
import type { Io } from './io.ts';
import { createStores, DEFAULT_TENANT, isRunTenant, type Stores, showPlace } from './stores.ts';

export interface Place {
  /** A folder, or a postgres:// address. */
  readonly path: string;
  readonly tenant?: string | undefined;
  readonly mode?: 'read' | 'write';
}

/** Opens a store, lets a command work with it, and closes it whatever happens. A misspelt path makes no new one. */
export async function withStore<T>(place: Place, work: (store: Store) => Promise<T>): Promise<T> {
  const { tenant = DEFAULT_TENANT } = place;
  return withStores(place, async (stores, tenants) => {
    if (!tenants.includes(tenant)) throw noStore(place, tenants);
    try {
      return await work(await stores.open(tenant));
    } catch (error) {
      if (!(error instanceof PalimpsestError && error.code === 'NOT_FOUND')) throw error;
      throw new PalimpsestError('NOT_FOUND', `${error.message}${elsewhere(tenant, tenants)}`, { cause: error });
    }
  });
}

/** The same with the stores of all runs beside each other, where no tenant is named: one user's sessions are in any of them. */
export async function withRunStores<T>(place: Place, work: (stores: readonly Store[]) => Promise<T>): Promise<T> {
  const { tenant = DEFAULT_TENANT } = place;
  return withStores(place, async (stores, all) => {
    if (!all.includes(tenant)) throw noStore(place, all);
    const tenants = all.filter((one) => one === tenant || (place.tenant === undefined && isRunTenant(one)));
    return work(await Promise.all(tenants.map((one) => stores.open(one))));
  });
}

/** The result for the store of a tenant, or the reason why there is none. */
export interface Found<T> {
  readonly tenant: string;
  readonly value?: T;
  readonly error?: PalimpsestError;
}

/** Opens the store of the tenant that is named, or those of all, one after the other. One that fails does not stop it. */
export async function withEachStore<T>(place: Place, work: (store: Store) => Promise<T>): Promise<Found<T>[]> {
  return withStores(place, async (stores, all) => {
    const tenants = all.filter((tenant) => place.tenant === undefined || tenant === place.tenant);
    if (tenants.length === 0) throw noStore(place, all);
    const found: Found<T>[] = [];
    for (const tenant of tenants) found.push({ tenant, ...(await look(() => stores.open(tenant), work)) });
    return found;
  });
}

/** Closes it at once: there may be more tenants than files that a process may have open. */
async function look<T>(
  open: () => Promise<Store>,
  work: (store: Store) => Promise<T>,
): Promise<Omit<Found<T>, 'tenant'>> {
  let store: Store | undefined;
  try {
    store = await open();
    return { value: await work(store) };
  } catch (error) {
    if (error instanceof PalimpsestError) return { error };
    throw error;
  } finally {
    await store?.close();
  }
}

async function withStores<T>(
  { path, tenant = DEFAULT_TENANT, mode = 'read' }: Place,
  work: (stores: Stores, tenants: readonly string[]) => Promise<T>,
): Promise<T> {
  checkTenant(tenant);
  const stores = await createStores(path, mode);
  try {
    return await work(stores, await stores.tenants());
  } finally {
    await stores.close();
  }
}

/** The store that a command means: that of its flag, of the environment, or the one in the user's home. */
export function storePath(flag: string | undefined, io: Io): string {
  return flag ?? (io.env?.PALIMPSEST_STORE || join(homedir(), '.palimpsest', 'store'));
}

function noStore({ path, tenant = DEFAULT_TENANT }: Place, tenants: readonly string[]): PalimpsestError {
  const remedy = tenants.length === 0 ? '; name yours with --store or $PALIMPSEST_STORE' : elsewhere(tenant, tenants);
  const whose = tenants.length === 0 ? '' : ` for the tenant ${tenant}`;
  return new PalimpsestError('BAD_INPUT', `there is no store at ${showPlace(path)}${whose}${remedy}`);
}

/** Whoever looks in the wrong store is told which others there are. */
export function elsewhere(tenant: string, tenants: readonly string[]): string {
  const others = tenants.filter((other) => other !== tenant);
  const more = others.length > MOST_NAMES ? ', …' : '';
  return others.length === 0 ? '' : `; --tenant names another one: ${others.slice(0, MOST_NAMES).join(', ')}${more}`;
}

const MOST_NAMES = 10;
