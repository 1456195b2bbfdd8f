import { type ReadShare, readShare } from '../../formats/coverage.ts';
import { asString, type Fields, isRecord } from '../../formats/lens.ts';
import type { Segment, Viewer } from '../../message.ts';
import { isRecallTool } from '../../plan/handles.ts';
import { DUPLICATE, type JsonScan, MISSING } from '../bytes/json-scan.ts';
import { memberRange, type Range, valueRange } from '../bytes/member-range.ts';
import type { Hashed } from '../conversation/prefix-hash.ts';
import type { BlockPlace } from '../wire/cache-markers.ts';
import type { Wire } from '../wire/wire.ts';
import { namesRecall } from './overhead.ts';
import type { Reason } from './pass-through.ts';
import { readSaid, type Said, toTitle } from './task.ts';

/** A message, and the places in its bytes that may be edited. Places count from the start of the message. */
export interface ReadMessage {
  /** The message without the cache markers in its results, which move from request to request. */
  readonly message: object;
  /** The first line of the user's words in it, at most 80 characters. Empty if an earlier message has the task. */
  readonly title: string;
  readonly said: Said['kind'];
  /** The content of each result that can be replaced. */
  readonly results: ReadonlyMap<PlaceKey, ResultPlace>;
  /** Results that cannot be replaced, such as those with invalid UTF-8. */
  readonly fixed: ReadonlySet<PlaceKey>;
  /** The originals of results, if those are not just their text. */
  readonly originals: ReadonlyMap<PlaceKey, string>;
  /** The blocks that may carry a cache marker. Undefined if no marker was found in the message. */
  readonly blocks: readonly BlockPlace[] | undefined;
  readonly isReply: boolean;
  /** The share of its text that the format reads. */
  readonly share: ReadShare;
  /** Whether it names or declares our tool `recall`. */
  readonly hasRecall: boolean;
}

/** Names one result of a message: its part, or its field if there is only one. */
export type PlaceKey = string | number;

export const placeKey = (path: readonly (string | number)[]): PlaceKey => path[1] ?? path[0] ?? '';

/** The place of a result's content. */
export interface ResultPlace extends Range {
  /** The cache markers in a list, as written, each after a comma. */
  readonly markers: string;
  /** The member of the result that is replaced, if that is not all of it. */
  readonly member?: string;
  /** Removed with the content. */
  readonly attachments?: Range;
}

/** A message with the segments that a viewer sees in it. */
export interface Reading {
  readonly read: ReadMessage;
  readonly segments: readonly Segment[];
  /** The pieces that its prefix is hashed from. */
  readonly hashed: readonly Hashed[];
}

export interface ReadOptions {
  readonly viewer: Viewer<object>;
  /** Collects the segments of all messages: a separate list for each would reserve too much room. */
  readonly into: Segment[];
  /** Whether no earlier message has the task. */
  readonly needsTitle: boolean;
}

/** Reads the message that was scanned last. Returns the reason if its request must pass through. */
export function readMessage(wire: Wire, scan: JsonScan, { viewer, into, needsTitle }: ReadOptions): Reading | Reason {
  const parsed = scan.parse(0);
  if (parsed === undefined) return 'not-json';
  if (!isRecord(parsed)) return 'unknown-format';
  const hasMarkers = WRITTEN_MARKERS.some((written) => scan.hasString(written));
  const message = hasMarkers ? withoutMarkers(wire, parsed) : parsed;
  const from = into.length;
  viewer.add(message, into);
  const segments = into.slice(from);
  const results = readResults({ wire, scan, message, segments, hasMarkers });
  if (typeof results === 'string') return results;
  const hashed = segments.map((segment) => toHashed(wire, message, segment, results.originals));
  bindFixed(segments, results.fixed);
  const said = needsTitle ? readSaid(segments) : NOT_ASKED;
  const read = {
    message,
    title: needsTitle ? toTitle(said.text) : '',
    said: said.kind,
    results: results.results,
    fixed: results.fixed,
    originals: results.originals,
    blocks: hasMarkers ? wire.readBlocks?.(scan, parsed) : undefined,
    isReply: viewer.isReply,
    share: readShare(segments),
    hasRecall: !viewer.isReply && results === NO_RESULTS && scan.includes('recall') && bringsRecall(parsed, scan),
  };
  return { read, segments, hashed };
}

/** Agents list deferred tools in a system prompt or next to the user's words, and declare tools in separate items. */
function bringsRecall({ tools }: Fields, scan: JsonScan): boolean {
  return namesRecall(scan.text(0)) || (Array.isArray(tools) && tools.some(isRecallTool));
}
const NOT_ASKED: Said = { text: '', kind: 'nothing' };

const MARKERS = ['cache_control', 'prompt_cache_breakpoint'];
/** The names with their quotes. */
const WRITTEN_MARKERS = MARKERS.map((name) => Buffer.from(JSON.stringify(name)));

