import { join, resolve } from 'node:path';
import { isEventSession } from '../../gateway/conversation/events.ts';
import { nodeDisk } from '../../store/embedded/disk.ts';
import { keepSecret } from '../../store/embedded/secret.ts';
import type { Store, Stored } from '../../store/store.ts';
import { createStores, DEFAULT_TENANT, isRunTenant, type Stores } from '../store/stores.ts';

interface Run {
  /** The folder of all stores. */
  readonly path: string;
  /** The tenant of the first run. */
  readonly first: string;
  readonly tenant: string;
}

/**
 * Lets a run know the sessions of all runs at the same place. Each run writes to its own store. Arms, events and links are read
 * from the stores of all, and all use the secret of the first.
 */
export async function shareRuns(stores: Stores, { path, first, tenant }: Run): Promise<Stores> {
  if (stores.isShared) return stores;
  const others = await createStores(path, 'read');
  const beside = async (): Promise<readonly Store[]> => {
    const names = (await others.tenants()).filter((name) => name !== tenant && (name === first || isRunTenant(name)));
    const opened = await Promise.all(names.map((name) => others.open(name).catch(() => undefined)));
    return opened.filter((store) => store !== undefined);
  };
  // Opened before the first request, because a request does not wait long for them.
  await beside();
  const store = await stores.open(DEFAULT_TENANT);
  const list = store.list.bind(store);
  const getMany = store.getMany.bind(store);
  Object.assign(store, {
    list: async function* (session: string): AsyncGenerator<Stored> {
      yield* list(session);
      if (isEventSession(session)) for (const other of await beside()) yield* await listIn(other, session);
    },
    getMany: async (handles: readonly string[]) => {
      let found = await getMany(handles);
      for (const other of await beside()) {
        const more = await other.getMany(handles).catch(() => []);
        found = found.map((stored, i) => stored ?? more[i]);
      }
      return found;
    },
    ...(tenant === first ? {} : { secret: () => keepSecret({ disk: nodeDisk, folder: join(resolve(path), first) }) }),
  });
  return { ...stores, close: () => stores.close().finally(others.close) };
}

/** A damaged store of another run does not make this one fail. */
async function listIn(store: Store, session: string): Promise<readonly Stored[]> {
  const found: Stored[] = [];
  try {
    for await (const stored of store.list(session)) found.push(stored);
  } catch {
    return [];
  }
  return found;
}
