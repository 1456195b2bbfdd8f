import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import { JsonScan, type Member } from '../bytes/json-scan.ts';
import { memberRange, type Range, valueRange } from '../bytes/member-range.ts';
import type { ByteEdit } from '../bytes/splice.ts';
import type { ReadRequest } from '../decide/read-request.ts';

/** A block of a message. */
interface BlockAt {
  readonly message: number;
  readonly block: number;
}

interface Marker extends BlockAt {
  readonly place: MarkerPlace;
}

/** The cache markers of a request. */
export interface Markers {
  readonly all: readonly { readonly ttl: string | undefined }[];
  readonly onMessages: readonly Marker[];
  /** The marker that the provider adds to the last block by itself. */
  readonly automatic: { readonly ttl: string | undefined } | undefined;
}

const NO_BLOCKS: readonly BlockPlace[] = [];

/** Finds the cache markers of a request. */
export function findMarkers({
  fields,
  overhead,
  listed,
}: Pick<ReadRequest, 'fields' | 'overhead' | 'listed'>): Markers {
  const onMessages: Marker[] = [];
  for (let message = 0; message < listed.length; message++)
    for (const { index, markers } of listed[message]?.read.blocks ?? NO_BLOCKS)
      for (const place of markers) onMessages.push({ message, block: index, place });
  const root = fields.get('cache_control')?.value;
  const automatic = isRecord(root) ? { ttl: asString((root as Fields).ttl) } : undefined;
  const all = [
    ...overhead.markers.map((ttl) => ({ ttl })),
    ...onMessages.map(({ place }) => place),
    ...(automatic ? [automatic] : []),
  ];
  return { all, onMessages, automatic };
}

/** A marker of ours, and the edits that put it there. */
export interface PlacedMarker {
  readonly message: number;
  readonly edits: readonly ByteEdit[];
}

const MOST_MARKERS = 4;

/**
 * Places a marker just before the first changed block. The provider finds a cached prefix only at a marker, so without it an epoch would
 * write the whole prompt again. Undefined if the client caches nothing after that block. If all four markers are used, the oldest one on
 * a message moves there.
 */
export function placeMarker(request: ReadRequest, first: BlockAt): PlacedMarker | undefined {
  const { all, onMessages, automatic } = request.markers;
  const behind = onMessages.filter((marker) => !isBefore(marker, first));
  const next = behind[0]?.place ?? automatic;
  const carrier = next && carrierBefore(request, first);
  if (!carrier || carrier.block.markers.length > 0) return undefined;
  const { message } = carrier;
  const edit = write(request, carrier, next.ttl);
  if (all.length < MOST_MARKERS) return { message, edits: [edit] };
  const oldest = movable(request);
  return oldest && { message, edits: [edit, takeOut(request, oldest)] };
}

/** Whether there is room for our marker, or a marker that can move. */
export function canMark(request: ReadRequest): boolean {
  return request.markers.all.length < MOST_MARKERS || movable(request) !== undefined;
}

/** The oldest marker on a message that can move. One inside a block belongs to its part, and without the last one nothing would be cached. */
function movable(request: ReadRequest): Marker | undefined {
  const { onMessages, automatic } = request.markers;
  return onMessages.find(({ place }, i) => !place.isInner && (automatic || i < onMessages.length - 1));
}

const isBefore = (a: BlockAt, b: BlockAt): boolean =>
  a.message < b.message || (a.message === b.message && a.block < b.block);

interface Carrier {
  readonly message: number;
  readonly block: BlockPlace;
}

function carrierBefore(request: ReadRequest, first: BlockAt): Carrier | undefined {
  for (let message = first.message; message >= 0; message--) {
    const blocks = blocksOf(request, message);
    const block = blocks.findLast(({ index, canCarry }) => canCarry && isBefore({ message, block: index }, first));
    if (block) return { message, block };
  }
  return undefined;
}

/** Reused: a new one for each message would allocate several kilobytes. */
const scan = new JsonScan();

