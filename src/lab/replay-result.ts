import type { RunFormat } from './run.ts';

/** What one policy would have sent, cost and hidden in one run. */
export interface PolicyResult {
  /** All requests together. */
  readonly tokensSent: number;
  /** The largest request. */
  readonly peakTokens: number;
  /** How many results it masked or left out. */
  readonly masks: number;
  /** How many requests changed what earlier ones had sent. */
  readonly epochs: number;
  /** Input cost by price list, in tokens at the base price. */
  readonly cost: Readonly<Record<string, number>>;
  readonly misses: {
    readonly edit: number;
    readonly identifier: number;
    readonly any: number;
    readonly calls: number;
  };
}

/** One run under every policy. */
export interface RunResult {
  readonly file: string;
  readonly run: number;
  readonly format: RunFormat;
  readonly turns: number;
  /** All text of the run, counted once. */
  readonly tokens: number;
  readonly observationShare: number;
  readonly results: Readonly<Record<string, PolicyResult>>;
}

/** One policy over all runs. */
export interface PolicyTotal {
  readonly tokensSent: number;
  readonly cost: Readonly<Record<string, number>>;
  /** The change of cost against sending everything: -0.31 is 31 % less. */
  readonly saving: Readonly<Record<string, number>>;
}

/** What `palimpsest replay --json` prints. */
export interface ReplayResult {
  readonly version: 1;
  readonly prices: readonly string[];
  readonly policies: readonly string[];
  readonly runs: readonly RunResult[];
  readonly total: Readonly<Record<string, PolicyTotal>>;
  readonly skipped: readonly { readonly file: string; readonly reason: string }[];
}

/** One run, request by request, for the page. */
export interface RunDetail {
  /** Index into `runs`. */
  readonly run: number;
  /** By policy; where a policy depends on the prices, by `policy @ prices`. */
  readonly schedules: Readonly<Record<string, Schedule>>;
}

/** The requests of one run under one policy. */
export interface Schedule {
  /** The size of each request, in tokens. */
  readonly sizes: readonly number[];
  /** The requests, counted from 0, that changed what earlier ones had sent. */
  readonly epochs: readonly number[];
  readonly masked: readonly MaskedResult[];
}

/** A result that was masked, and what stands in its place. */
export interface MaskedResult {
  /** The request, counted from 0, that masked it. */
  readonly request: number;
  readonly turn: number;
  readonly tool: string;
  readonly tokens: number;
  readonly placeholder: string;
  /** The beginning of what it hides. */
  readonly text: string;
}

/** All that the page shows. */
export interface ReplayPage {
  readonly result: ReplayResult;
  readonly details: readonly RunDetail[];
}
