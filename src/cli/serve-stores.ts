import { createRequire } from 'node:module';
import { PalimpsestError } from '../errors.ts';
import { openStore } from '../store/open-store.ts';
import type { PostgresPool } from '../store/postgres-store.ts';
import type { Store } from '../store/store.ts';

/** The stores of all tenants at one place. */
export interface Stores {
  /** Opens it for writing, once. */
  open(tenant: string): Promise<Store>;
  /** Several gateways may write there. */
  readonly isShared: boolean;
  close(): Promise<void>;
}

/** Stores in a folder, or in the database of a postgres:// address. */
export async function createStores(place: string): Promise<Stores> {
  return /^postgres(?:ql)?:\/\//.test(place)
    ? inDatabase(place)
    : keepOpen((tenant) => openStore({ path: place, tenant }));
}

async function inDatabase(url: string): Promise<Stores> {
  const { createPostgresStore } = await import('../store/postgres-store.ts');
  const pool = createPool(url);
  const stores = keepOpen(async (tenant) => createPostgresStore({ pool, tenant }));
  const close = async (): Promise<void> => {
    await stores.close();
    await pool.end();
  };
  return { ...stores, isShared: true, close };
}

type Pool = PostgresPool & { end(): Promise<void>; on(event: 'error', listener: () => void): void };

function createPool(url: string): Pool {
  let Pool: new (options: object) => Pool;
  try {
    ({ Pool } = createRequire(import.meta.url)('pg'));
  } catch (cause) {
    const text = 'Expected the package pg for a store in PostgreSQL but could not load it; npm install pg';
    throw new PalimpsestError('MISSING_PEER', text, { cause });
  }
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 5000, application_name: 'palimpsest' });
  // A server that goes away ends idle connections: the next request opens new ones, or says that it cannot.
  pool.on('error', () => {});
  return pool;
}

function keepOpen(open: (tenant: string) => Promise<Store>): Stores {
  const stores = new Map<string, Promise<Store>>();
  return {
    isShared: false,
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
