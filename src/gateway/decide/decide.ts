import type { ReplaceEdit } from '../../message.ts';
import { originalHandle } from '../../plan/arrival/last-line.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { isArrival } from '../../plan/ledger/rows.ts';
import { conversationId } from '../../store/access.ts';
import { quote } from '../../text.ts';
import { splice } from '../bytes/splice.ts';
import { type Assignment, isArm } from '../conversation/arm.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import type { ArmEvent, GatewayEvent, SentWholeEvent } from '../conversation/events.ts';
import { sessionNames } from '../conversation/prefix-hash.ts';
import { defaultLimits, type GatewayLimits } from '../gateway-limits.ts';
import type { Mutable } from '../mutable.ts';
import type { Mask, Shaped } from '../receipts/receipt.ts';
import { wires } from '../wire/index.ts';
import { sessionIdOf } from '../wire/session-id.ts';
import type { Answer, Basis, Decision, Explanation, Facts, GatewayRequest, Outgoing } from './decision.ts';
import { toMasks } from './edits.ts';
import { estimateRequest } from './estimate.ts';
import { findConversation } from './find-conversation.ts';
import {
  type HoldReason,
  passThrough,
  REASONS,
  type Reason,
  reasonToPassThrough,
  type StoreTrouble,
  UNCHANGED,
} from './pass-through.ts';
import { type PlannedRequest, planRequest } from './plan.ts';
import { type ReadRequest, readRequest } from './read-request.ts';
import { optInOfOriginal, sentEdit, storedKey, type WrittenRequest, writeRequest } from './write-request.ts';

/**
 * A request that was read but not decided. Load the recorded events of its conversation into the memory before `decide`;
 * if several gateways share a store, on every request.
 */
export interface Opened {
  /** Empty if the request passes through. */
  readonly conversation: string;
  /** Empty if unknown. */
  readonly session: string;
  readonly read: ReadRequest | Reason;
}

/** Reads a request. */
export function openRequest(
  request: GatewayRequest,
  memory: ConversationMemory,
  limits: GatewayLimits = defaultLimits,
): Opened {
  const read = readRequest(request, memory, limits);
  const reason = typeof read === 'string' ? read : reasonToPassThrough(read);
  if (typeof read === 'string') return { read, conversation: '', session: headerSession(request) };
  const { conversation, session } = read;
  return reason ? { read: reason, conversation: '', session } : { read, conversation, session };
}

/** The session of a request that cannot be read: from its headers. Empty if they have none. */
export const headerSession = ({ api, headers }: Pick<GatewayRequest, 'api' | 'headers'>): string =>
  sessionNames(
    sessionIdOf(wires[api], headers, () => undefined),
    '',
  ).session;

/**
 * Decides what is sent to the upstream, without socket, clock or disk. The memory keeps the plan for the next request.
 * If anything fails, the original is sent.
 */
export function decide({ read, session }: Opened, memory: ConversationMemory, facts: Facts): Decision {
  const unplanned = (reason: Reason): Decision => {
    const assignment = facts.arms?.recorded ?? facts.arms?.started;
    return { ...passThrough(reason, facts.limits), session, ...(assignment ? toArm(assignment) : {}) };
  };
  try {
    return typeof read === 'string' ? unplanned(read) : decideRead(read, memory, facts);
  } catch {
    return unplanned('failed');
  }
}

export const toArm = ({ arm, share, root, isUnknown }: Assignment): DecidedArm => ({
  arm,
  ...(share === undefined ? {} : { holdoutShare: share }),
  ...(root === undefined ? {} : { root }),
  ...(isUnknown ? { isArmUnknown: true } : {}),
});

type DecidedArm = Pick<Decision, 'arm' | 'holdoutShare' | 'root' | 'isArmUnknown'>;

function decideRead(request: ReadRequest, memory: ConversationMemory, facts: Facts): Decision {
  const known = findConversation(request, memory, facts);
  // A custom policy may throw in the middle, so the cached history is kept again only after that.
  if (known.isExtendable && request.cached) memory.forget(request.cached);
  const planned = planRequest(known);
  const decision = toDecision(planned, facts.storeTrouble);
  if (!request.isCountTokens) memory.keep(request.conversation, planned.history);
  return decision;
}

/** The same request with only those masks whose texts are known to be stored. */
export function withoutStore(decision: Decision, trouble: StoreTrouble): Decision {
  return decision.basis ? toDecision(decision.basis.planned, trouble) : decision;
}

