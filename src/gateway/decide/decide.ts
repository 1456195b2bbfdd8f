import type { Hidden } from '../../plan/ledger/hidden.ts';
import type { Policy } from '../../plan/policy.ts';
import type { Prices } from '../../plan/prices.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import { defaultLimits, type GatewayLimits } from '../gateway-limits.ts';
import type { Act, Mask, Tokens } from '../receipts/receipt.ts';
import type { Api } from '../wire/index.ts';
import { isCountTokensPath } from '../wire/wire.ts';
import { decideRequest } from './decided-request.ts';
import { leftAlone } from './left-alone.ts';
import { type ReadRequest, readRequest } from './read-request.ts';
import { situate } from './situated-request.ts';
import { leaveUnread } from './unread.ts';

export type { Api };

/** A request as it came, decoded if it was compressed. Its bytes are kept until the next one: they must not be changed. */
export interface GatewayRequest {
  readonly api: Api;
  /** Without the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
}

/** What a decision rests on beside the request. */
export interface Facts {
  /** Milliseconds; only differences count. */
  readonly now: number;
  readonly memory: ConversationMemory;
  /** Makes the policy for a price list. Break-even if not given. */
  readonly policy?: ((prices: Prices) => Policy) | undefined;
  /** In the place of those that the request tells. */
  readonly prices?: Prices | undefined;
  /** The hard limit, in the provider's tokens: above it everything outside the window is masked, whatever the price. */
  readonly maxTokens?: number | undefined;
  /** Signed thinking behind a mask: opt into dropping it, or mask nothing before it. */
  readonly boundThinking?: 'opt-in' | 'keep' | undefined;
  /** The name of the user's credential: which texts it is known to have stored depends on it, and nothing that is sent. */
  readonly owner?: string | undefined;
  /** Why the store did not tell what is recorded of the conversation: then nothing new is masked. */
  readonly storeTrouble?: StoreTrouble | undefined;
  readonly limits?: GatewayLimits | undefined;
}

/** Why the store cannot be asked. */
export type StoreTrouble = 'store-slow' | 'store-failed';

/** What goes to the upstream. */
export interface Outgoing {
  /** Undefined: the bytes that came. */
  readonly body: Uint8Array | undefined;
  /** Only those that differ from what came, names in lower case. Lengths and encodings are the edge's. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * What was decided about a request, and the ways to tell what became of it:
 * store `fresh` and `events`, then call `stored()`, or take `putOff(…)` in its place where the store does not answer;
 * send it; then `answered(…)`, or `refused(…)` and `original` in its place.
 */
export interface Decided extends Outgoing {
  /** The hash of the conversation's first prefix; empty where the request was not read. */
  readonly conversation: string;
  /** The first line of the task, at most 80 characters. */
  readonly title: string;
  /** All that is hidden in this body. */
  readonly hidden: readonly Hidden[];
  /** Those of them that the store is not known to have. They must be stored before the body is sent. */
  readonly fresh: readonly Hidden[];
  /** What must be recorded before the body is sent. */
  readonly events: readonly GatewayEvent[];
  readonly decision: ReceiptDecision;
  /** What to send in the place of an edited body that was refused. */
  readonly original: Outgoing;
  /** The store has what is fresh. */
  stored(): void;
  /** The same request with only those masks that are known to be stored. */
  putOff(because: StoreTrouble): Decided;
  /** The upstream took the body, or the original in its place. */
  answered(answer: Answer): void;
  /** The upstream refused the body. Answers what must be recorded, if the original was taken in its place. */
  refused(refusal: Refusal): readonly GatewayEvent[];
}

/** What the upstream made of a request. */
export interface Answer {
  /** When the answer ended: the provider's cache lives from here on. */
  readonly now: number;
  /** All tokens of the prompt, cached or not, as the provider counted them. */
  readonly promptTokens?: number | undefined;
}

/** A refusal of an edited body. */
export interface Refusal {
  readonly status: number;
  /** The provider's words. */
  readonly text: string;
  /** Whether the original was taken in its place. */
  readonly originalTaken: boolean;
}

/** The decision as a receipt tells it. */
export interface ReceiptDecision {
  readonly act: Act;
  readonly because: string;
  /** Why a request passed through or an epoch was put off, for programs. */
  readonly reason?: Reason;
  readonly rent?: number;
  readonly price?: number;
  readonly model?: string;
  /** What the provider bills for this request. */
  readonly prices: Prices;
  readonly epoch: number;
  readonly masked: number;
  readonly newMasks: readonly Mask[];
  /** Estimates, in the provider's tokens as far as they are known by now. */
  readonly without: Tokens;
  readonly sent: Tokens;
  /** Whether the client asked for a stream. */
  readonly streamed: boolean;
  readonly isCountTokens: boolean;
  /** The message whose block carries the marker that we placed. */
  readonly cacheMarker?: number;
  /** The request opts into dropping thinking that is bound to another prefix. */
  readonly dropsThinking?: boolean;
}

/** Why nothing was edited, or less than was planned. */
export type Reason =
  | 'empty-body'
  | 'too-large'
  | 'content-encoding'
  | 'byte-order-mark'
  | 'charset'
  | 'not-json'
  | 'too-deep'
  | 'too-many-values'
  | 'too-slow'
  | 'model-name'
  | 'duplicate-keys'
  | 'unknown-format'
  | 'previous-response'
  | 'conversation'
  | 'thread'
  | 'context-management'
  | 'compaction'
  | 'hands-off'
  | 'bound-thinking'
  | 'law'
  | 'failed'
  | StoreTrouble;

/**
 * A request that was read but not decided. Its events must be learnt first where a store may have some:
 * `if (opened.conversation && !memory.hasEvents(opened.conversation)) memory.learnEvents(…, await loadEvents(store, …))`
 * (with a store that several gateways share: on every request).
 */
export interface Opened {
  /** Empty where it passes through. */
  readonly conversation: string;
  readonly request: GatewayRequest;
  /** @internal */
  readonly read: ReadRequest | Reason;
}

/** Reads a request. */
export function openRequest(
  request: GatewayRequest,
  memory: ConversationMemory,
  limits: GatewayLimits = defaultLimits,
): Opened {
  const read = readRequest(request, memory, limits);
  const reason = typeof read === 'string' ? read : leftAlone(read);
  if (typeof read === 'string' || reason) return { request, read: reason ?? 'failed', conversation: '' };
  return { request, read, conversation: read.conversation };
}

/**
 * Decides what goes to the upstream: no socket, no clock, no disk. What it learns it keeps in the memory it is given.
 * If anything fails, the original goes out.
 */
export function decide(request: GatewayRequest | Opened, facts: Facts): Decided {
  try {
    const { read } = 'read' in request ? request : openRequest(request, facts.memory, facts.limits);
    return typeof read === 'string' ? leaveUnread(read, facts.limits) : decideRead(read, facts);
  } catch {
    return leaveUnread('failed');
  }
}

function decideRead(request: ReadRequest, facts: Facts): Decided {
  const { memory } = facts;
  const isCountTokens = isCountTokensPath(request.wire, request.path);
  // Nothing of a count may remain: it is planned apart from what is known. And while events were being loaded, another
  // request may have gone on with the branch that this one found.
  const isFree = !isCountTokens && request.branch !== undefined && memory.holds(request.branch);
  // Until it has gone well: a policy of the user's may throw in the middle.
  if (isFree && request.branch) memory.forget(request.branch);
  const situated = situate(request, facts, { isFree, isCountTokens });
  const decided = decideRequest(situated, facts.storeTrouble);
  if (!isCountTokens) memory.keep(request.conversation, situated.planned.branch);
  return decided;
}
