import type { ReplaceEdit, Segment } from '../../message.ts';
import type { Hidden } from '../../plan/ledger/hidden.ts';
import { splice } from '../bytes/splice.ts';
import type { OptIn } from '../wire/bound-thinking.ts';
import { type PlacedMarker, placeMarker } from '../wire/cache-marker.ts';
import { byteEdits } from './byte-edits.ts';
import type { Outgoing, StoreTrouble } from './decide.ts';
import { changedSince } from './masks.ts';
import { mustOptIn } from './must-opt-in.ts';
import type { SituatedRequest } from './situated-request.ts';

/** A request as it goes out. */
export interface ComposedRequest extends Outgoing {
  /** What it carries in the place of results. */
  readonly edits: readonly ReplaceEdit[];
  /** Those of them that the last request did not carry yet. */
  readonly changed: readonly ReplaceEdit[];
  readonly optIn: OptIn | undefined;
  readonly marker: PlacedMarker | undefined;
  /** Why it carries less than was planned; undefined if it carries all. */
  readonly heldBack: 'law' | 'bound-thinking' | StoreTrouble | undefined;
}

/** Puts what was planned into the bytes of a request, or as much of it as may go out. */
export function composeRequest(situated: SituatedRequest, trouble: StoreTrouble | undefined): ComposedRequest {
  const { request, planned } = situated;
  const wanted = planned.broken === undefined ? (trouble ? frozen(situated) : planned.edits) : [];
  const mustAsk = mustOptIn(situated, wanted[0]?.segment);
  const asked = mustAsk ? request.wire.boundThinking?.optIn(request) : undefined;
  // Where it cannot, only what was masked before stays so: the provider would refuse the request.
  const edits = mustAsk && !asked ? wanted.filter(({ segment }) => planned.branch.sent.has(segment)) : wanted;
  const changed = changedSince(planned.branch.sent, edits);
  const marker = placed(situated, changed[0]);
  const changes = byteEdits(request, planned.segments, edits);
  changes.push(...(marker?.edits ?? []), ...(asked?.edits ?? []));
  const isBound = edits.length < wanted.length;
  return {
    body: changes.length > 0 ? splice(request.body, changes) : undefined,
    headers: asked?.headers ?? {},
    ...{ edits, changed, optIn: asked, marker },
    heldBack: planned.broken !== undefined ? 'law' : isBound ? 'bound-thinking' : trouble,
  };
}

/** While the store does not answer: what it is known to have, and was sent before or would be by any other gateway. */
function frozen(situated: SituatedRequest): readonly ReplaceEdit[] {
  const { planned, settings, unrecorded } = situated;
  const stored = planned.hidden.filter((hidden) => isStored(situated, hidden));
  const handles = new Set<string | undefined>(stored.map(({ handle }) => handle));
  // Another price changes nothing before the next turn; all else that decided it must be recorded.
  const isReplayed = unrecorded.every((event) => settings.wasMasked && event === settings.event);
  const { sent } = planned.branch;
  return planned.edits.filter(({ segment, handle }) => handles.has(handle) && (isReplayed || sent.has(segment)));
}

/** Key: handle and turn. */
export const storedKey = ({ handle, turn }: Hidden): string => `${handle} ${turn}`;

export function isStored({ conversation }: SituatedRequest, hidden: Hidden): boolean {
  return conversation.isStored(storedKey(hidden));
}

/** Just before the first block that the provider has not seen like this. */
function placed({ request, planned }: SituatedRequest, changed: ReplaceEdit | undefined): PlacedMarker | undefined {
  if (!request.wire.placesMarkers) return undefined;
  const first = changed && (planned.segments[changed.segment] as Segment);
  if (!first || first.message >= planned.branch.sentMessages) return undefined;
  return placeMarker(request, { message: first.message, block: first.path[1] as number });
}
