import { answerLimits, requestLimits } from '../../limits.ts';
import type { Prices } from '../../plan/prices.ts';
import { clipText, ownCopy } from '../../text.ts';
import type { Decided, ReceiptDecision } from '../decide/decide.ts';
import type { Usage } from '../exchange/usage-reader.ts';
import type { Entry } from './book.ts';
import type { Receipt, Tokens } from './receipt.ts';

/** The answer to a request. */
export interface Sent {
  /** 0 where there was no answer. */
  readonly status: number;
  readonly usage: Usage | undefined;
  readonly streamed: boolean;
  readonly refused: { readonly status: number; readonly text: string } | undefined;
}

/** When it came, and how long it took. */
export interface Times {
  readonly startedAt: number;
  readonly overheadMs: number;
  readonly totalMs: number;
}

/** A request that is over, and its answer. */
export interface Settled {
  readonly id: string;
  /** With its owner in it; empty where the request was not read. */
  readonly conversation: string;
  readonly api: string;
  readonly path: string;
  readonly decided: Decided;
  /** The request before it in its conversation, if this gateway saw it. */
  readonly previous: Counted | undefined;
  readonly sent: Sent;
  readonly times: Times;
}

/** A request as the provider counted it, and as it would have without the masks. */
export interface Counted {
  readonly sent: number;
  readonly without: number;
  /** The tokens that were expected without the masks. */
  readonly expected: number;
  readonly epoch: number;
  readonly masked: number;
  /** Whether the provider ever read from its cache; undefined after a first request, which finds nothing there. */
  readonly reads?: boolean | undefined;
}

/** The counts that the next request of the conversation is compared with; undefined where the provider did not count. */
export function countedOf({ receipt }: Entry, { decided: { decision }, previous }: Before): Counted | undefined {
  if (receipt.estimated) return undefined;
  const { sent, without, epoch, masked } = receipt;
  const reads = sent.cached > 0 || (previous && previous.reads === true);
  return { sent: sent.tokens, without: without.tokens, expected: decision.without.tokens, epoch, masked, reads };
}

type Before = Pick<Settled, 'decided' | 'previous'>;

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The receipt of a request: the provider's own numbers where it gave them. */
export function writeReceipt(settled: Settled): Entry {
  const { decided, conversation, sent: answer, times } = settled;
  const { decision } = decided;
  const { status, usage, refused } = answer;
  const isBilled = status >= 200 && status < 300;
  const { sent, without } = isBilled ? tokensOf(settled, refused !== undefined) : NOTHING_BILLED;
  const receipt: Writable<Entry['receipt']> = {
    id: settled.id,
    time: new Date(times.startedAt).toISOString(),
    conversation: conversation || UNREAD,
    api: settled.api,
    path: settled.path.slice(0, requestLimits.pathChars),
    prices: decision.prices.name,
    status,
    act: decision.act,
    because: decision.because,
    epoch: decision.epoch,
    masked: refused ? 0 : decision.masked,
    newMasks: refused ? [] : decision.newMasks,
    without,
    sent,
    completionTokens: usage?.completionTokens ?? 0,
    estimated: usage === undefined,
    cost: { without: costOf(without, decision.prices), sent: costOf(sent, decision.prices) },
    streamed: answer.streamed,
    overheadMs: round(times.overheadMs),
    totalMs: round(times.totalMs),
  };
  // One by one: to spread what is optional would cost more than all the rest of a receipt.
  if (decision.model !== undefined) receipt.model = decision.model;
  if (decision.rent !== undefined) receipt.rent = decision.rent;
  if (decision.price !== undefined) receipt.price = decision.price;
  if (usage?.droppedThinking) receipt.droppedThinking = usage.droppedThinking;
  if (refused)
    receipt.refused = { status: refused.status, text: ownCopy(clipText(refused.text, answerLimits.refusalChars)) };
  return { receipt, title: settled.previous ? '' : ownCopy(titleOf(decided)) };
}

const titleOf = ({ conversation, title }: Decided): string =>
  conversation ? title : 'Requests that passed through unread';

/** The conversation of all requests that were not read. */
const UNREAD = 'unread';

const NO_TOKENS: Tokens = { tokens: 0, cached: 0, written: 0 };
const NOTHING_BILLED = { sent: NO_TOKENS, without: NO_TOKENS };

interface Both {
  readonly sent: Tokens;
  readonly without: Tokens;
}

function tokensOf({ decided: { decision }, sent: { usage }, previous }: Settled, isOriginal: boolean): Both {
  if (!usage) return isOriginal ? { sent: decision.without, without: decision.without } : decision;
  const sent = toTokens(usage.cached + usage.written, usage.cached);
  return { sent, without: isOriginal || decision.masked === 0 ? sent : withoutMasks(decision, sent, previous) };
}

/**
 * The tokens that the provider would have counted without the masks: all that it counted before, and the new ones. Between epochs
 * that is known to the token, since masks stay as they are; in an epoch, what is new is estimated.
 */
function withoutMasks(decision: ReceiptDecision, sent: Tokens, previous: Counted | undefined): Tokens {
  const { without, sent: expected, newMasks, act } = decision;
  const ratio = expected.tokens > 0 ? sent.tokens / expected.tokens : 1;
  const isSameEpoch = previous?.epoch === decision.epoch && previous.masked === decision.masked;
  const saved = Math.max(0, Math.round((without.tokens - expected.tokens) * ratio));
  const grown = previous && previous.without + Math.round((without.tokens - previous.expected) * ratio);
  const known = previous && (isSameEpoch ? previous.without + sent.tokens - previous.sent : grown);
  const tokens = Math.max(sent.tokens, known ?? sent.tokens + saved);
  if (newMasks.length === 0) return toTokens(tokens, sent.cached > 0 ? tokens - sent.written : 0);
  // An epoch on a cold cache is free: without it, all would have been written again too.
  const wasCached = act !== 'cold-cache' && (previous?.reads ?? without.cached > 0);
  return toTokens(tokens, wasCached ? Math.min(tokens, previous?.without ?? Math.round(without.cached * ratio)) : 0);
}

const toTokens = (tokens: number, cached: number): Tokens => ({ tokens, cached, written: tokens - cached });

const costOf = ({ cached, written }: Tokens, { read, write }: Prices): Receipt['cost']['sent'] =>
  round(cached * read + written * write);

const round = (value: number): number => Math.round(value * 1000) / 1000;
