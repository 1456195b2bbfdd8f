import type { RunFormat } from './run.ts';

/** The requests, the cost and the hidden texts of one policy in one run. */
export interface PolicyResult {
  /** All requests together. */
  readonly tokensSent: number;
  /** The largest request. */
  readonly peakTokens: number;
  /** The number of results that it masked or left out. */
  readonly masks: number;
  /** The number of requests that changed earlier messages. */
  readonly epochs: number;
  /** Input cost by price list, in tokens at the base price. Empty if the prices of the run are not known. */
  readonly cost: Readonly<Record<string, number>>;
  /** The same if every miss costs one recall. Absent unless asked for. */
  readonly costWithRecalls?: Readonly<Record<string, number>>;
  /** Input cost by price list, in dollars. Absent if the price of the model is not known. */
  readonly dollars?: Readonly<Record<string, number>>;
  /** Calls that needed a hidden text, by how they show it. See docs/evidence.md. */
  readonly misses: {
    readonly edit: number;
    readonly identifier: number;
    readonly any: number;
    readonly calls: number;
  };
}

/** One run under every policy. */
export interface RunResult {
  /** The log. */
  readonly file: string;
  /** The number of the run in that log, counted from 0. */
  readonly run: number;
  /** The agent that wrote the log. */
  readonly format: RunFormat;
  /** Replies of the model. */
  readonly turns: number;
  /** All text of the run, counted once. */
  readonly tokens: number;
  /** The share of tool results in those tokens, 0 to 1. */
  readonly observationShare: number;
  /** The model of most replies, where the log names it. */
  readonly model?: string;
  /** The price list of the model, where the run has the prices of its model. */
  readonly prices?: string;
  /** The time of the first message, and of the last, in milliseconds since 1970, if the log has them. */
  readonly from?: number;
  /** The time of the last message, in milliseconds since 1970. */
  readonly to?: number;
  /** The usage in the log, if there is one. */
  readonly usage?: UsageTotal;
  /** By policy. */
  readonly results: Readonly<Record<string, PolicyResult>>;
}

/** Requests that have a usage in the log. */
export interface UsageTotal {
  /** How many there are. */
  readonly requests: number;
  /** Their prompts, as the provider counted them. */
  readonly countedTokens: number;
  /** Their prompts as they are replayed with nothing masked. */
  readonly replayedTokens: number;
  /** The inferred part of those tokens that is not in the log. */
  readonly hiddenTokens: number;
  /** The counted prompts in dollars at the first price list, with the provider's own split of its cache. */
  readonly dollars?: number;
}

/** The usage of all runs. */
export interface InferredTotal extends UsageTotal {
  /** Runs that have a usage. */
  readonly runs: number;
}

/** The runs of one model. */
export interface ModelRuns {
  /** Undefined: the logs do not name it. */
  readonly model?: string;
  /** The price list of the model. */
  readonly prices?: string;
  /** How many there are. */
  readonly runs: number;
  /** The price of the model in dollars is known. */
  readonly hasDollars: boolean;
}

/** The best policy in dollars, over the runs whose model has a known price. */
export interface DollarTotal {
  /** The policy. */
  readonly policy: string;
  /** With nothing masked. */
  readonly before: number;
  /** With this policy. */
  readonly after: number;
  /** The number of runs. */
  readonly runs: number;
  /** From the first message to the last, rounded up. Absent if the log has no times or covers less than a day. */
  readonly days?: number;
}

/** The next step for the reader. */
export interface NextStep {
  /** The command to run. */
  readonly command: string;
  /** The saving, where times and prices are known. */
  readonly dollarsPerMonth?: number;
}

/** One policy over all runs. */
export interface PolicyTotal {
  /** All requests of all runs. */
  readonly tokensSent: number;
  /** Input cost by price list, in tokens at the base price. */
  readonly cost: Readonly<Record<string, number>>;
  /** The change of cost against sending everything: -0.31 is 31 % less. */
  readonly saving: Readonly<Record<string, number>>;
  /** The same if every miss costs one recall. */
  readonly costWithRecalls?: Readonly<Record<string, number>>;
  /** The change of that cost. */
  readonly savingWithRecalls?: Readonly<Record<string, number>>;
  /** In dollars, for the runs whose model has a known price. Absent if there is none. */
  readonly dollars?: Readonly<Record<string, number>>;
}

/** The output of `palimpsest replay --json`. */
export interface ReplayResult {
  /** Grows when a field changes its meaning. */
  readonly version: 1;
  /** Price lists; or `by model`, or `tokens` where none was asked for. */
  readonly prices: readonly string[];
  /** The policies that were compared. */
  readonly policies: readonly string[];
  /** Each run under every policy. */
  readonly runs: readonly RunResult[];
  /** By policy, over all runs. */
  readonly total: Readonly<Record<string, PolicyTotal>>;
  /** The models of the runs, the most frequent first. */
  readonly models?: readonly ModelRuns[];
  /** Facts inferred from the usage in the logs. Undefined if none was used. */
  readonly inferred?: InferredTotal;
  /** Input in dollars at the first price list. Absent if no price is known. */
  readonly dollars?: DollarTotal;
  /** The next step for the reader. */
  readonly next?: NextStep;
  /** Files that are no logs, and why. */
  readonly skipped: readonly { readonly file: string; readonly reason: string }[];
}

/** One run, request by request, for the page. */
export interface RunDetail {
  /** Index into `runs`. */
  readonly run: number;
  /** By policy, or by `policy @ prices` if the policy depends on prices. */
  readonly schedules: Readonly<Record<string, Schedule>>;
}

/** The requests of one run under one policy. */
export interface Schedule {
  /** The size of each request, in tokens. */
  readonly sizes: readonly number[];
  /** The requests, counted from 0, that changed earlier messages. */
  readonly epochs: readonly number[];
  /** The results that were masked, in order. */
  readonly masked: readonly MaskedResult[];
}

/** A masked result and its placeholder. */
export interface MaskedResult {
  /** The request, counted from 0, that masked it. */
  readonly request: number;
  /** The turn of the result. */
  readonly turn: number;
  /** The tool. */
  readonly tool: string;
  /** The size of the hidden text. */
  readonly tokens: number;
  /** The text in its place. */
  readonly placeholder: string;
  /** The beginning of the hidden text. */
  readonly text: string;
}

/** The data of the page. */
export interface ReplayPage {
  /** The tables. */
  readonly result: ReplayResult;
  /** The drawings. */
  readonly details: readonly RunDetail[];
}
