import { MemoryRecords } from '../../store/memory-records.ts';
import type { Store } from '../../store/store.ts';

/** Keeps records of requests. */
export type RecordStore = Required<Pick<Store, 'putRecords' | 'records'>>;

/** The record stores of tenants: their stores, or the memory of this process if a store keeps no records. */
export function createRecordStores(open: (tenant: string) => Promise<Store>): (tenant: string) => Promise<RecordStore> {
  const inMemory = new Map<string, RecordStore>();
  return async (tenant) => {
    const store = await open(tenant);
    if (keepsRecords(store)) return store;
    const records = inMemory.get(tenant) ?? new MemoryRecords();
    inMemory.set(tenant, records);
    return records;
  };
}

const keepsRecords = (store: Store): store is Store & RecordStore =>
  store.putRecords !== undefined && store.records !== undefined;
