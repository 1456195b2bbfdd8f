import type { Store, StoreStats } from './store.ts';

/** A store that lives in another process is asked for its kind. */
export interface RemoteKind {
  askKind(): Promise<StoreStats['kind']>;
}

/** The kind of a store. Its `stats`, which may read every row, are asked only if it does not name its kind. */
export async function kindOf(store: Store | (Store & RemoteKind)): Promise<StoreStats['kind']> {
  if (store.kind !== undefined) return store.kind;
  return 'askKind' in store ? store.askKind() : (await store.stats()).kind;
}
