import { isUtf8 } from 'node:buffer';
import { asList, asString, type Fields, isRecord } from '../../formats/lens.ts';
import type { Segment } from '../../message.ts';
import { quote } from '../../text.ts';
import type { JsonScan } from '../bytes/json-scan.ts';
import { memberRange, type Range, valueRange } from '../bytes/member-range.ts';
import { parseJson } from '../bytes/parse-json.ts';
import type { Hashed } from '../conversation/prefix-hash.ts';
import type { BlockPlace } from '../wire/cache-blocks.ts';
import type { Wire } from '../wire/wire.ts';
import { noteBytes, type PlaceKey, placeKey } from './gateway-format.ts';
import type { Reason } from './reasons.ts';

/** A message, and where in its bytes stands what may be edited. Places count from the start of the message. */
export interface ReadMessage {
  readonly message: object;
  /** The first line of what the user says in it, at most 80 characters. */
  readonly title: string;
  /** Where the content of each result stands. */
  readonly results: ReadonlyMap<PlaceKey, ResultPlace>;
  /** The blocks that a cache marker may stand on, in the order of the message. */
  readonly blocks: readonly BlockPlace[];
  readonly isReply: boolean;
}

/** Where the content of a result stands. */
export interface ResultPlace extends Range {
  /** The cache markers in a list, as they are written, each behind a comma. */
  readonly markers: string;
  /** The member of the result that is replaced, where that is not all of it. */
  readonly member?: string;
  /** Goes with the content. */
  readonly attachments?: Range;
}

/** A message, and what its prefix is known by. */
export interface Reading {
  readonly read: ReadMessage;
  readonly hashed: readonly Hashed[];
}

/** Reads the message that was scanned last. Answers the reason why its request must pass through where there is one. */
export function readMessage(wire: Wire, scan: JsonScan, bytes: Buffer): Reading | Reason {
  const [start, end] = [scan.start(0), scan.end(0)];
  const message = parseJson(bytes.toString('utf8', start, end));
  if (message === undefined) return 'not-json';
  if (!isRecord(message)) return 'unknown-format';
  const viewer = wire.format.viewer();
  const segments: Segment[] = [];
  viewer.add(message, segments);
  const results = readResults({ wire, scan, bytes, message, segments });
  if (typeof results === 'string') return results;
  const blocks = wire.readBlocks?.(scan, message) ?? [];
  const read = { message, title: titleOf(segments), results, blocks, isReply: viewer.turn > 0 };
  return { read, hashed: segments.map((segment) => toHashed(wire, message, segment)) };
}

/** What a client puts before the user's words in tags is not the user's. */
function titleOf(segments: readonly Segment[]): string {
  const said = segments.filter(({ kind, text }) => kind === 'user' && text.trim() !== '');
  const own = said.find(({ text }) => !text.trimStart().startsWith('<')) ?? said[0];
  return own ? quote(own.text.trimStart().split('\n', 1)[0] ?? '', 80) : '';
}

interface Context {
  readonly wire: Wire;
  readonly scan: JsonScan;
  readonly bytes: Buffer;
  readonly message: Fields;
  readonly segments: readonly Segment[];
}

function readResults(context: Context): Map<PlaceKey, ResultPlace> | Reason {
  const { scan, message, segments } = context;
  const places = new Map<PlaceKey, ResultPlace>();
  const untouchable = new Set<PlaceKey>();
  const stored = new Map<PlaceKey, string>();
  for (const segment of segments) {
    if (segment.kind !== 'observation' || segment.bound) continue;
    const key = placeKey(segment.path);
    const value = locate(scan, segment.path);
    if (value === DUPLICATE) return 'duplicate-keys';
    const place = value === MISSING ? undefined : placeOf(context, value);
    if (place === DUPLICATE) return 'duplicate-keys';
    if (!place || !isUtf8(context.bytes.subarray(scan.start(value), scan.end(value)))) untouchable.add(key);
    else {
      stripMarkers(message, segment.path);
      const written = writtenText(context, segment, value);
      if (written !== undefined) stored.set(key, written);
      places.set(key, place);
    }
  }
  noteBytes(message, { stored, untouchable });
  return places;
}

