import { answerLimits, requestLimits } from '../../limits.ts';
import { inputCost, type Prices } from '../../plan/prices.ts';
import { clipText, ownCopy } from '../../text.ts';
import { newMasks, newShaped } from '../decide/decide.ts';
import type { Decision, Explanation } from '../decide/decision.ts';
import type { Estimate } from '../decide/estimate.ts';
import { toTitle } from '../decide/task.ts';
import type { RequestIds } from '../exchange/request-id.ts';
import type { Usage } from '../exchange/usage-reader.ts';
import type { Mutable } from '../mutable.ts';
import { type Api, wires } from '../wire/index.ts';
import type { Wire } from '../wire/wire.ts';
import type { Receipt, Shaped, Tokens } from './receipt.ts';
import type { Entry } from './receipt-log.ts';

/** The answer to a request. */
export interface Sent {
  /** 0 if there was no answer. */
  readonly status: number;
  readonly usage: Usage | undefined;
  readonly streamed: boolean;
  readonly refused: { readonly status: number; readonly text: string } | undefined;
  /** Whether the answer is final, without a call. Undefined if that was not read. */
  readonly isFinal?: boolean | undefined;
}

/** The start and the duration of a request. */
export interface Times {
  readonly startedAt: number;
  readonly overheadMs: number;
  readonly totalMs: number;
}

/** Everything that a receipt is written from. */
export interface Outcome extends RequestIds {
  /** The id with its owner; empty if the request was not read. */
  readonly conversation: string;
  /** The id with its owner; empty if unknown. */
  readonly session: string;
  /** The session that this one continues, with its owner. */
  readonly root?: string | undefined;
  readonly api: Api;
  readonly path: string;
  readonly decision: Decision;
  /** The request before it in its conversation, if this gateway saw it. */
  readonly previous: Counted | undefined;
  readonly sent: Sent;
  readonly times: Times;
}

/** A request as the provider counted it, and without the masks. */
export interface Counted {
  readonly sent: number;
  readonly without: number;
  /** The gateway's own count of it without the masks. */
  readonly estimate: number;
  /** The messages that were added while no mask changed: as the provider counted them, and by the gateway's own count. */
  readonly growth: { readonly counted: number; readonly estimated: number };
  readonly epoch: number;
  readonly masked: number;
  /** Results that were made smaller when they were first sent. */
  readonly shaped: number;
  /** Whether the provider ever read from its cache; undefined after a first request, which finds nothing there. */
  readonly reads?: boolean | undefined;
}

/** The figures for the next receipt of the conversation; undefined if the provider did not count. */
export function countedOf({ receipt }: Entry, { decision, previous }: Before): Counted | undefined {
  if (receipt.estimated) return undefined;
  const { sent, without, epoch, masked, shaped = 0 } = receipt;
  const estimate = decision.basis?.estimate.before ?? sent.tokens;
  const reads = sent.cached > 0 || (previous && previous.reads === true);
  const growth = growthOf(previous, { sent: sent.tokens, estimate, epoch, masked, shaped });
  return { sent: sent.tokens, without: without.tokens, estimate, growth, epoch, masked, shaped, reads };
}

type Now = Pick<Counted, 'sent' | 'estimate' | 'epoch' | 'masked' | 'shaped'>;

function growthOf(previous: Counted | undefined, now: Now) {
  const { growth = NO_GROWTH } = previous ?? {};
  const isAsItCame = previous?.shaped === now.shaped;
  const hasOnlyGrown = previous && isAsItCame && isSameEpoch(previous, now) && now.estimate > previous.estimate;
  if (!hasOnlyGrown) return growth;
  return {
    counted: growth.counted + now.sent - previous.sent,
    estimated: growth.estimated + now.estimate - previous.estimate,
  };
}

const NO_GROWTH: Counted['growth'] = { counted: 0, estimated: 0 };

const isSameEpoch = (a: Pick<Counted, 'epoch' | 'masked'>, b: Pick<Counted, 'epoch' | 'masked'>): boolean =>
  a.epoch === b.epoch && a.masked === b.masked;

type Before = Pick<Outcome, 'decision' | 'previous'>;

