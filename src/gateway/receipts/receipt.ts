import type { ReplaceEdit } from '../../message.ts';
import type { MoneyTotals, RequestMoney } from '../../money/money-totals.ts';
import type { Subscription } from '../../money/price-book.ts';
import type { Arm } from '../../report/request-record.ts';

/** The gateway's action on a request. */
export type Act = 'mask' | 'wait' | 'cold-cache' | 'over-limit' | 'off' | 'pass-through';

/** Prompt tokens of a request, and how the provider's cache split them. */
export interface Tokens {
  /** All prompt tokens: `cached` and `written` together. */
  readonly tokens: number;
  /** Tokens that were read from the cache. */
  readonly cached: number;
  /** Not read from the cache. */
  readonly written: number;
  /** Of `written`: not written to the cache either. Absent if the provider does not report it. */
  readonly uncached?: number;
  /** Of `written`: written to the cache for an hour. Absent if the provider does not report it, or wrote nothing. */
  readonly hourWritten?: number;
}

/** The cost of one request, its cost without the gateway, and the reason for the gateway's action. */
export interface Receipt {
  /** Unique for each receipt. */
  readonly id: string;
  /** The client's id of the request, otherwise `id`. */
  readonly requestId: string;
  /** The time of the request, ISO 8601. */
  readonly time: string;
  /** The agent's session, with its sub-agents, by a name that hides the agent's own id. */
  readonly session: string;
  /** The conversation in the session, identified by its first message. */
  readonly conversation: string;
  /** The arm of the session. Only `treated` requests are sent as decided. */
  readonly arm: Arm;
  /** The share of sessions that was held out when this one was drawn. Absent if it is in no comparison. */
  readonly holdoutShare?: number;
  /** The store did not tell the arm of the session: `arm` says only how this request was handled. Absent if the arm is known. */
  readonly isArmUnknown?: boolean;
  /** The number of the request in its conversation, from 1. */
  readonly request: number;
  /** The API of the request: the name of its wire. */
  readonly api: string;
  /** The path without the query. */
  readonly path: string;
  /** The requested model. Absent if the request names none. */
  readonly model?: string;
  /** The name of the price list that decided, as listed in the docs of money. */
  readonly prices: string;
  /** The status of the answer; 0 if there was none. */
  readonly status: number;
  /** The gateway's action. */
  readonly act: Act;
  /** The reason for it, one line. */
  readonly because: string;
  /** The cost of waiting so far, in base input tokens. Only if break-even decided. */
  readonly rent?: number;
  /** The cost of masking now, in base input tokens. Only if break-even decided. */
  readonly price?: number;
  /** The number of requests in which masks changed earlier messages, including this one. */
  readonly epoch: number;
  /** Masks in this request, old and new. */
  readonly masked: number;
  /** The results that this request masks for the first time. */
  readonly newMasks: readonly Mask[];
  /** Results that were made smaller when they were first sent, old and new. Absent if there are none. */
  readonly shaped?: number;
  /** The results that this request made smaller. Absent if there are none. */
  readonly newShaped?: readonly Shaped[];
  /** The request without the gateway: an estimate. */
  readonly without: Tokens;
  /** The request that was sent. */
  readonly sent: Tokens;
  /** The masks that the request would have carried, had it been sent as decided. Absent if it was. */
  readonly unsent?: { readonly masked: number; readonly newMasks: number; readonly shaped?: number };
  /** Estimates before the answer, made in the same way in all arms: with the masks as decided, and without any. */
  readonly expected: { readonly sent: Tokens; readonly without: Tokens };
  /** Tokens of the answer; 0 if the provider gave no usage. */
  readonly completionTokens: number;
  /** True if the provider gave no usage. */
  readonly estimated: boolean;
  /** In base input tokens: read price × cached + write price × (written − uncached) + uncached. Writes for an hour have their own price. */
  readonly cost: { readonly without: number; readonly sent: number };
  /** Dollars at the price of the model. Absent if no price is known. */
  readonly money?: RequestMoney | Subscription;
  /** Blocks of signed thinking that the provider dropped because they come after a mask. */
  readonly droppedThinking?: number;
  /** The provider's refusal of the edited request; the original was sent after it. */
  readonly refused?: { readonly status: number; readonly text: string };
  /** Whether the answer came as a stream. */
  readonly streamed: boolean;
  /** The time from the last byte of the request until it is sent, in milliseconds. */
  readonly overheadMs: number;
  /** The time from the head of the request to the end of the answer, in milliseconds. */
  readonly totalMs: number;
}

