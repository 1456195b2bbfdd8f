import type { Hidden } from '../../plan/ledger/hidden.ts';
import { quote } from '../../text.ts';
import { splice } from '../bytes/splice.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import type { Mask } from '../receipts/receipt.ts';
import { isStreamed } from '../wire/wire.ts';
import { type ComposedRequest, composeRequest, storedKey } from './compose-request.ts';
import type { Answer, Decided, Outgoing, ReceiptDecision, Refusal, StoreTrouble } from './decide.ts';
import { type Estimate, estimateRequest } from './estimate-request.ts';
import { REASONS } from './left-alone.ts';
import { toMask } from './masks.ts';
import { optInOfOriginal } from './must-opt-in.ts';
import type { SituatedRequest } from './situated-request.ts';

/**
 * Decides what of a plan goes out. Only that is an event, and an epoch that does not go out is over. A count changes
 * nothing: what it found may be on its way to the store for another request.
 */
export function decideRequest(situated: SituatedRequest, trouble: StoreTrouble | undefined): Decided {
  const { conversation, planned, unrecorded, isCountTokens } = situated;
  const decided = new DecidedRequest(situated, trouble);
  if (isCountTokens) return decided;
  if (decided.events.length > 0) conversation.decide(planned.events);
  else {
    conversation.takeBack(unrecorded);
    planned.branch.canGoOn = unrecorded.every(({ kind }) => kind === 'settings');
  }
  return decided;
}

/** A request with what was decided about it. */
class DecidedRequest implements Decided {
  readonly conversation: string;
  readonly title: string;
  readonly body: Uint8Array | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly hidden: readonly Hidden[];
  readonly fresh: readonly Hidden[];
  readonly events: readonly GatewayEvent[];
  readonly decision: ReceiptDecision;
  readonly #situated: SituatedRequest;
  readonly #composed: ComposedRequest;
  readonly #estimate: Estimate;
  #isRefused = false;

  constructor(situated: SituatedRequest, trouble: StoreTrouble | undefined) {
    const { request, facts, conversation, isCountTokens } = situated;
    const composed = composeRequest(situated, trouble);
    const { edits, heldBack } = composed;
    this.#situated = situated;
    this.#composed = composed;
    this.#estimate = estimateRequest(situated, composed);
    this.conversation = request.conversation;
    this.title = request.listed.find(({ read }) => read.title !== '')?.read.title ?? '';
    this.body = composed.body;
    this.headers = composed.headers;
    this.hidden = hiddenBy(situated, composed);
    this.fresh = isCountTokens
      ? []
      : this.hidden.filter((hidden) => !conversation.isStoredFor(facts.owner, storedKey(hidden)));
    this.events = isCountTokens || heldBack || edits.length === 0 ? [] : situated.unrecorded;
    this.decision = toDecision(situated, composed, this.#estimate);
  }

  get original(): Outgoing {
    const own = optInOfOriginal(this.#situated);
    return own?.edits.length
      ? { body: splice(this.#situated.request.body, own.edits), headers: own.headers }
      : UNCHANGED;
  }

  stored(): void {
    const { conversation, facts } = this.#situated;
    conversation.learn(this.events);
    conversation.setStored(facts.owner, this.fresh.map(storedKey));
  }

  putOff(because: StoreTrouble): Decided {
    return decideRequest(this.#situated, because);
  }

  answered({ now, promptTokens }: Answer): void {
    const { request, facts, conversation, planned, isCountTokens } = this.#situated;
    if (isCountTokens) return;
    conversation.use(request.model, now);
    const { before } = this.#estimate;
    const after = this.#isRefused ? before : this.#estimate.after;
    const edits = this.#isRefused ? [] : this.#composed.edits;
    planned.branch.sent = new Map(edits.map(({ segment, text }) => [segment, text]));
    planned.branch.sentMessages = request.listed.length;
    planned.branch.sentTokens = { before, after };
    if (promptTokens !== undefined) facts.memory.calibrate(request.model, { counted: promptTokens, estimated: after });
  }

  refused({ text, originalTaken }: Refusal): readonly GatewayEvent[] {
    this.#isRefused = true;
    const { request, conversation, isCountTokens, planned } = this.#situated;
    if (!originalTaken || isCountTokens) return [];
    const stamp = { prefix: request.listed.at(-1)?.prefix ?? '', order: conversation.nextOrder };
    const event: GatewayEvent =
      request.wire.boundThinking?.isRefusal(text) && !this.#composed.optIn
        ? { kind: 'bound-thinking', ...stamp }
        : { kind: 'hands-off', ...stamp, because: quote(text, 120), wasEdited: planned.branch.sent.size > 0 };
    conversation.learn([event]);
    return [event];
  }
}

const UNCHANGED: Outgoing = { body: undefined, headers: {} };

/** What the edits hide, and what stands behind a result that was cut before it was masked. */
function hiddenBy({ planned }: SituatedRequest, { edits }: ComposedRequest): readonly Hidden[] {
  if (edits.length === 0) return [];
  const handles = new Set(edits.map(({ handle }) => handle));
  return planned.hidden.filter(({ handle, why }) => why === 'clip' || handles.has(handle));
}

function toDecision(situated: SituatedRequest, composed: ComposedRequest, estimate: Estimate): ReceiptDecision {
  const { request, planned, isCountTokens } = situated;
  const { without, sent, prices } = estimate;
  let masks: readonly Mask[] | undefined;
  return {
    ...toAct(situated, composed),
    ...(request.model === undefined ? {} : { model: request.model }),
    prices,
    epoch: planned.report.epoch,
    masked: composed.edits.length,
    // Most receipts are written after the answer: until then nobody needs their sizes.
    get newMasks() {
      masks ??= composed.changed.map((edit) => toMask(planned, edit));
      return masks;
    },
    ...{ without, sent, isCountTokens },
    streamed: isStreamed(request.wire, { stream: request.fields.get('stream')?.value, path: request.path }),
    ...(composed.marker ? { cacheMarker: composed.marker.message } : {}),
    ...(composed.optIn ? { dropsThinking: true } : {}),
  };
}

function toAct(
  { planned, settings }: SituatedRequest,
  { heldBack }: ComposedRequest,
): Pick<ReceiptDecision, 'act' | 'because' | 'reason' | 'rent' | 'price'> {
  if (planned.broken !== undefined) return { act: 'off', because: planned.broken, reason: 'law' };
  if (settings.isOff) return { act: 'off', because: REASONS['hands-off'], reason: 'hands-off' };
  if (heldBack) return { act: 'wait', because: REASONS[heldBack], reason: heldBack };
  if (planned.events.some(({ kind }) => kind === 'over-limit')) return OVER_LIMIT;
  const { act, because, rent, price } = planned.report.decision;
  const numbers = { ...(typeof rent === 'number' ? { rent } : {}), ...(typeof price === 'number' ? { price } : {}) };
  return { act, because, ...numbers };
}

const OVER_LIMIT = { act: 'over-limit', because: 'the request would have exceeded the limit' } as const;