/** Only events of edits that are sent count as decided. A count changes nothing: another request may be storing the same. */
function toDecision(planned: PlannedRequest, trouble: StoreTrouble | undefined): Decision {
  const { request, conversation, facts, unrecorded, history, assignment } = planned;
  const { isCountTokens } = request;
  const written = writeRequest(planned, trouble ?? fullness(planned));
  const basis = { planned, written, estimate: estimateRequest(planned, written), owner: facts.owner };
  const hidden = hiddenBy(planned, written);
  const whole =
    isCountTokens || isUnsent(planned) || conversation.isFull ? [] : wholeEvents(planned, written.sentWhole);
  const kept = isCountTokens ? [] : unrecorded.filter(goesOutWith(written));
  if (!isCountTokens) {
    history.carried = isUnsent(planned) ? [] : written.edits;
    conversation.decide([...planned.events.filter((event) => kept.includes(event)), ...whole]);
    const others = unrecorded.filter((event) => !kept.includes(event));
    conversation.takeBack(others);
    if (written.heldBack || written.edits.length === 0)
      history.isExtendable = others.every(({ kind }) => kind === 'settings');
  }
  // The store cannot record them now.
  const [events, laterEvents] = trouble ? [[], [...kept, ...whole]] : [[...kept, ...whole], []];
  const { session } = request;
  const own = conversationId(session, facts.owner);
  const isFresh = (one: Hidden): boolean => !conversation.isStoredFor(own, storedKey(one));
  const explanation = explain(basis);
  const decision: Mutable<Decision> = {
    body: written.body,
    headers: written.headers,
    conversation: request.conversation,
    session,
    part: request.part,
    arm: assignment.arm,
    task: request.title,
    hidden,
    fresh: isCountTokens ? [] : distinct(hidden.filter(isFresh)),
    events,
    laterEvents,
    explanation,
    basis,
  };
  if (assignment.share !== undefined) decision.holdoutShare = assignment.share;
  if (assignment.root !== undefined) decision.root = assignment.root;
  if (assignment.isUnknown) decision.isArmUnknown = true;
  if (!isUnsent(planned)) return decision;
  const nothing = { hidden: [], fresh: [], events: [], laterEvents: [] };
  return { ...decision, ...UNCHANGED, ...nothing, explanation: { ...explanation, isUnsent: true } };
}

/** Selects the events that must be recorded with a request. */
function goesOutWith({ heldBack, edits }: WrittenRequest): (event: GatewayEvent) => boolean {
  const isShaped = edits.some(isShape);
  return ({ kind }) => {
    if (kind === 'sent-whole') return true;
    if (edits.length === 0) return false;
    return !heldBack || (kind === 'settings' && isShaped && !isTrouble(heldBack));
  };
}

const isTrouble = (heldBack: WrittenRequest['heldBack']): boolean =>
  heldBack === 'too-many-events' || heldBack?.startsWith('store-') === true;

function wholeEvents({ place, conversation }: PlannedRequest, segments: readonly number[]): SentWholeEvent[] {
  return segments.length === 0 ? [] : [{ kind: 'sent-whole', ...place, order: conversation.nextOrder, segments }];
}

/** Its masks are decided as for any other request, so that arms can be compared, and the original is sent. */
const isUnsent = ({ assignment }: PlannedRequest): boolean => assignment.arm !== 'treated';

/** Masks that need a new event wait if the conversation can record no more. */
function fullness({ conversation, events }: PlannedRequest): HoldReason | undefined {
  return events.length > 0 && conversation.isFull ? 'too-many-events' : undefined;
}

/** The texts that the edits hide, and the originals of results that were cut or made smaller before they were masked. */
function hiddenBy({ hidden }: PlannedRequest, { edits }: WrittenRequest): readonly Hidden[] {
  if (edits.length === 0) return [];
  const handles = new Set(edits.map(({ handle }) => handle));
  for (const { handle, text, why } of hidden)
    if (why === 'mask' && handles.has(handle)) handles.add(originalHandle(text));
  return hidden.filter(({ handle, why }) => why === 'clip' || handles.has(handle));
}

/** A text is stored once for each turn. */
const distinct = (texts: readonly Hidden[]): readonly Hidden[] => [
  ...new Map(texts.map((one) => [storedKey(one), one])).values(),
];

function explain({ planned, written, estimate }: Basis): Explanation {
  const { request, report } = planned;
  const { act, because, reason, rent, price } = actOf(planned, written);
  const shaped = count(written.edits, isShape);
  // Without a spread: it takes longer than all the rest.
  const explanation: Mutable<Explanation> = {
    act,
    because,
    prices: estimate.prices,
    without: estimate.without,
    sent: estimate.sent,
    epoch: report.epoch,
    masked: written.edits.length - shaped,
    newMasks: count(written.changed, isMask),
    shaped,
  };
  if (reason !== undefined) explanation.reason = reason;
  if (rent !== undefined) explanation.rent = rent;
  if (price !== undefined) explanation.price = price;
  if (request.model !== undefined) explanation.model = request.model;
  return explanation;
}

const count = (edits: readonly ReplaceEdit[], isCounted: (edit: ReplaceEdit) => boolean): number =>
  edits.reduce((sum, edit) => sum + Number(isCounted(edit)), 0);

type Acted = Pick<Explanation, 'act' | 'because' | 'reason' | 'rent' | 'price'>;

function actOf({ broken, settings, events, report }: PlannedRequest, { heldBack }: WrittenRequest): Acted {
  if (broken !== undefined) return { act: 'off', because: broken, reason: 'law' };
  if (settings.isOff) return { act: 'off', because: REASONS['hands-off'], reason: 'hands-off' };
  if (heldBack) return { act: 'wait', because: REASONS[heldBack], reason: heldBack };
  if (events.some(({ kind }) => kind === 'over-limit')) return OVER_LIMIT;
  const { act, because, rent, price } = report.decision;
  const acted: Mutable<Acted> = { act, because };
  if (typeof rent === 'number') acted.rent = rent;
  if (typeof price === 'number') acted.price = price;
  return acted;
}