/** Stored texts and hashes must not change when a cache marker moves to another message. */
function withoutMarkers(wire: Wire, message: Fields): Fields {
  let copy: unknown = message;
  for (const { kind, bound, path } of wire.format.view([message]))
    if (kind === 'observation' && !bound) copy = stripped(copy, path);
  return copy as Fields;
}

/** A copy of a value with the markers removed from the parts at a path. */
function stripped(value: unknown, path: readonly (string | number)[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return Array.isArray(value) ? value.map(withoutMarker) : value;
  if (Array.isArray(value)) return value.map((item, i) => (i === key ? stripped(item, rest) : item));
  return { ...(value as Fields), [key]: stripped((value as Fields)[key], rest) };
}

function withoutMarker(part: unknown): unknown {
  if (!isRecord(part) || !MARKERS.some((name) => name in part)) return part;
  return Object.fromEntries(Object.entries(part).filter(([name]) => !MARKERS.includes(name)));
}

interface Context {
  readonly wire: Wire;
  readonly scan: JsonScan;
  readonly message: Fields;
  readonly segments: readonly Segment[];
  readonly hasMarkers: boolean;
}

type Results = Pick<ReadMessage, 'results' | 'fixed' | 'originals'>;

const NO_RESULTS: Results = { results: new Map(), fixed: new Set(), originals: new Map() };

function readResults(context: Context): Results | Reason {
  const { wire, scan, message, segments } = context;
  if (!segments.some(({ kind }) => kind === 'observation')) return NO_RESULTS;
  const results = new Map<PlaceKey, ResultPlace>();
  let { fixed, originals } = NO_RESULTS;
  for (const segment of segments) {
    if (segment.kind !== 'observation' || segment.bound) continue;
    const key = placeKey(segment.path);
    const original = wire.format.original(message, segment);
    if (original !== undefined && original !== segment.text) originals = new Map(originals).set(key, original);
    const value = locate(scan, segment.path);
    if (value === DUPLICATE) return 'duplicate-keys';
    const place = value === MISSING ? undefined : placeOf(context, value);
    if (place === DUPLICATE) return 'duplicate-keys';
    if (!place || !scan.isUtf8(value)) fixed = new Set(fixed).add(key);
    else {
      results.set(key, place);
      // As written, without markers: `JSON.stringify` may write it differently.
      if (originals.has(key) && (scan.isList(value) || scan.isObject(value)))
        originals = new Map(originals).set(key, withoutMarkersIn(scan, value));
    }
  }
  return { results, fixed, originals };
}

/** The value at a path; DUPLICATE if an object on the way has a key twice: readers may use either. */
function locate(scan: JsonScan, path: readonly (string | number)[]): number {
  let value = 0;
  for (const key of path) {
    const next = typeof key === 'number' ? scan.element(value, key) : scan.member(value, key);
    if (next < 0) return next;
    value = next;
  }
  return value;
}

/** Undefined for an object that cannot be replaced. */
function placeOf({ wire, scan, hasMarkers }: Context, value: number): ResultPlace | typeof DUPLICATE | undefined {
  const { start, end } = valueRange(scan, value);
  if (!scan.isObject(value))
    return { start, end, markers: hasMarkers && scan.isList(value) ? markersIn(scan, value) : '' };
  const members = scan.members(value);
  const { content, attachments, whole = [] } = wire.resultMembers ?? {};
  const replaced = members.find(({ name }) => name === content);
  if (!replaced) {
    const isWhole = members.some(({ name }) => name === 'type' || whole.includes(name));
    return isWhole ? { start, end, markers: '' } : undefined;
  }
  if (scan.member(value, replaced.name) === DUPLICATE) return DUPLICATE;
  const gone = members.find(({ name }) => name === attachments);
  return {
    ...valueRange(scan, replaced.value),
    markers: '',
    member: replaced.name,
    ...(gone ? { attachments: memberRange(scan, gone) } : {}),
  };
}

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

function withoutMarkersIn(scan: JsonScan, value: number): string {
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

/** Depends on the message alone, not on those before it: a viewer names the call of a result only if it saw the call. */
export function toHashed(wire: Wire, message: Fields, segment: Segment, originals: Results['originals']): Hashed {
  const { kind, text, callId, path, bound } = segment;
  if (kind !== 'observation') return { kind, text, callId };
  const original = bound ? undefined : originals.get(placeKey(path));
  return {
    kind,
    text: original ?? text,
    callId: (bound ? asString(callId) : undefined) ?? wire.answers(message, path),
  };
}

/** Marks the results that cannot be replaced, among the segments of one message. */
export function bindFixed(segments: Segment[], fixed: ReadonlySet<PlaceKey>, from = 0): void {
  if (fixed.size === 0) return;
  for (let i = from; i < segments.length; i++) {
    const segment = segments[i] as Segment;
    if (segment.kind === 'observation' && fixed.has(placeKey(segment.path))) segments[i] = { ...segment, bound: true };
  }
}