/** The receipt of a request: with the provider's own numbers if it gave them. */
export function writeReceipt(outcome: Outcome): Entry {
  const { decision, conversation, sent: answer, times } = outcome;
  const { explanation } = decision;
  const { status, usage, refused } = answer;
  const isBilled = status >= 200 && status < 300;
  const isOriginal = refused !== undefined || explanation.isUnsent === true;
  const shaped = isBilled && !isOriginal && explanation.shaped > 0 ? newShaped(decision) : [];
  const { sent, without } = isBilled ? tokensOf(outcome, isOriginal, shaped) : NOTHING_BILLED;
  const receipt: Mutable<Entry['receipt']> = {
    id: outcome.id,
    requestId: outcome.requestId,
    time: new Date(times.startedAt).toISOString(),
    session: outcome.session || UNREAD,
    conversation: conversation || UNREAD,
    arm: decision.arm,
    api: outcome.api,
    path: outcome.path.slice(0, requestLimits.pathChars),
    prices: explanation.prices.name,
    status,
    act: explanation.act,
    because: explanation.because,
    epoch: explanation.epoch,
    masked: isOriginal ? 0 : explanation.masked,
    newMasks: isBilled && !isOriginal ? newMasks(decision) : [],
    without,
    sent,
    expected: { sent: explanation.sent, without: explanation.without },
    completionTokens: usage?.completionTokens ?? 0,
    estimated: usage === undefined,
    cost: { without: costOf(without, explanation.prices), sent: costOf(sent, explanation.prices) },
    streamed: answer.streamed,
    overheadMs: round(times.overheadMs),
    totalMs: round(times.totalMs),
  };
  if (explanation.shaped > 0 && !isOriginal) {
    receipt.shaped = explanation.shaped;
    receipt.newShaped = shaped;
  }
  addOptionalFields(receipt, outcome);
  const { read, write, writes } = explanation.prices;
  const multiples = writes ? { read, write, writes } : { read, write };
  return { receipt, title: outcome.previous ? '' : ownCopy(titleOf(decision)), multiples };
}

function addOptionalFields(receipt: Mutable<Entry['receipt']>, outcome: Outcome): void {
  const { holdoutShare, isArmUnknown, explanation } = outcome.decision;
  const { isUnsent, masked, newMasks, shaped, rent, price } = explanation;
  const { usage, refused } = outcome.sent;
  const model = modelIn(outcome);
  if (model !== undefined) receipt.model = model;
  if (holdoutShare !== undefined) receipt.holdoutShare = holdoutShare;
  if (isArmUnknown) receipt.isArmUnknown = true;
  if (isUnsent) receipt.unsent = shaped > 0 ? { masked, newMasks, shaped } : { masked, newMasks };
  if (rent !== undefined) receipt.rent = rent;
  if (price !== undefined) receipt.price = price;
  if (usage?.droppedThinking) receipt.droppedThinking = usage.droppedThinking;
  if (refused)
    receipt.refused = { status: refused.status, text: ownCopy(clipText(refused.text, answerLimits.refusalChars)) };
}

/** Some providers let customers name models: a prefix shows that. */
function modelIn({ api, decision }: Outcome): string | undefined {
  const { model } = decision.explanation;
  const { modelPrefix = '' }: Partial<Wire> = wires[api];
  return model === undefined ? undefined : modelPrefix + model;
}

const titleOf = ({ conversation, task }: Decision): string =>
  conversation ? toTitle(task) : 'Requests that passed through unread';

/** The conversation of all requests that were not read. */
const UNREAD = 'unread';

const NO_TOKENS: Tokens = { tokens: 0, cached: 0, written: 0 };
const NOTHING_BILLED = { sent: NO_TOKENS, without: NO_TOKENS };

interface Both {
  readonly sent: Tokens;
  readonly without: Tokens;
}

function tokensOf(
  { decision, sent: { usage }, previous }: Outcome,
  isOriginal: boolean,
  shaped: readonly Shaped[],
): Both {
  const { explanation, basis } = decision;
  if (!usage) return isOriginal ? { sent: explanation.without, without: explanation.without } : explanation;
  const { cached, written, uncached, hourWritten } = usage;
  const sent = toTokens(cached + written, cached, { uncached, hourWritten });
  if (isOriginal || !basis || explanation.masked + explanation.shaped === 0) return { sent, without: sent };
  const savedNow = shaped.reduce((sum, one) => sum + one.tokens, 0);
  const bill = { sent, previous, estimate: basis.estimate, savedNow };
  const { tokens, cached: wasCached } = withoutMasks(explanation, bill);
  return { sent, without: toTokens(tokens, wasCached, partsWithout(sent, tokens - wasCached)) };
}