const OVER_LIMIT = { act: 'over-limit', because: 'the request would have exceeded the limit' } as const;

/** The masks that this request carries and the last one did not. Computing sizes takes time: call it after the request is sent. */
export const newMasks = ({ basis }: Decision): readonly Mask[] =>
  basis ? toMasks(basis.planned, basis.written.changed.filter(isMask)) : [];

/** The results that this request made smaller when they were first sent. Call it after the request is sent. */
export function newShaped({ basis }: Decision): readonly Shaped[] {
  if (!basis) return [];
  const shaped = basis.written.changed.filter(isShape);
  return toMasks(basis.planned, shaped).map((mask, i) => ({ ...mask, how: (shaped[i] as ReplaceEdit).why }));
}

const isShape = ({ why }: ReplaceEdit): boolean => isArrival(why);
const isMask = (edit: ReplaceEdit): boolean => !isShape(edit);

/** The request to send after the edited one was refused. */
export function originalOf({ basis }: Decision): Outgoing {
  const optIn = basis && optInOfOriginal(basis.planned);
  if (!basis || !optIn?.edits.length) return UNCHANGED;
  return { body: splice(basis.planned.request.body, optIn.edits), headers: optIn.headers };
}

/** The record of a request's arm. Undefined if it was not planned, for a count, and if the store may have another. */
export function armRecordOf(decision: Decision): ArmRecord | undefined {
  const { basis, arm, holdoutShare: share, root, session } = decision;
  if (!basis || basis.planned.request.isCountTokens || decision.isArmUnknown) return undefined;
  const { request, place, found } = basis.planned;
  const { prefix, order } = place;
  const assignment = { arm, ...(share === undefined ? {} : { share }), ...(root === undefined ? {} : { root }) };
  const event = { kind: 'arm', prefix, order, ...assignment } as const;
  // Without a reply, any other session may begin with the same messages.
  const isNewOnPrefix = request.listed.some(({ read }) => read.isReply) && !found.some(isArm);
  return { assignment, event, onPrefix: isNewOnPrefix ? { ...event, root: root ?? session } : undefined };
}

interface ArmRecord {
  readonly assignment: Assignment;
  /** For the session. */
  readonly event: ArmEvent;
  /** For its messages. Undefined if an earlier message of the conversation has it. */
  readonly onPrefix: ArmEvent | undefined;
}

/** Call it when the store has the fresh texts and the events of a decision. */
export function afterStored({ basis, events, fresh, session }: Decision): void {
  if (!basis) return;
  const { conversation } = basis.planned;
  conversation.learn(events);
  conversation.setStored(conversationId(session, basis.owner), fresh.map(storedKey));
}

/** Call it when the upstream accepted a request and its answer has ended. */
export function afterAnswer(memory: ConversationMemory, { basis }: Decision, answer: Answer): void {
  if (!basis || basis.planned.request.isCountTokens) return;
  const { planned, written, estimate } = basis;
  const { now, isOriginal, promptTokens } = answer;
  const { request, conversation, history } = planned;
  const { before } = estimate;
  const after = isOriginal ? before : estimate.after;
  const edits = isOriginal ? [] : written.edits;
  conversation.cacheUse.use(request.listed, request.model, now);
  const messages = request.listed.length;
  // Of two requests in flight, the answer to the longer one counts.
  if (messages >= history.answered.last.messages)
    history.answered.last = {
      edits: new Map(edits.map((edit) => [edit.segment, edit])),
      messages,
      tokens: { before, after },
    };
  if (promptTokens !== undefined && !request.wire.cutsPrompts)
    memory.calibrate(request.model, { counted: promptTokens, estimated: isUnsent(planned) ? before : after });
}

/** Call it when the upstream refused the edited request and accepted the original. Returns the events to record. */
export function afterRefusal({ basis }: Decision, refusal: string): readonly GatewayEvent[] {
  if (!basis || basis.planned.request.isCountTokens) return [];
  const { request, conversation, history } = basis.planned;
  const place = { prefix: request.listed.at(-1)?.prefix ?? '', order: conversation.nextOrder };
  const sent = history.answered.last.edits;
  const isBound = request.wire.boundThinking?.isRefusal(refusal) && !basis.written.optIn;
  const shaped = basis.written.edits.filter((edit) => isShape(edit) && !sentEdit(basis.planned, edit.segment));
  const events: readonly GatewayEvent[] = isBound
    ? [
        { kind: 'bound-thinking', ...place },
        ...wholeEvents(
          basis.planned,
          shaped.map(({ segment }) => segment),
        ),
      ]
    : [{ kind: 'hands-off', ...place, because: quote(refusal, 120), wasEdited: sent.size > 0 }];
  conversation.learn(events);
  history.carried = [];
  return events;
}
