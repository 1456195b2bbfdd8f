import { homedir } from 'node:os';
import { join } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import { checkTenant } from '../../store/check-input.ts';
import type { Store } from '../../store/store.ts';
import type { Io } from '../io.ts';
import { createStores, DEFAULT_TENANT, isRunTenant, type Stores, showPlace } from './stores.ts';

export interface Place {
  /** A folder, or a postgres:// address. */
  readonly path: string;
  readonly tenant?: string | undefined;
  readonly mode?: 'read' | 'write';
}

/** Opens a store for a command and always closes it. A misspelt path creates no new store. */
export async function withStore<T>(place: Place, work: (store: Store) => Promise<T>): Promise<T> {
  const { tenant = DEFAULT_TENANT } = place;
  return withStores(place, async (stores, tenants) => {
    if (!tenants.includes(tenant)) throw noStore(place, tenants);
    try {
      return await work(await stores.open(tenant));
    } catch (error) {
      if (!(error instanceof PalimpsestError && error.code === 'NOT_FOUND')) throw error;
      const hint = `; looked in ${showPlace(place.path)}: --store or $PALIMPSEST_STORE names another store`;
      throw new PalimpsestError('NOT_FOUND', `${error.message}${hint}${elsewhere(tenant, tenants)}`, { cause: error });
    }
  });
}

/** The same with the stores of all runs at the same time, if no tenant is named: any of them may have the user's sessions. */
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

/** Opens the store of the named tenant, or those of all one after the other, even if one fails. */
export async function withEachStore<T>(place: Place, work: (store: Store) => Promise<T>): Promise<Found<T>[]> {
  return withStores(place, async (stores, all) => {
    const tenants = all.filter((tenant) => place.tenant === undefined || tenant === place.tenant);
    if (tenants.length === 0) throw noStore(place, all);
    const found: Found<T>[] = [];
    for (const tenant of tenants) found.push({ tenant, ...(await look(() => stores.open(tenant), work)) });
    return found;
  });
}

/** Closes it at once, because there may be more tenants than a process may have open files. */
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

/** The store of a command: from its flag, from the environment, or in the user's home. */
export function storePath(flag: string | undefined, io: Io): string {
  return flag ?? (io.env?.PALIMPSEST_STORE || join(homedir(), '.palimpsest', 'store'));
}

function noStore({ path, tenant = DEFAULT_TENANT }: Place, tenants: readonly string[]): PalimpsestError {
  const remedy =
    tenants.length === 0
      ? '; name yours with --store or $PALIMPSEST_STORE. A gateway makes one: npx palimpsest serve'
      : elsewhere(tenant, tenants);
  const whose = tenants.length === 0 ? '' : ` for the tenant ${tenant}`;
  return new PalimpsestError('BAD_INPUT', `there is no store at ${showPlace(path)}${whose}${remedy}`);
}

/** Names the other stores, in case the user looked in the wrong one. */
export function elsewhere(tenant: string, tenants: readonly string[]): string {
  const others = tenants.filter((other) => other !== tenant);
  const more = others.length > MOST_NAMES ? ', …' : '';
  return others.length === 0 ? '' : `; other tenants, for --tenant: ${others.slice(0, MOST_NAMES).join(', ')}${more}`;
}

const MOST_NAMES = 10;
