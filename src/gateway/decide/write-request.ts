import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { splice } from '../bytes/splice.ts';
import type { OptIn } from '../wire/bound-thinking.ts';
import { type PlacedMarker, placeMarker } from '../wire/cache-markers.ts';
import type { Outgoing } from './decision.ts';
import { byteEdits, changedSince } from './edits.ts';
import { type HoldReason, reasonToAddNone } from './pass-through.ts';
import type { PlannedRequest } from './plan.ts';

/** A request as it goes out. */
export interface WrittenRequest extends Outgoing {
  /** The edits that it carries. */
  readonly edits: readonly ReplaceEdit[];
  /** The edits that the last request did not carry yet. */
  readonly changed: readonly ReplaceEdit[];
  readonly optIn: OptIn | undefined;
  readonly marker: PlacedMarker | undefined;
  /** The reason why it carries fewer edits than planned; undefined if it carries all. */
  readonly heldBack: 'law' | 'bound-thinking' | HoldReason | undefined;
}

/** Writes a plan into the bytes of its request, or the part of it that may go out. */
export function writeRequest(planned: PlannedRequest, hold: HoldReason | undefined): WrittenRequest {
  const { request, broken, history } = planned;
  const sent = history.answered.last.texts;
  const addsNone = reasonToAddNone(request);
  const allowed = hold ? heldEdits(planned, hold) : planned.edits;
  const kept = addsNone ? allowed.filter(({ segment }) => sent.has(segment)) : allowed;
  const wanted = broken === undefined ? kept : [];
  const mustAsk = mustOptIn(planned, wanted[0]?.segment);
  const optIn = mustAsk ? request.wire.boundThinking?.optIn(request) : undefined;
  // The provider would refuse new masks here. The masks that it has seen before stay.
  const edits = mustAsk && !optIn ? wanted.filter(({ segment }) => sent.has(segment)) : wanted;
  const changed = changedSince(sent, edits);
  const marker = markerBefore(planned, changed[0]);
  const changes = [...edits.flatMap((edit) => byteEdits(request, history, edit)), ...(marker?.edits ?? [])];
  changes.push(...(optIn?.edits ?? []));
  const isBound = edits.length < wanted.length;
  return {
    body: changes.length > 0 ? splice(request.body, changes) : undefined,
    headers: optIn?.headers ?? {},
    ...{ edits, changed, optIn, marker },
    heldBack: broken !== undefined ? 'law' : isBound ? 'bound-thinking' : (hold ?? addsNone),
  };
}

/** Key: handle and turn. */
export const storedKey = ({ handle, turn }: Hidden): string => `${handle} ${turn}`;

/** The masks that go out while new ones wait. */
function heldEdits(planned: PlannedRequest, hold: HoldReason): readonly ReplaceEdit[] {
  const stored = hold === 'too-many-events' ? [] : storedEdits(planned);
  if (hold === 'store-slow' || hold === 'store-failed') return stored;
  // A full store takes texts again that it had: the masks that were sent stay.
  const { texts } = planned.history.answered.last;
  return planned.edits.filter((edit) => texts.has(edit.segment) || stored.includes(edit));
}

/** The masks that go out while the store does not answer: it has their texts, and they were sent before or are recorded. */
function storedEdits({ conversation, hidden, settings, unrecorded, history, edits }: PlannedRequest): ReplaceEdit[] {
  const stored = hidden.filter((one) => conversation.isStored(storedKey(one)));
  const handles = new Set<string | undefined>(stored.map(({ handle }) => handle));
  // A new price changes nothing before the next turn. Every other event must be recorded first.
  const isRecorded = unrecorded.every((event) => settings.wasMasked && event === settings.event);
  const { texts } = history.answered.last;
  return edits.filter(({ segment, handle }) => handles.has(handle) && (isRecorded || texts.has(segment)));
}

/** A cache marker just before the first block that the provider has not seen like this. */
function markerBefore(planned: PlannedRequest, changed: ReplaceEdit | undefined): PlacedMarker | undefined {
  const { request, segments, history } = planned;
  if (!request.wire.placesMarkers) return undefined;
  const first = changed && (segments[changed.segment] as Segment);
  if (!first || first.message >= history.answered.last.messages) return undefined;
  return placeMarker(request, { message: first.message, block: first.path[1] as number });
}

/** Whether signed thinking is behind a mask of this request, or was behind one when it was written. */
function mustOptIn(planned: PlannedRequest, firstEdited = Number.POSITIVE_INFINITY): boolean {
  if (!isThinkingBound(planned)) return false;
  const [firstSent = Number.POSITIVE_INFINITY] = planned.history.answered.last.texts.keys();
  return Math.min(firstEdited, firstSent) < planned.lastSigned || wasEditedElsewhere(planned);
}

/** Thinking in an answer to an edited request is bound to its masks, so an original that follows must opt in too. */
export function optInOfOriginal(planned: PlannedRequest): OptIn | undefined {
  const { request, history } = planned;
  const wasEdited = history.answered.last.texts.size > 0 || wasEditedElsewhere(planned);
  return wasEdited && isThinkingBound(planned) ? request.wire.boundThinking?.optIn(request) : undefined;
}

function isThinkingBound({ request, found, lastSigned }: PlannedRequest): boolean {
  const { boundThinking } = request.wire;
  if (!boundThinking || lastSigned < 0) return false;
  return boundThinking.isBound(request.model) || found.some(({ event }) => event.kind === 'bound-thinking');
}

/** Before it was left alone, for another model, or, as far as this gateway can know, before the store failed. */
function wasEditedElsewhere({ request, facts, found }: PlannedRequest): boolean {
  if (facts.storeTrouble) return true;
  return found.some(({ event }) =>
    event.kind === 'settings' ? event.model !== (request.model ?? '') : event.kind === 'hands-off' && event.wasEdited,
  );
}
