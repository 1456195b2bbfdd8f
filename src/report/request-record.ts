import type { Prices } from '../plan/prices.ts';

/**
 * The arm of a session in a comparison: `treated` requests are masked, `held-out` ones pass untouched, and for `shadow` ones
 * the gateway decides but sends the original.
 */
export type Arm = 'treated' | 'held-out' | 'shadow';

/** Prompt tokens, and how the provider's cache split them. */
export interface PromptTokens {
  readonly cached: number;
  /** Not read from the cache. */
  readonly written: number;
  /** Of `written`: not written to the cache either. Not there where the provider does not tell. */
  readonly uncached?: number;
  /** Of `written`: written to the cache for an hour. Not there where the provider does not tell, or wrote nothing. */
  readonly hourWritten?: number;
}

/** One request in numbers and names, without any text of it: the report is made of these. */
export interface RequestRecord {
  readonly id: string;
  /** The id that the client gave the request. Not there where it gave none. */
  readonly requestId?: string;
  /** Start, in milliseconds since the epoch. */
  readonly at: number;
  /** The agent's session, with its sub-agents. */
  readonly session: string;
  /** The session that it goes on with, as a fork, a resume or after a compaction. The report counts both as one. */
  readonly root?: string;
  /** The part of it that begins with one message. */
  readonly conversation: string;
  readonly arm: Arm;
  /** The share of sessions that was held out when this one was drawn. Not there where the session is in no comparison. */
  readonly holdoutShare?: number;
  readonly api: string;
  readonly model?: string;
  /** Price list by name, and its multiples of the base price for input. */
  readonly prices: Pick<Prices, 'name' | 'read' | 'write' | 'writes'>;
  /** 0 where there was no answer. */
  readonly status: number;
  readonly act: string;
  /** Masks in the request, and how many of them are new. */
  readonly masked: number;
  readonly newMasks: number;
  /** Results that were made smaller when they first went out, and how many are new. Not there where there are none. */
  readonly shaped?: number;
  readonly newShaped?: number;
  /** Usage as the provider counted it. Not there where it gave none: then the request is counted as estimated. */
  readonly billed?: PromptTokens & { readonly output: number };
  /** The gateway's estimate before the answer, made alike in all arms: with the masks it decided, and without any. */
  readonly expected: { readonly sent: PromptTokens; readonly without: PromptTokens };
  /** The receipt's own figure for the request without masks, made from the bill where there is one. */
  readonly without: PromptTokens;
  /** Status of the provider's refusal of the edited request. */
  readonly refused?: number;
  readonly signs: HarmSigns;
}

/**
 * Whether a provider refuses a request as such with this status. Every other status has another cause than the request itself:
 * 401, 408 and 429 too.
 */
export const isRefusal = (status: number): boolean => status === 400 || status === 413 || status === 422;

/** Signs of harm in one request and its answer. */
export interface HarmSigns {
  /** Tool results that are new since the last request of the conversation. */
  readonly results: number;
  /** Of those, results that the agent or the tool marked as failed. */
  readonly failed: number;
  /** Of the calls answered by them, those made before in the conversation with the same tool and arguments. */
  readonly repeated: number;
  /** Of the calls answered by them, calls of the recall tool. */
  readonly recalls: number;
  /** Whether the answer ended with the model's last word, without a tool call. Not there where the answer was not read. */
  readonly isFinal?: boolean;
}
