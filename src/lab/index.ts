export type { PriceName, Prices } from '../plan/prices.ts';
export { priceLists, pricesOf } from '../plan/prices.ts';
export type { LogSetting } from './context-setting.ts';
export { type CallQuotes, countMisses, type Evidence, type Misses, type Quote, quotesOf } from './evidence.ts';
export type { Measure } from './layout.ts';
export { type Candidate, type Optimum, type OptimumInput, optimum } from './optimum.ts';
export { findLogs } from './readers/find-logs.ts';
export { type ReadOptions, readLog, readRuns } from './readers/read-runs.ts';
export { adviceOf, type ReplayOptions, replay } from './replay.ts';
export { type PolicyRun, type ReplaySetting, replayContext } from './replay-context.ts';
export { type FileSetting, type ReplayedFile, type ReplayedRun, replayFile } from './replay-file.ts';
export { type ReplayPolicy, readPrices, readReplayPolicy } from './replay-policy.ts';
export type {
  DollarTotal,
  InferredTotal,
  MaskedResult,
  ModelRuns,
  NextStep,
  PolicyResult,
  PolicyTotal,
  ReplayPage,
  ReplayResult,
  RunDetail,
  RunResult,
  Schedule,
  UsageTotal,
} from './replay-result.ts';
export type { Context, ReplyFacts, RunFormat, Usage } from './run.ts';
export { costOf, type SentRequest, type Setting, type Simulation, simulate } from './simulate.ts';
export { writePage } from './write-page.ts';
