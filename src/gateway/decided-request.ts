import type { ReplaceEdit, Segment } from '../message.ts';
import type { Hidden } from '../plan/ledger.ts';
import { type Prices, priceLists } from '../plan/prices.ts';
import { quote } from '../text.ts';
import { countTokens } from '../tokens/count-tokens.ts';
import type { Branch } from './branch.ts';
import { type PlacedMarker, placeMarker } from './cache-marker.ts';
import { byteEdits } from './compose-body.ts';
import type { Conversation } from './conversation-memory.ts';
import type { Answer, Decided, Facts, Outgoing, Reason, ReceiptDecision, Refusal } from './decide.ts';
import type { GatewayEvent } from './events.ts';
import { REASONS } from './left-alone.ts';
import type { PlannedRequest } from './plan-request.ts';
import type { ReadRequest } from './read-request.ts';
import type { Mask, Tokens } from './receipt.ts';
import { modelOf } from './request-prices.ts';
import type { Found, Settings } from './settings.ts';
import { splice } from './splice.ts';
import { bindsThinking, type OptIn, optIn, saysBound } from './thinking.ts';

/** All that is known of a request once it was planned. */
export interface Situated {
  readonly request: ReadRequest;
  readonly facts: Facts;
  readonly conversation: Conversation;
  readonly found: readonly Found[];
  readonly settings: Settings;
  /** What the provider bills for a request that is large enough. */
  readonly prices: Prices;
  readonly planned: PlannedRequest;
  readonly isCountTokens: boolean;
}

const UNCHANGED: Outgoing = { body: undefined, headers: {} };

/** A request with what was decided about it. */
export class DecidedRequest implements Decided {
  readonly conversation: string;
  readonly title: string;
  readonly body: Uint8Array | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly hidden: readonly Hidden[];
  readonly fresh: readonly Hidden[];
  readonly events: readonly GatewayEvent[];
  readonly decision: ReceiptDecision;
  readonly #situated: Situated;
  /** What this body carries in the place of results. */
  readonly #edits: readonly ReplaceEdit[];
  readonly #optIn: OptIn | undefined;
  readonly #isBound: boolean;
  #isRefused = false;

