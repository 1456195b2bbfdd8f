import type { ReplaceEdit } from '../../message.ts';
import type { MoneyTotals, RequestMoney } from '../../money/money-totals.ts';
import type { Subscription } from '../../money/price-book.ts';
import type { Arm } from '../../report/request-record.ts';

/** The gateway's action on a request. */
export type Act = 'mask' | 'wait' | 'cold-cache' | 'over-limit' | 'off' | 'pass-through';

/** Prompt tokens of a request, and how the provider's cache split them. */
export interface Tokens {
  readonly tokens: number;
  readonly cached: number;
  /** Not read from the cache. */
  readonly written: number;
  /** Of `written`: not written to the cache either. Not there where the provider does not tell. */
  readonly uncached?: number;
  /** Of `written`: written to the cache for an hour. Not there where the provider does not tell, or wrote nothing. */
  readonly hourWritten?: number;
}

/** The cost of one request, its cost without the gateway, and the reason for the gateway's action. */
export interface Receipt {
  /** No other receipt has it. */
  readonly id: string;
  /** The id that the client gave the request, else `id`. */
  readonly requestId: string;
  /** ISO 8601. */
  readonly time: string;
  /** The agent's session, with its sub-agents, by a name that hides the agent's own id. */
  readonly session: string;
  /** The part of the session that begins with one message. */
  readonly conversation: string;
  /** The arm of the session. Only `treated` requests go out as decided. */
  readonly arm: Arm;
  /** The share of sessions that was held out when this one was drawn. Not there where it is in no comparison. */
  readonly holdoutShare?: number;
  /** From 1, in its conversation. */
  readonly request: number;
  readonly api: string;
  /** Without the query. */
  readonly path: string;
  readonly model?: string;
  readonly prices: string;
  readonly status: number;
  readonly act: Act;
  readonly because: string;
  readonly rent?: number;
  readonly price?: number;
  readonly epoch: number;
  /** Masks in this request, old and new. */
  readonly masked: number;
  readonly newMasks: readonly Mask[];
  /** Results that were made smaller when they first went out, old and new. Not there where there are none. */
  readonly shaped?: number;
  /** The new ones of them. Not there where there are none. */
  readonly newShaped?: readonly Shaped[];
  /** The request without the gateway: an estimate. */
  readonly without: Tokens;
  /** The request that was sent. */
  readonly sent: Tokens;
  /** The masks that the request would have carried, had it been sent as decided. Not there where it was. */
  readonly unsent?: { readonly masked: number; readonly newMasks: number; readonly shaped?: number };
  /** Estimates before the answer, made alike in all arms: with the masks as decided, and without any. */
  readonly expected: { readonly sent: Tokens; readonly without: Tokens };
  readonly completionTokens: number;
  /** True where the provider gave no usage. */
  readonly estimated: boolean;
  /** In base input tokens: read price × cached + write price × (written − uncached) + uncached. Writes for an hour have their own price. */
  readonly cost: { readonly without: number; readonly sent: number };
  /** Dollars at the price of the model. Not there where no price is known. */
  readonly money?: RequestMoney | Subscription;
  readonly droppedThinking?: number;
  /** The provider's refusal of the edited request; the original was sent after it. */
  readonly refused?: { readonly status: number; readonly text: string };
  readonly streamed: boolean;
  readonly overheadMs: number;
  readonly totalMs: number;
}

/** One masked tool result. */
export interface Mask {
  readonly handle: string;
  readonly turn: number;
  readonly tool?: string;
  readonly placeholder: string;
  readonly chars: number;
  readonly tokens: number;
}

/** One tool result that was made smaller when it first went out: `placeholder` is the text that was sent. */
export interface Shaped extends Mask {
  readonly how: ReplaceEdit['why'];
}

/** A conversation as the list shows it. */
export interface ConversationSummary {
  readonly id: string;
  /** The session that it is a part of. */
  readonly session: string;
  readonly arm: Arm;
  /** First line of the task, at most 80 characters. */
  readonly title: string;
  readonly api: string;
  readonly model?: string;
  readonly prices: string;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly requests: number;
  readonly masked: number;
  /** Results of the last request that were made smaller when they first went out. */
  readonly shaped: number;
  readonly epochs: number;
  readonly tokensIn: number;
  readonly tokensSent: number;
  readonly cost: { readonly without: number; readonly sent: number };
  readonly money: MoneyTotals;
  readonly act: Act;
  readonly because: string;
}

/** Everything since the gateway started. */
export interface Totals {
  readonly requests: number;
  readonly conversations: number;
  readonly tokensIn: number;
  readonly tokensSent: number;
  readonly cached: number;
  readonly written: number;
  readonly cost: { readonly without: number; readonly sent: number };
  readonly money: MoneyTotals;
  readonly masked: number;
  /** Results that were made smaller when they first went out. */
  readonly shaped: number;
  readonly refused: number;
  readonly overheadMs: { readonly median: number; readonly p99: number };
}

/** The gateway itself: version, settings in force, totals and its store. */
export interface Status {
  readonly version: string;
  readonly startedAt: string;
  readonly settings: Readonly<Record<string, string | number | boolean>>;
  readonly totals: Totals;
  readonly store: { readonly kind: string; readonly ok: boolean; readonly because?: string };
}
