export type { PriceName, Prices } from '../plan/prices.ts';
export { priceLists, pricesOf } from '../plan/prices.ts';
export { type Contender, readContender, readPrices } from './contender.ts';
export { type CallQuotes, countMisses, type Evidence, type Misses, type Quote, quotesOf } from './evidence.ts';
export { type Layout, layoutOf } from './layout.ts';
export { type Candidate, type Optimum, type OptimumInput, optimum } from './optimum.ts';
export { findLogs } from './readers/find-logs.ts';
export { type ReadOptions, readLog, readRuns } from './readers/read-runs.ts';
export { adviceOf, onlyAsked, type ReplayOptions, replay } from './replay.ts';
export { type Played, type ReplaySetting, replayContext } from './replay-context.ts';
export { type FileSetting, type ReplayedFile, type ReplayedRun, replayFile } from './replay-file.ts';
export type {
  MaskedResult,
  PolicyResult,
  PolicyTotal,
  ReplayPage,
  ReplayResult,
  RunDetail,
  RunResult,
  Schedule,
} from './replay-result.ts';
export type { Context, RunFormat } from './run.ts';
export { costOf, type SentRequest, type Setting, type Simulation, simulate } from './simulate.ts';
export { writePage } from './write-page.ts';