const MISSING = -1;
const DUPLICATE = -2;

/** The value at a path; DUPLICATE where an object on the way has a key twice, of which readers may take either. */
function locate(scan: JsonScan, path: readonly (string | number)[]): number {
  let value = 0;
  for (const key of path) {
    const next = typeof key === 'number' ? (scan.elements(value)[key] ?? MISSING) : memberValue(scan, value, key);
    if (next < 0) return next;
    value = next;
  }
  return value;
}

function memberValue(scan: JsonScan, object: number, name: string): number {
  if (!scan.isObject(object)) return MISSING;
  const names = new Set<string>();
  let found = MISSING;
  for (const member of scan.members(object)) {
    if (names.has(member.name)) return DUPLICATE;
    names.add(member.name);
    if (member.name === name) found = member.value;
  }
  return found;
}

/** Undefined for an object that cannot be replaced. */
function placeOf({ wire, scan }: Context, value: number): ResultPlace | typeof DUPLICATE | undefined {
  if (!scan.isObject(value))
    return { ...valueRange(scan, value), markers: scan.isList(value) ? markersIn(scan, value) : '' };
  const members = scan.members(value);
  const { content, attachments } = wire.resultMembers ?? {};
  const replaced = members.find(({ name }) => name === content);
  if (!replaced)
    return members.some(({ name }) => name === 'type') ? { ...valueRange(scan, value), markers: '' } : undefined;
  if (memberValue(scan, value, replaced.name) === DUPLICATE) return DUPLICATE;
  const gone = members.find(({ name }) => name === attachments);
  return {
    ...valueRange(scan, replaced.value),
    markers: '',
    member: replaced.name,
    ...(gone ? { attachments: memberRange(scan, gone) } : {}),
  };
}

const MARKERS = ['cache_control', 'prompt_cache_breakpoint'];

/** The last marker of each kind in a list of parts. */
function markersIn(scan: JsonScan, list: number): string {
  const found = new Map<string, string>();
  for (const part of scan.elements(list)) {
    if (!scan.isObject(part)) continue;
    for (const { key, name, value } of scan.members(part))
      if (MARKERS.includes(name) && scan.isObject(value))
        found.set(name, scan.bytes.toString('utf8', scan.start(key), scan.end(value)));
  }
  return [...found.values()].map((text) => `,${text}`).join('');
}

/** Markers move from request to request: what is stored and hashed must not move with them. */
function stripMarkers(message: Fields, path: readonly (string | number)[]): void {
  let node: unknown = message;
  for (const key of path) node = (node as Fields)[key];
  for (const part of asList(node)) for (const name of MARKERS) if (name in part) delete part[name];
}

/** What was written, markers apart, where that is more than a text and is not what `JSON.stringify` would write. */
function writtenText({ wire, scan, message }: Context, segment: Segment, value: number): string | undefined {
  const original = wire.format.original(message, segment);
  const isJson = scan.isList(value) || scan.isObject(value);
  if (!isJson || original === undefined || original === segment.text) return undefined;
  const written = withoutMarkers(scan, value);
  return written === original ? undefined : written;
}

function withoutMarkers(scan: JsonScan, value: number): string {
  const origin = scan.start(0);
  let text = '';
  let from = scan.start(value);
  for (const part of scan.isList(value) ? scan.elements(value) : []) {
    if (!scan.isObject(part)) continue;
    for (const member of scan.members(part)) {
      if (!MARKERS.includes(member.name)) continue;
      const { start, end } = memberRange(scan, member);
      if (start + origin < from) continue;
      text += scan.bytes.toString('utf8', from, start + origin);
      from = end + origin;
    }
  }
  return text + scan.bytes.toString('utf8', from, scan.end(value));
}

function toHashed(wire: Wire, message: Fields, segment: Segment): Hashed {
  const { kind, text, callId, path } = segment;
  if (kind !== 'observation') return { kind, text, callId };
  const stored = segment.bound ? text : wire.format.original(message, segment);
  return { kind, text: stored ?? text, callId: asString(callId) ?? wire.answers(message, path) };
}