/** The parts of the tokens written without masks that have another price. Writes keep their lifetimes. */
function partsWithout(sent: Tokens, writtenWithout: number): Parts {
  const uncached = uncachedWithout(sent, writtenWithout);
  const { hourWritten } = sent;
  if (hourWritten === undefined) return { uncached };
  const stored = sent.written - (sent.uncached ?? 0);
  return {
    uncached,
    hourWritten: Math.round((writtenWithout - (uncached ?? 0)) * (stored > 0 ? hourWritten / stored : 0)),
  };
}

/** The part after the last cache marker is assumed to be the same with and without masks. If nothing is cached, it is everything. */
function uncachedWithout({ tokens, uncached }: Tokens, writtenWithout: number): number | undefined {
  if (uncached === undefined) return undefined;
  return uncached === tokens ? writtenWithout : Math.min(uncached, writtenWithout);
}

interface Bill {
  readonly sent: Tokens;
  readonly previous: Counted | undefined;
  readonly estimate: Pick<Estimate, 'before' | 'after'>;
  /** Tokens that were saved on results that are new in this request, by the gateway's own count. */
  readonly savedNow: number;
}

/**
 * The provider's count without the masks: its earlier count, and the new messages. Between epochs that is exact, because masks stay as
 * they are. In an epoch, the new part is estimated. If an agent shortened its own history, the masks are estimated from the start.
 */
function withoutMasks(explanation: Explanation, { sent, previous, estimate, savedNow }: Bill): Tokens {
  const { without, act } = explanation;
  const ratio = messageRatio(sent.tokens, { previous, estimate });
  const hasGrown = previous && estimate.before >= previous.estimate;
  const isKnown = hasGrown && isSameEpoch(previous, explanation);
  const saved = Math.round((estimate.before - estimate.after) * ratio);
  const grown = hasGrown && previous.without + Math.round((estimate.before - previous.estimate) * ratio);
  const shaped = Math.round(savedNow * ratio);
  const all = isKnown ? previous.without + sent.tokens - previous.sent + shaped : grown || sent.tokens + saved;
  const tokens = Math.max(sent.tokens, all);
  if (explanation.newMasks === 0)
    return toTokens(tokens, sent.cached > 0 ? Math.max(0, tokens - sent.written - shaped) : 0);
  // An epoch on a cold cache is free: everything would have been written again anyway.
  const wasCached = act !== 'cold-cache' && (previous?.reads ?? without.cached > 0);
  return toTokens(tokens, wasCached ? Math.min(tokens, previous?.without ?? without.cached) : 0);
}

/**
 * The provider's tokens for one of ours, in messages. System prompt and tools have another ratio. So the ratio of whole requests is only
 * the first guess, until enough messages were added between requests with the same masks.
 */
function messageRatio(sent: number, { previous, estimate }: Pick<Bill, 'previous' | 'estimate'>): number {
  const { counted, estimated } = previous?.growth ?? NO_GROWTH;
  const guess = estimate.after > 0 ? sent / estimate.after : 1;
  return (counted + GUESS_TOKENS * guess) / (estimated + GUESS_TOKENS);
}

/** The guess weighs as much as this many tokens of messages. */
const GUESS_TOKENS = 200;

/** Parts of `written`. */
interface Parts {
  readonly uncached?: number | undefined;
  readonly hourWritten?: number | undefined;
}

function toTokens(tokens: number, cached: number, { uncached, hourWritten }: Parts = {}): Tokens {
  const written = tokens - cached;
  if (hourWritten !== undefined) return { tokens, cached, written, uncached: uncached ?? 0, hourWritten };
  return uncached === undefined ? { tokens, cached, written } : { tokens, cached, written, uncached };
}

const costOf = (tokens: Tokens, prices: Prices): Receipt['cost']['sent'] => round(inputCost(tokens, prices));

const round = (value: number): number => Math.round(value * 1000) / 1000;
