import { createRequire } from 'node:module';
import { PalimpsestError } from '../../errors.ts';
import type { PostgresPool } from './connection.ts';

/** A pool of the package `pg` that was created here, and is ended here. */
export type OwnPool = PostgresPool & { end(): Promise<void>; on(event: 'error', listener: () => void): void };

/** Opens a pool with the optional peer `pg`, which is loaded only here. `what` says in an error what it is needed for. */
export function createPool(url: string, what: string, options: { readonly max?: number } = {}): OwnPool {
  let Pool: new (options: object) => OwnPool;
  try {
    ({ Pool } = createRequire(import.meta.url)('pg'));
  } catch (cause) {
    const text = `Expected the package pg for ${what} in PostgreSQL but could not load it; npm install pg`;
    throw new PalimpsestError('MISSING_PEER', text, { cause });
  }
  const settings = { connectionTimeoutMillis: 5000, keepAlive: true, application_name: 'palimpsest' };
  const pool = new Pool({ connectionString: url, ...settings, ...options });
  // When the server goes away, idle connections end. The next request opens new ones, or fails.
  pool.on('error', () => {});
  return pool;
}