/** One masked tool result. */
export interface Mask {
  /** The key of the original in the store. */
  readonly handle: string;
  /** The turn of the call, counted from 1. */
  readonly turn: number;
  /** The tool that answered, if the request names it. */
  readonly tool?: string;
  /** The line in place of the result. */
  readonly placeholder: string;
  /** The size of the original in characters. */
  readonly chars: number;
  /** The size of the original in estimated tokens. */
  readonly tokens: number;
}

/** One tool result that was made smaller when it was first sent: `placeholder` is the text that was sent. */
export interface Shaped extends Mask {
  /** The rule that made it smaller. */
  readonly how: ReplaceEdit['why'];
}

/** Requests of sessions that are held out or in shadow. */
export interface Unsent {
  /** The number of requests that were sent unchanged. */
  readonly requests: number;
  /** The tokens that their masks would have left out: an estimate. */
  readonly tokens: number;
}

/** A conversation as the list shows it. */
export interface ConversationSummary {
  /** The id that its receipts have as `conversation`. */
  readonly id: string;
  /** The session that it is a part of. */
  readonly session: string;
  /** The arm of its session in a comparison. */
  readonly arm: Arm;
  /** First line of the task, at most 80 characters. */
  readonly title: string;
  /** The API of its requests: the name of their wire. */
  readonly api: string;
  /** The model of the newest request that names one. */
  readonly model?: string;
  /** The name of the price list of the last request. */
  readonly prices: string;
  /** The time of the first request, ISO 8601. */
  readonly firstAt: string;
  /** The time of the last request, ISO 8601. */
  readonly lastAt: string;
  /** The number of requests. */
  readonly requests: number;
  /** Masks in the last request. */
  readonly masked: number;
  /** Results of the last request that were made smaller when they were first sent. */
  readonly shaped: number;
  /** The number of requests in which masks changed earlier messages. */
  readonly epochs: number;
  /** Its requests that were decided but sent unchanged. */
  readonly unsent: Unsent;
  /** Prompt tokens of all requests without the gateway: an estimate. */
  readonly tokensIn: number;
  /** Prompt tokens of all requests as sent. */
  readonly tokensSent: number;
  /** The sum of `cost` over its receipts, in base input tokens. */
  readonly cost: { readonly without: number; readonly sent: number };
  /** Dollars of all requests whose price is known. */
  readonly money: MoneyTotals;
  /** The action on the last request. */
  readonly act: Act;
  /** The reason for that action, one line. */
  readonly because: string;
}

/** Everything since the gateway started. */
export interface Totals {
  /** The number of requests. */
  readonly requests: number;
  /** The number of conversations. */
  readonly conversations: number;
  /** Prompt tokens of all requests without the gateway: an estimate. */
  readonly tokensIn: number;
  /** Prompt tokens of all requests as sent. */
  readonly tokensSent: number;
  /** Of `tokensSent`: tokens that were read from the cache. */
  readonly cached: number;
  /** Of `tokensSent`: tokens that were not read from the cache. */
  readonly written: number;
  /** The sum of `cost` over all receipts, in base input tokens. */
  readonly cost: { readonly without: number; readonly sent: number };
  /** Dollars of all requests whose price is known. */
  readonly money: MoneyTotals;
  /** Requests that were decided but sent unchanged. */
  readonly unsent: Unsent;
  /** Results that were masked. */
  readonly masked: number;
  /** Results that were made smaller when they were first sent. */
  readonly shaped: number;
  /** Edited requests that a provider refused; the originals were sent after them. */
  readonly refused: number;
  /** Requests that got no answer, or an error in its place. */
  readonly failed: number;
  /**
   * The time that the gateway added to a request, in milliseconds: half of all requests are below `median`, 99 % below
   * `p99`.
   */
  readonly overheadMs: { readonly median: number; readonly p99: number };
}

/** The gateway itself: version, current settings, totals and its store. */
export interface Status {
  /** The version of the package. */
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** The current options, without secrets. */
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  /** Sums over all requests. */
  readonly totals: Totals;
  /** The kind of store, whether it works, and the reason if not. */
  readonly store: { readonly kind: string; readonly ok: boolean; readonly because?: string };
}
