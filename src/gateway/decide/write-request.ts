import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { isArrival, type Why } from '../../plan/ledger/rows.ts';
import { splice } from '../bytes/splice.ts';
import type { GatewayEvent } from '../conversation/events.ts';
import type { OptIn } from '../wire/bound-thinking.ts';
import { type PlacedMarker, placeMarker } from '../wire/cache-markers.ts';
import { newestTurn } from './arrival-periods.ts';
import type { Outgoing } from './decision.ts';
import { byteEdits, changedSince, checkEdits } from './edits.ts';
import { type HoldReason, reasonToAddNone } from './pass-through.ts';
import type { PlannedRequest } from './plan.ts';

/** A request as it is sent. */
export interface WrittenRequest extends Outgoing {
  /** The edits that it carries. */
  readonly edits: readonly ReplaceEdit[];
  /** The edits that the last request did not carry yet. */
  readonly changed: readonly ReplaceEdit[];
  readonly optIn: OptIn | undefined;
  readonly marker: PlacedMarker | undefined;
  /** The reason why it carries fewer edits than planned; undefined if it carries all. */
  readonly heldBack: 'law' | 'bound-thinking' | HoldReason | undefined;
  /** The segments of new results that are sent whole, though they could have been made smaller, or would be in a replay. */
  readonly sentWhole: readonly number[];
}

/** Writes a plan into the bytes of its request, or the part of it that may be sent. */
export function writeRequest(planned: PlannedRequest, hold: HoldReason | undefined): WrittenRequest {
  const { request, broken, history } = planned;
  const sent = history.answered.last.edits;
  const addsNone = reasonToAddNone(request);
  const allowed = hold ? heldEdits(planned, hold) : planned.edits;
  const kept = addsNone ? withoutNewMasks(planned, allowed) : allowed;
  const wanted = broken === undefined && isLawful(planned, kept) ? kept : [];
  const mustAsk = mustOptIn(planned, wanted);
  const optIn = mustAsk ? request.wire.boundThinking?.optIn(request) : undefined;
  // The provider would refuse new masks here. The masks that it has seen before stay.
  const edits = mustAsk && !optIn ? withoutNewMasks(planned, wanted) : wanted;
  const changed = changedSince(sent, edits);
  const marker = markerBefore(planned, changed[0]);
  const changes = [...edits.flatMap((edit) => byteEdits(request, history, edit)), ...(marker?.edits ?? [])];
  changes.push(...(optIn?.edits ?? []));
  const isBound = edits.some((edit) => !wanted.includes(edit)) || edits.length < wanted.length;
  const heldBack = broken !== undefined ? 'law' : isBound ? 'bound-thinking' : (hold ?? addsNone);
  return {
    body: changes.length > 0 ? splice(request.body, changes) : undefined,
    headers: optIn?.headers ?? {},
    edits,
    changed,
    optIn,
    marker,
    heldBack,
    sentWhole: wholeResults(planned, edits, heldBack !== undefined),
  };
}

/** Key: handle and turn. Joined, because engines keep the parts of a template apart until the text is read. */
export const storedKey = ({ handle, turn }: Hidden): string => [handle, turn].join(' ');

/** The edit of a result in the last answered request, or when it was first sent. */
export const sentEdit = (planned: PlannedRequest, segment: number): ReplaceEdit | undefined =>
  sentEdits(planned, segment)[0];

/** Both. The first may be a mask that was decided and held back: a request whose answer was not seen is taken as it was planned. */
const sentEdits = ({ history }: PlannedRequest, segment: number): readonly ReplaceEdit[] =>
  [history.answered.last.edits.get(segment), history.shaped.get(segment)].filter((edit) => edit !== undefined);

/** Edits of an earlier plan are written and checked again. */
const isLawful = ({ request, history, edits: all }: PlannedRequest, edits: readonly ReplaceEdit[]): boolean =>
  edits === all || checkEdits(request, history, edits) === undefined;

/** The edits that are sent while new masks wait. */
function heldEdits(planned: PlannedRequest, hold: HoldReason): readonly ReplaceEdit[] {
  const stored = hold === 'too-many-events' ? () => false : isStoredIn(planned);
  const isRetry = hold === 'store-slow' || hold === 'store-failed';
  const allowed = planned.edits.flatMap((edit) => {
    const before = sentEdit(planned, edit.segment);
    const isFirm = isArrival(edit.why) ? mayGoOut(planned, edit) : isRecorded(planned) || before?.text === edit.text;
    if (stored(edit) && isFirm && hasBegun(planned)) return [edit];
    // A full store accepts texts again that it had: the edits that were sent stay.
    return sentEdits(planned, edit.segment)
      .filter((one) => !isRetry || stored(one))
      .slice(0, 1);
  });
  return inOrder(planned, allowed);
}

/** Whether the store is known to have the text that an edit hides. */
function isStoredIn({ conversation, hidden }: PlannedRequest): (edit: ReplaceEdit) => boolean {
  const stored = hidden.filter((one) => conversation.isStored(storedKey(one)));
  const handles = new Set<string | undefined>(stored.map(({ handle }) => handle));
  return ({ handle }) => handles.has(handle);
}

/** A new price changes nothing before the next turn. Every other event must be recorded first. */
const isRecorded = ({ unrecorded, settings }: PlannedRequest): boolean =>
  unrecorded.every((event) => settings.wasMasked && event === settings.event);