  constructor(situated: Situated, putOff?: 'store-slow' | 'store-failed') {
    const { request, planned } = situated;
    this.#situated = situated;
    this.conversation = request.conversation;
    this.title = request.listed.find(({ read }) => read.title !== '')?.read.title ?? '';
    const wanted = planned.broken === undefined ? (putOff ? frozen(situated) : planned.edits) : [];
    const mustOptIn = this.#mustOptIn(wanted[0]?.segment);
    this.#optIn = mustOptIn ? optIn(request) : undefined;
    // Where it cannot, only what was masked before stays so: the provider would refuse the request.
    this.#isBound = mustOptIn && !this.#optIn;
    this.#edits = this.#isBound ? wanted.filter(({ segment }) => planned.branch.sent.has(segment)) : wanted;
    const marker = this.#marker();
    const changes = byteEdits(request, planned.planner, this.#edits);
    changes.push(...(marker?.edits ?? []), ...(this.#optIn?.edits ?? []));
    this.body = changes.length > 0 ? splice(request.body, changes) : undefined;
    this.headers = this.#optIn?.headers ?? {};
    this.hidden = hiddenBy(situated, this.#edits);
    this.fresh = situated.isCountTokens ? [] : this.hidden.filter((hidden) => !isStored(situated, hidden));
    this.events = situated.isCountTokens || putOff || this.#isBound ? [] : situated.conversation.pending;
    this.decision = this.#decision(marker, putOff);
  }

  /** Thinking in an answer to an edited request is bound to what was masked: the original must opt in too. */
  get original(): Outgoing {
    const { request, planned } = this.#situated;
    const wasEdited = planned.branch.sent.size > 0 || this.#wasEditedOnce();
    const own = wasEdited && this.#bindsThinking() ? (this.#optIn ?? optIn(request)) : undefined;
    return own?.edits.length ? { body: splice(request.body, own.edits), headers: own.headers } : UNCHANGED;
  }

  stored(): void {
    const { conversation } = this.#situated;
    conversation.learn(this.events);
    for (const hidden of this.fresh) conversation.stored.add(storedKey(hidden));
  }

  putOff(because: 'store-slow' | 'store-failed'): Decided {
    return new DecidedRequest(this.#situated, because);
  }

  answered({ now, promptTokens }: Answer): void {
    const { request, facts, conversation, planned, isCountTokens } = this.#situated;
    if (isCountTokens) return;
    conversation.lastUsedAt = Math.max(now, conversation.lastUsedAt ?? now);
    const { branch, planner } = planned;
    const edits = this.#isRefused ? [] : this.#edits;
    branch.sent = new Map(edits.map(({ segment, text }) => [segment, text]));
    branch.sentMessages = request.listed.length;
    const { before } = planned.report.tokens;
    branch.sentTokens = { before, after: this.#isRefused ? before : planner.tokens };
    const estimated = this.#isRefused ? this.#sizes().before : this.#sizes().after;
    if (promptTokens !== undefined) facts.memory.calibrate(modelOf(request), { counted: promptTokens, estimated });
  }

  refused({ text, originalTaken }: Refusal): readonly GatewayEvent[] {
    this.#isRefused = true;
    const { request, conversation, isCountTokens, planned } = this.#situated;
    if (!originalTaken || isCountTokens) return [];
    const prefix = request.listed.at(-1)?.prefix ?? '';
    const event: GatewayEvent =
      saysBound(text) && !this.#optIn
        ? { kind: 'bound-thinking', prefix }
        : { kind: 'hands-off', prefix, because: quote(text, 120), wasEdited: planned.branch.sent.size > 0 };
    conversation.learn([event]);
    return [event];
  }

  /** Thinking stands behind what is masked now, or was when it was thought. */
  #mustOptIn(firstEdited = Number.POSITIVE_INFINITY): boolean {
    if (!this.#bindsThinking()) return false;
    const { branch, planner } = this.#situated.planned;
    const [firstSent = Number.POSITIVE_INFINITY] = branch.sent.keys();
    return Math.min(firstEdited, firstSent) < planner.ledger.lastSigned || this.#wasEditedOnce();
  }

  #bindsThinking(): boolean {
    const { request, found, planned } = this.#situated;
    if (request.api !== 'anthropic' || planned.planner.ledger.lastSigned < 0) return false;
    return bindsThinking(modelOf(request)) || found.some(({ event }) => event.kind === 'bound-thinking');
  }

  /** Before it was left alone. */
  #wasEditedOnce(): boolean {
    return this.#situated.found.some(({ event }) => event.kind === 'hands-off' && event.wasEdited);
  }

  /** Just before the first block that the provider has not seen like this. */
  #marker(): PlacedMarker | undefined {
    const { request, planned } = this.#situated;
    if (request.api !== 'anthropic') return undefined;
    const [changed] = changedSince(planned.branch, this.#edits);
    const first = changed && (planned.planner.ledger.segments[changed.segment] as Segment);
    if (!first || first.message >= planned.branch.sentMessages) return undefined;
    return placeMarker(request, { message: first.message, block: first.path[1] as number });
  }

  #decision(marker: PlacedMarker | undefined, putOff: Reason | undefined): ReceiptDecision {
    const { request, planned, isCountTokens } = this.#situated;
    const model = modelOf(request);
    const { without, sent, prices } = this.#estimates();
    const changed = changedSince(planned.branch, this.#edits);
    const situated = this.#situated;
    let masks: readonly Mask[] | undefined;
    return {
      ...this.#act(putOff),
      ...(model === undefined ? {} : { model }),
      prices,
      epoch: planned.report.epoch,
      masked: this.#edits.length,
      // Most receipts are written after the answer: until then nobody needs their sizes.
      get newMasks() {
        masks ??= changed.map((edit) => toMask(situated, edit));
        return masks;
      },
      ...{ without, sent, isCountTokens },
      streamed: request.fields.get('stream')?.value === true || request.path.endsWith(':streamGenerateContent'),
      ...(marker ? { cacheMarker: marker.message } : {}),
      ...(this.#optIn ? { dropsThinking: true } : {}),
    };
  }

  #act(putOff: Reason | undefined): Pick<ReceiptDecision, 'act' | 'because' | 'reason' | 'rent' | 'price'> {
    const { planned, settings } = this.#situated;
    if (planned.broken !== undefined) return { act: 'off', because: planned.broken, reason: 'law' };
    if (settings.isOff) return { act: 'off', because: REASONS['hands-off'], reason: 'hands-off' };
    const reason = this.#isBound ? 'bound-thinking' : putOff;
    if (reason) return { act: 'wait', because: REASONS[reason], reason };
    if (planned.events.some(({ kind }) => kind === 'over-limit')) return OVER_LIMIT;
    const { act, because, rent, price } = planned.report.decision;
    const numbers = { ...(typeof rent === 'number' ? { rent } : {}), ...(typeof price === 'number' ? { price } : {}) };
    return { act, because, ...numbers };
  }

  /** In tokens of ours. */
  #sizes(): { before: number; after: number } {
    const { request, settings, planned } = this.#situated;
    const { tokens } = planned.report;
    const beside = request.beside.tokens - settings.besideTokens;
    const visible = this.#edits === planned.edits ? [] : planned.edits.filter((edit) => !this.#edits.includes(edit));
    const shown = visible.reduce((sum, edit) => sum + toMask(this.#situated, edit).tokens, 0);
    return { before: tokens.before + beside, after: Math.min(tokens.before, tokens.after + shown) + beside };
  }

  #estimates(): Pick<ReceiptDecision, 'without' | 'sent' | 'prices'> {
    const { request, facts, planned } = this.#situated;
    const ratio = facts.memory.ratio(modelOf(request));
    const { before, after } = this.#sizes();
    const isSmall = after * ratio < this.#situated.prices.leastTokens;
    const prices = isSmall && !facts.prices ? priceLists.none : this.#situated.prices;
    const isCached = this.#isWarm() && prices.read < prices.write;
    const { sentTokens, sentMessages } = planned.branch;
    const first = changedSince(planned.branch, this.#edits)[0];
    const message = first && (planned.planner.ledger.segments[first.segment] as Segment).message;
    const isBroken = message !== undefined && message < sentMessages;
    const kept = isBroken ? after - planned.planner.ledger.tokensFrom(message) : sentTokens.after;
    const toTokens = (tokens: number, cached: number): Tokens => {
      const [all, read] = [Math.round(tokens * ratio), Math.round((isCached ? Math.min(tokens, cached) : 0) * ratio)];
      return { tokens: all, cached: read, written: all - read };
    };
    return { prices, without: toTokens(before, sentTokens.before), sent: toTokens(after, Math.max(0, kept)) };
  }

  /** Whether the provider's cache still holds the request before this one, as far as we know. */
  #isWarm(): boolean {
    const { conversation, facts, prices } = this.#situated;
    return conversation.lastUsedAt !== undefined && facts.now - conversation.lastUsedAt <= prices.lifeMs;
  }
}

const OVER_LIMIT = { act: 'over-limit', because: 'the request would have exceeded the limit' } as const;

/** The edits that the last request did not carry yet, in the order of the messages. */
function changedSince({ sent }: Branch, edits: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
  return edits.filter(({ segment, text }) => sent.get(segment) !== text);
}

/** While the store does not answer: what it is known to have, and was sent before or would be by any other gateway. */
function frozen(situated: Situated): readonly ReplaceEdit[] {
  const { planned, conversation, settings } = situated;
  const stored = planned.planner.hidden.filter((hidden) => isStored(situated, hidden));
  const handles = new Set<string | undefined>(stored.map(({ handle }) => handle));
  // Another price changes nothing before the next turn; all else that decided it must be recorded.
  const isReplayed = conversation.pending.every((event) => settings.wasMasked && event === settings.event);
  const { sent } = planned.branch;
  return planned.edits.filter(({ segment, handle }) => handles.has(handle) && (isReplayed || sent.has(segment)));
}

const storedKey = ({ handle, turn }: Hidden): string => `${handle} ${turn}`;

const isStored = ({ conversation }: Situated, hidden: Hidden): boolean => conversation.stored.has(storedKey(hidden));

/** What the edits hide, and what stands behind a result that was cut before it was masked. */
function hiddenBy({ planned }: Situated, edits: readonly ReplaceEdit[]): readonly Hidden[] {
  if (edits.length === 0) return [];
  const handles = new Set(edits.map(({ handle }) => handle));
  return planned.planner.hidden.filter(({ handle, why }) => why === 'clip' || handles.has(handle));
}

function toMask({ planned }: Situated, { segment: index, text, handle = '' }: ReplaceEdit): Mask {
  const { hidden, ledger } = planned.planner;
  const { turn, tool } = ledger.segments[index] as Segment;
  const original = hidden.findLast((one) => one.handle === handle)?.text ?? '';
  const tokens = Math.max(0, countTokens(original) - countTokens(text));
  return { handle, turn, ...(tool === undefined ? {} : { tool }), placeholder: text, chars: original.length, tokens };
}