/** The blocks of a message. For a message without markers they were not read yet. */
function blocksOf({ body, listed, wire }: ReadRequest, message: number): readonly BlockPlace[] {
  const { start = 0, read } = listed[message] ?? {};
  if (!read || read.blocks) return read?.blocks ?? [];
  scan.scan(body, start);
  return wire.readBlocks?.(scan, read.message as Fields) ?? [];
}

function write({ listed }: ReadRequest, { message, block }: Carrier, ttl: string | undefined): ByteEdit {
  const origin = listed[message]?.start ?? 0;
  const marker = JSON.stringify({ type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) });
  const { start, end } = block.vacant ?? { start: block.close, end: block.close };
  const bytes = Buffer.from(block.vacant ? marker : `,"cache_control":${marker}`);
  return { start: origin + start, end: origin + end, bytes };
}

function takeOut({ listed }: ReadRequest, { message, place }: Marker): ByteEdit {
  const origin = listed[message]?.start ?? 0;
  return { start: origin + place.start, end: origin + place.end, bytes: NOTHING };
}

const NOTHING = new Uint8Array();

/** A block of a message's content. Places count from the start of the message. */
export interface BlockPlace {
  /** Its index in the content. */
  readonly index: number;
  /** The position before its closing bracket. */
  readonly close: number;
  /** Whether a marker may be put on it. */
  readonly canCarry: boolean;
  /** The markers on its inner parts, then its own marker. */
  readonly markers: readonly MarkerPlace[];
  /** A value that means no marker, such as `null`: a marker of ours replaces it. */
  readonly vacant: Range | undefined;
}

/** A cache marker. */
export interface MarkerPlace extends Range {
  readonly ttl: string | undefined;
  /** Whether the marker is on a part inside the block: it is removed only with that part. */
  readonly isInner: boolean;
}

/** The blocks that can carry a marker. Thinking and empty texts cannot. */
const CARRIERS = new Set(['text', 'image', 'document', 'search_result', 'tool_use', 'tool_result', 'server_tool_use']);

/** The blocks of the message that was scanned last; none if its content is a text. */
export function readBlocks(scan: JsonScan, message: Fields): BlockPlace[] {
  const content = lastMember(scan, 0, 'content');
  if (!content || !scan.isList(content.value)) return [];
  const parsed = message.content as readonly unknown[];
  return scan.elements(content.value).flatMap((value, index) => {
    const block = parsed[index];
    return isRecord(block) ? [readBlock(scan, value, { block, index })] : [];
  });
}

function readBlock(scan: JsonScan, value: number, { block, index }: { block: Fields; index: number }): BlockPlace {
  const own = lastMember(scan, value, 'cache_control');
  return {
    index,
    close: valueRange(scan, value).end - 1,
    canCarry: CARRIERS.has(asString(block.type) ?? '') && !(block.type === 'text' && !block.text),
    markers: [...innerMarkers(scan, value), ...markerAt(scan, own, false)],
    vacant: own && !scan.isObject(own.value) ? valueRange(scan, own.value) : undefined,
  };
}

/** The markers on the parts of a result or a document, and on their parts. */
function* innerMarkers(scan: JsonScan, block: number): Iterable<MarkerPlace> {
  for (const { name, value } of scan.members(block)) {
    if (name !== 'content' && name !== 'source') continue;
    for (const part of scan.isList(value) ? scan.elements(value) : [value]) {
      if (!scan.isObject(part)) continue;
      yield* innerMarkers(scan, part);
      yield* markerAt(scan, lastMember(scan, part, 'cache_control'), true);
    }
  }
}

function markerAt(scan: JsonScan, member: Member | undefined, isInner: boolean): MarkerPlace[] {
  if (!member || !scan.isObject(member.value)) return [];
  return [{ ...memberRange(scan, member), ttl: ttlOf(scan, member), isInner }];
}

function ttlOf(scan: JsonScan, { value }: Member): string | undefined {
  return asString((JSON.parse(scan.text(value)) as Fields).ttl);
}

/** The last member with this name: readers use the last one if a key occurs twice. */
function lastMember(scan: JsonScan, object: number, name: string): Member | undefined {
  return scan.members(object).findLast((member) => member.name === name);
}
