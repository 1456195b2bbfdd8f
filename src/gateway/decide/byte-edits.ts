import type { Fields } from '../../formats/lens.ts';
import type { ReplaceEdit, Segment } from '../../message.ts';
import type { ByteEdit } from '../bytes/splice.ts';
import { placeKey } from './gateway-format.ts';
import type { ReadMessage, ResultPlace } from './read-message.ts';
import type { ReadRequest } from './read-request.ts';

/** The bytes that the edits of a plan change. */
export function byteEdits(
  request: ReadRequest,
  segments: readonly Segment[],
  edits: readonly ReplaceEdit[],
): ByteEdit[] {
  const changes: ByteEdit[] = [];
  for (const { segment: index, text } of edits) {
    const segment = segments[index] as Segment;
    const listed = request.listed[segment.message];
    const place = listed?.read.results.get(placeKey(segment.path));
    if (!listed || !place) throw new Error(`no place for the result in message ${segment.message}`);
    const bytes = written(request, listed.read, { segment, place, text });
    changes.push({ start: listed.start + place.start, end: listed.start + place.end, bytes });
    if (place.attachments)
      changes.push({
        start: listed.start + place.attachments.start,
        end: listed.start + place.attachments.end,
        bytes: NOTHING,
      });
  }
  return changes;
}

const NOTHING = new Uint8Array();

interface Replacement {
  readonly segment: Segment;
  readonly place: ResultPlace;
  readonly text: string;
}

/** A result that is masked goes out the same on every later request: its bytes are made once. */
const known = new WeakMap<ResultPlace, { readonly text: string; readonly bytes: Uint8Array }>();

function written(request: ReadRequest, read: ReadMessage, replacement: Replacement): Uint8Array {
  const { place, text } = replacement;
  const before = known.get(place);
  if (before?.text === text) return before.bytes;
  const bytes = Buffer.from(write(request, read, replacement));
  known.set(place, { text, bytes });
  return bytes;
}

function write({ wire }: ReadRequest, { message }: ReadMessage, { segment, place, text }: Replacement): string {
  let value: unknown = wire.format.edit(message, segment, text);
  for (const key of segment.path) value = (value as Fields)[key];
  if (place.member !== undefined) return JSON.stringify((value as Fields)[place.member]);
  const json = JSON.stringify(value);
  return place.markers === '' ? json : `${json.slice(0, -2)}${place.markers}}]`;
}