/** Whether the first settings of a conversation are recorded. */
const hasBegun = ({ unrecorded, settings }: PlannedRequest): boolean =>
  settings.wasMasked || !unrecorded.some(({ kind }) => kind === 'settings');

/**
 * Whether a result that is made smaller on arrival is the same in a plan without the withdrawn epochs. Those may have removed
 * references from a new one.
 */
const mayGoOut = (planned: PlannedRequest, { segment }: ReplaceEdit): boolean =>
  sentEdit(planned, segment) !== undefined || !planned.unrecorded.some(isEpoch);

/** The edits that were sent, and results that are made smaller on arrival: those change no byte that was sent. */
function withoutNewMasks(planned: PlannedRequest, edits: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
  const allowed = edits.flatMap((edit) => {
    const before = sentEdit(planned, edit.segment);
    if (isArrival(edit.why) && mayGoOut(planned, edit)) return [edit];
    return before ? [before] : [];
  });
  return inOrder(planned, allowed);
}

/** A result may refer to lines of an earlier planned one. So after one that is sent whole, all new ones are sent whole. */
function inOrder(planned: PlannedRequest, allowed: readonly ReplaceEdit[]): readonly ReplaceEdit[] {
  const isNew = ({ segment, why }: ReplaceEdit): boolean => isArrival(why) && !sentEdit(planned, segment);
  const missing = planned.edits.find((edit) => isNew(edit) && !allowed.includes(edit));
  return missing ? allowed.filter((edit) => !isNew(edit) || edit.segment < missing.segment) : allowed;
}

const isEpoch = ({ kind }: GatewayEvent): boolean => kind === 'cold-cache' || kind === 'over-limit';

/** The new results that are sent whole, if any of them could have been made smaller. */
function wholeResults(planned: PlannedRequest, edits: readonly ReplaceEdit[], isHeldBack: boolean): readonly number[] {
  const { request, segments, hidden, unrecorded } = planned;
  const { turn: last } = segments.at(-1) ?? { turn: 0 };
  if (!isHeldBack || !hidden.some(({ why, turn }) => turn === last && isArrival(why as Why))) return [];
  const written = new Set(edits.map(({ segment }) => segment));
  const isWhole = (segment: number): boolean => !written.has(segment) && !sentEdit(planned, segment);
  const first = newestTurn(request.listed);
  const isNew = (segment: number): boolean => (segments[segment] as Segment).message >= first;
  const isLeftOut = planned.edits.some(({ segment, why }) => isArrival(why) && isNew(segment) && isWhole(segment));
  // A withdrawn epoch may have removed references from a new result: a replay without it would not.
  if (!isLeftOut && !unrecorded.some(isEpoch)) return [];
  const whole: number[] = [];
  for (let i = segments.length - 1; i >= 0 && isNew(i); i--)
    if (segments[i]?.kind === 'observation' && isWhole(i)) whole.unshift(i);
  return whole;
}

/** A cache marker just before the first block that is new to the provider. */
function markerBefore(planned: PlannedRequest, changed: ReplaceEdit | undefined): PlacedMarker | undefined {
  const { request, segments, history } = planned;
  if (!request.wire.placesMarkers) return undefined;
  const first = changed && (segments[changed.segment] as Segment);
  if (!first || first.message >= history.answered.last.messages) return undefined;
  return placeMarker(request, { message: first.message, block: first.path[1] as number });
}

/** Whether signed thinking comes after a change of this request, or came after a mask when it was written. */
function mustOptIn(planned: PlannedRequest, edits: readonly ReplaceEdit[]): boolean {
  if (!isThinkingBound(planned)) return false;
  const texts = new Map(edits.map(({ segment, text }) => [segment, text]));
  // A result that was made smaller when it was first sent already had this text when the thinking after it was written.
  const isKept = ({ segment, why, text }: ReplaceEdit): boolean => isArrival(why) && texts.get(segment) === text;
  const wasRefused = planned.found.some(({ event }) => event.kind === 'bound-thinking');
  const all = [...edits, ...planned.history.answered.last.edits.values()];
  const isBefore = (edit: ReplaceEdit): boolean => edit.segment < planned.lastSigned && (wasRefused || !isKept(edit));
  return all.some(isBefore) || wasEditedElsewhere(planned);
}

/** Thinking in an answer to an edited request is bound to its masks, so an original that follows must opt in too. */
export function optInOfOriginal(planned: PlannedRequest): OptIn | undefined {
  const { request, history } = planned;
  const wasEdited = history.answered.last.edits.size > 0 || wasEditedElsewhere(planned);
  return wasEdited && isThinkingBound(planned) ? request.wire.boundThinking?.optIn(request) : undefined;
}

function isThinkingBound({ request, found, lastSigned }: PlannedRequest): boolean {
  const { boundThinking } = request.wire;
  if (!boundThinking || lastSigned < 0) return false;
  return boundThinking.isBound(request.model) || found.some(({ event }) => event.kind === 'bound-thinking');
}

/** Whether it was edited before `hands-off`, for another model, or possibly before the store failed. */
function wasEditedElsewhere({ request, facts, found }: PlannedRequest): boolean {
  if (facts.storeTrouble) return true;
  return found.some(({ event }) =>
    event.kind === 'settings' ? event.model !== (request.model ?? '') : event.kind === 'hands-off' && event.wasEdited,
  );
}
