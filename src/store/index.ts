export { type FitAndStoreOptions, fitAndStore } from './fit-and-store.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory-store.ts';
export { type OpenStoreOptions, openStore } from './open-store.ts';
export { type Recalled, type RecallOptions, recall } from './recall.ts';
export type {
  DeleteOptions,
  GcOptions,
  GcReport,
  Handle,
  Match,
  Problem,
  PruneOptions,
  PruneReport,
  Reference,
  Removed,
  SearchOptions,
  SessionInfo,
  SessionNote,
  Store,
  Stored,
  StoreStats,
  TurnRecord,
} from './store.ts';
