import type { Hidden } from '../../plan/ledger/hidden.ts';
import type { Policy } from '../../plan/policy.ts';
import type { Prices } from '../../plan/prices.ts';
import type { Arm } from '../../report/request-record.ts';
import type { ArmFacts } from '../conversation/arm.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import type { GatewayLimits } from '../gateway-limits.ts';
import type { Act, Tokens } from '../receipts/receipt.ts';
import type { Api } from '../wire/index.ts';
import type { PriceFacts } from '../wire/request-prices.ts';
import type { Estimate } from './estimate.ts';
import type { Reason, StoreTrouble } from './pass-through.ts';
import type { PlannedRequest } from './plan.ts';
import type { WrittenRequest } from './write-request.ts';

/** A request as it came, decompressed. Its bytes are kept until the next request of the conversation and must not be changed. */
export interface GatewayRequest {
  readonly api: Api;
  /** The path without the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** Whether it asks for the size of a request: it is planned in the same way, and nothing of it is kept. */
  readonly isCountTokens?: boolean;
}

/** Everything a decision depends on, apart from the request and the memory of its conversation. */
export interface Facts extends PriceFacts {
  /** Milliseconds. Only differences count. */
  readonly now: number;
  /** Creates the policy for a price list. Break-even if not given. */
  readonly policy?: ((prices: Prices) => Policy) | undefined;
  /** Replaces the prices of the request. */
  readonly prices?: Prices | undefined;
  /** A hard limit in the provider's tokens. Above it every result outside the window is masked, whatever that costs. */
  readonly maxTokens?: number | undefined;
  /** For signed thinking after a mask: opt into dropping it, or mask nothing before it. */
  readonly boundThinking?: 'opt-in' | 'keep' | undefined;
  /** The name of the user's credential. It decides which texts count as stored for that user. No sent byte depends on it. */
  readonly owner?: string | undefined;
  /** Why the recorded events of the conversation are unknown: then nothing new is masked. */
  readonly storeTrouble?: StoreTrouble | undefined;
  /** The arm of its session in a comparison. Treated if not given. */
  readonly arms?: ArmFacts | undefined;
  readonly limits?: GatewayLimits | undefined;
  /** Whether agents of the tenant have our tool `recall`, even if the request does not show it. */
  readonly hasRecall?: boolean | undefined;
}

/** A body and headers for the upstream. */
export interface Outgoing {
  /** Undefined: the original bytes. */
  readonly body: Uint8Array | undefined;
  /** Only headers that change, names in lower case. Lengths and encodings are set when the request is sent. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The body and headers to send for a request, and the texts to store before. Call `afterStored` once the store has `fresh` and `events`.
 * After the answer, call `afterAnswer`, or `afterRefusal` if the original had to be sent.
 */
export interface Decision extends Outgoing {
  /** The hash of the conversation's first prefix. Empty if the request was not read. */
  readonly conversation: string;
  /** The name of the agent's session, with its sub-agents. Empty if unknown. No sent byte depends on it. */
  readonly session: string;
  /** The name of the conversation within its session: used in receipts and totals. Empty if the request was not read. */
  readonly part: string;
  readonly arm: Arm;
  /** The share of sessions that was held out when this one was drawn. Absent if it is in no comparison. */
  readonly holdoutShare?: number;
  /** The store did not tell the arm of the session: `arm` says only how this request is handled. */
  readonly isArmUnknown?: boolean;
  /** The name of the session that this one continues, as a fork, a resume or after a compaction. */
  readonly root?: string;
  /** The user's first words, for the title of the conversation. */
  readonly task: string;
  /** Every text that is hidden in this body. */
  readonly hidden: readonly Hidden[];
  /** Hidden texts that the store may not have yet. */
  readonly fresh: readonly Hidden[];
  /** Events that must be recorded before the body is sent. */
  readonly events: readonly GatewayEvent[];
  /** Events of a request that was sent without the store: to be recorded as soon as it answers. */
  readonly laterEvents: readonly GatewayEvent[];
  readonly explanation: Explanation;
  /** The plan behind it. Undefined if nothing was planned. */
  readonly basis?: Basis | undefined;
}

/** A request on its way from the plan to the bytes. */
export interface Basis {
  readonly planned: PlannedRequest;
  readonly written: WrittenRequest;
  readonly estimate: Estimate;
  readonly owner: string | undefined;
}

/** The reason of a decision, and the expected size of the request. The receipt is written from it. */
export interface Explanation {
  readonly act: Act;
  readonly because: string;
  /** For programs: why a request passed through, or why an epoch was postponed. */
  readonly reason?: Reason;
  readonly rent?: number;
  readonly price?: number;
  readonly model?: string;
  /** The prices that the provider bills for this request. */
  readonly prices: Prices;
  readonly epoch: number;
  readonly masked: number;
  /** The number of new masks in this request. */
  readonly newMasks: number;
  /** Results in it that were made smaller when they were first sent, and are not masked. */
  readonly shaped: number;
  /** Estimates, in the provider's tokens as far as those are known by now. */
  readonly without: Tokens;
  readonly sent: Tokens;
  /** Set if the masks were decided but not sent: the session is held out, or the gateway is in shadow mode. */
  readonly isUnsent?: true;
}

/** How the upstream answered a request. */
export interface Answer {
  /** The end of the answer: the life of the provider's cache begins here. */
  readonly now: number;
  /** Whether the upstream refused the edited body, and this is its answer to the original. */
  readonly isOriginal: boolean;
  /** All tokens of the prompt, cached or not, as the provider counted them. */
  readonly promptTokens?: number | undefined;
}
