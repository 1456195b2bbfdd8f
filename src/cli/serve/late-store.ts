import { PalimpsestError } from '../../errors.ts';
import { checkTenant } from '../../store/check-input.ts';
import type { Store } from '../../store/store.ts';
import { createStores } from '../store/stores.ts';

export interface LateStore {
  /** Whether the store exists. Throws if it exists and cannot be opened. */
  isThere(): Promise<boolean>;
  /** The tenants that have a store. */
  tenants(): Promise<readonly string[]>;
  /** Opens it for reading, once. If it does not exist yet, the next call tries again. */
  open(): Promise<Store>;
  close(): Promise<void>;
}

/** A store that another process may create later, when there is something to keep. */
export async function createLateStore(path: string, tenant: string): Promise<LateStore> {
  checkTenant(tenant);
  const stores = await createStores(path, 'read');
  let wasFound = false;
  const find = async (): Promise<boolean> => {
    wasFound ||= (await stores.tenants()).includes(tenant);
    return wasFound;
  };
  return {
    tenants: stores.tenants,
    isThere: async () => (await find()) && (await stores.open(tenant)) !== undefined,
    open: async () => {
      if (!(await find())) throw nothingYet();
      return stores.open(tenant);
    },
    close: stores.close,
  };
}

/** For a model: without the path, which means nothing to it. */
const nothingYet = (): PalimpsestError =>
  new PalimpsestError('NOT_FOUND', 'Nothing was stored yet, so nothing can be recalled. Run the tool again instead.');
