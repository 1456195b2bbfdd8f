import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { splice } from '../bytes/splice.ts';
import type { OptIn } from '../wire/bound-thinking.ts';
import { type PlacedMarker, placeMarker } from '../wire/cache-marker.ts';
import type { Outgoing } from './decision.ts';
import { byteEdits } from './edit-bytes.ts';
import { changedSince } from './masks.ts';
import { mustOptIn } from './opt-in.ts';
import type { PlannedRequest } from './plan.ts';
import type { StoreTrouble } from './reasons.ts';

/** A request as it goes out. */
export interface WrittenRequest extends Outgoing {
  /** The edits that it carries. */
  readonly edits: readonly ReplaceEdit[];
  /** The edits that the last request did not carry yet. */
  readonly changed: readonly ReplaceEdit[];
  readonly optIn: OptIn | undefined;
  readonly marker: PlacedMarker | undefined;
  /** The reason why it carries fewer edits than planned; undefined if it carries all. */
  readonly heldBack: 'law' | 'bound-thinking' | StoreTrouble | undefined;
}

/** Writes a plan into the bytes of its request, or the part of it that may go out. */
export function writeRequest(planned: PlannedRequest, trouble: StoreTrouble | undefined): WrittenRequest {
  const { request, broken, history } = planned;
  const wanted = broken === undefined ? (trouble ? storedEdits(planned) : planned.edits) : [];
  const mustAsk = mustOptIn(planned, wanted[0]?.segment);
  const optIn = mustAsk ? request.wire.boundThinking?.optIn(request) : undefined;
  // The provider would refuse new masks here. The masks that it has seen before stay.
  const edits = mustAsk && !optIn ? wanted.filter(({ segment }) => history.sent.texts.has(segment)) : wanted;
  const changed = changedSince(history.sent.texts, edits);
  const marker = markerBefore(planned, changed[0]);
  const changes = [...edits.flatMap((edit) => byteEdits(request, history, edit)), ...(marker?.edits ?? [])];
  changes.push(...(optIn?.edits ?? []));
  const isBound = edits.length < wanted.length;
  return {
    body: changes.length > 0 ? splice(request.body, changes) : undefined,
    headers: optIn?.headers ?? {},
    ...{ edits, changed, optIn, marker },
    heldBack: broken !== undefined ? 'law' : isBound ? 'bound-thinking' : trouble,
  };
}

/** Key: handle and turn. */
export const storedKey = ({ handle, turn }: Hidden): string => `${handle} ${turn}`;

/** The masks that go out while the store does not answer: it has their texts, and they were sent before or are recorded. */
function storedEdits({ conversation, hidden, settings, unrecorded, history, edits }: PlannedRequest): ReplaceEdit[] {
  const stored = hidden.filter((one) => conversation.isStored(storedKey(one)));
  const handles = new Set<string | undefined>(stored.map(({ handle }) => handle));
  // A new price changes nothing before the next turn. Every other event must be recorded first.
  const isRecorded = unrecorded.every((event) => settings.wasMasked && event === settings.event);
  const { texts } = history.sent;
  return edits.filter(({ segment, handle }) => handles.has(handle) && (isRecorded || texts.has(segment)));
}

/** A cache marker just before the first block that the provider has not seen like this. */
function markerBefore(planned: PlannedRequest, changed: ReplaceEdit | undefined): PlacedMarker | undefined {
  const { request, segments, history } = planned;
  if (!request.wire.placesMarkers) return undefined;
  const first = changed && (segments[changed.segment] as Segment);
  if (!first || first.message >= history.sent.messages) return undefined;
  return placeMarker(request, { message: first.message, block: first.path[1] as number });
}
