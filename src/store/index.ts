export type { PromptTokens } from '../plan/prices.ts';
export type { Arm, HarmSigns, RequestRecord } from '../report/request-record.ts';
export { type FitAndStoreOptions, fitAndStore } from './fit-and-store.ts';
export { createMemoryStore, type MemoryStoreOptions } from './memory-store.ts';
export { type OpenStoreOptions, openStore } from './open-store.ts';
export { type Recalled, type RecallOptions, recall } from './recall.ts';
export type { RecallInput, RecallParameters } from './recall-tool/recall-input.ts';
export { type RecallTool, type RecallToolOptions, recallTool } from './recall-tool/recall-tool.ts';
export type {
  DeleteOptions,
  GcOptions,
  GcReport,
  Handle,
  Match,
  Problem,
  PruneOptions,
  PruneReport,
  RecordRange,
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
export type { StoredImage, TextWithImages } from './stored-images.ts';
