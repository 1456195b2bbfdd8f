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
  /** Input cost by price list, in tokens at the base price. Empty where the prices of the run are not known. */
  readonly cost: Readonly<Record<string, number>>;
  /** The same if every miss costs one recall. Not there unless asked for. */
  readonly costWithRecalls?: Readonly<Record<string, number>>;
  /** Input cost by price list, in dollars. Not there where the price of the model is not known. */
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
  /** The time of the first message, and of the last, in milliseconds since 1970, where the log has them. */
  readonly from?: number;
  readonly to?: number;
  /** The usage in the log, where there is one. */
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
  /** Of those: not in the log. Inferred. */
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
  /** How many runs are counted. */
  readonly runs: number;
  /** From the first message to the last, rounded up. Not there where the log has no times, or for less than a day. */
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
  /** Of the runs whose model has a known price. Not there where there is none. */
  readonly dollars?: Readonly<Record<string, number>>;
}

/** What `palimpsest replay --json` prints. */
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
  /** Facts inferred from the usage in the logs. Undefined where none was used. */
  readonly inferred?: InferredTotal;
  /** Input in dollars at the first price list. Not there where no price is known. */
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
  /** By policy; where a policy depends on the prices, by `policy @ prices`. */
  readonly schedules: Readonly<Record<string, Schedule>>;
}

/** The requests of one run under one policy. */
export interface Schedule {
  /** The size of each request, in tokens. */
  readonly sizes: readonly number[];
  /** The requests, counted from 0, that changed what earlier ones had sent. */
  readonly epochs: readonly number[];
  /** The results that were masked, in order. */
  readonly masked: readonly MaskedResult[];
}

/** A result that was masked, and what stands in its place. */
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
  /** The beginning of what it hides. */
  readonly text: string;
}

/** All that the page shows. */
export interface ReplayPage {
  /** The tables. */
  readonly result: ReplayResult;
  /** The drawings. */
  readonly details: readonly RunDetail[];
}
