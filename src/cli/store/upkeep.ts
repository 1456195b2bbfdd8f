import { join, resolve } from 'node:path';
import { PalimpsestError } from '../../errors.ts';
import type { Store } from '../../store/store.ts';
import { DEFAULT_TENANT, isDatabase } from './stores.ts';
import { type Place, withStore } from './with-store.ts';

type Method = 'delete' | 'prune' | 'gc';

/** Does upkeep in a store, or asks the process that is writing to the store to do it. */
export async function upkeep<M extends Method>(
  place: Place,
  method: M,
  ...args: Parameters<Store[M]>
): Promise<Awaited<ReturnType<Store[M]>>> {
  const { path, tenant = DEFAULT_TENANT } = place;
  const run = (): Promise<unknown> =>
    withStore({ ...place, mode: 'write' }, (store) =>
      (store[method] as (...values: Parameters<Store[M]>) => Promise<unknown>)(...args),
    );
  try {
    return (await run()) as Awaited<ReturnType<Store[M]>>;
  } catch (error) {
    if (!(error instanceof PalimpsestError) || error.code !== 'STORE_LOCKED' || isDatabase(path)) throw error;
    const { askWriter } = await import('../../store/embedded/requests.ts');
    return (await askWriter(join(resolve(path), tenant), { method, args })) as Awaited<ReturnType<Store[M]>>;
  }
}
