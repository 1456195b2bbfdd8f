import { requestLimits } from '../../limits.ts';
import type { Segment, Viewer } from '../../message.ts';
import type { ViewedMessage } from '../../plan/ledger/history.ts';
import {
  JsonScan,
  NOT_JSON,
  parseJson,
  type ScanBudget,
  skipSpace,
  stringEnd,
  TOO_DEEP,
  TOO_MANY,
  TOO_SLOW,
} from '../bytes/json-scan.ts';
import type { Range } from '../bytes/member-range.ts';
import type { CachedHistory, Listed } from '../conversation/cached-history.ts';
import type { ConversationMemory } from '../conversation/conversation-memory.ts';
import { firstPrefix, nextPrefixes, sessionNames } from '../conversation/prefix-hash.ts';
import { findMarkers, type Markers } from '../wire/cache-markers.ts';
import { wires } from '../wire/index.ts';
import { sessionIdOf } from '../wire/session-id.ts';
import { modelOf, type Wire } from '../wire/wire.ts';
import type { GatewayRequest } from './decision.ts';
import { NO_OVERHEAD, type Overhead } from './overhead.ts';
import type { Reason } from './pass-through.ts';
import { readMessage } from './read-message.ts';
import { TaskFinder } from './task.ts';

/** A field of the request other than its messages. */
export interface Field extends Range {
  /** Undefined for system prompt and tools, of which only the size is known. */
  readonly value: unknown;
}

/** A request whose bytes were read. */
export interface ReadRequest {
  readonly wire: Wire;
  readonly path: string;
  readonly headers: GatewayRequest['headers'];
  readonly isCountTokens: boolean;
  readonly body: Buffer;
  /** The model, if the request names one. */
  readonly model: string | undefined;
  readonly fields: ReadonlyMap<string, Field>;
  readonly overhead: Overhead;
  /** Whether the agent has Palimpsest's tool `recall`. */
  readonly hasRecall: boolean;
  readonly listed: readonly Listed[];
  readonly markers: Markers;
  /** The view of all messages. Undefined if some of them were known before. */
  readonly viewed: { readonly viewer: Viewer<object>; readonly messages: readonly ViewedMessage[] } | undefined;
  /** The first line of the task; may be empty. */
  readonly title: string;
  /** The prefix of its first message after the system prompt; empty if it has none. */
  readonly conversation: string;
  /** The name of its session: from the agent's id, otherwise the prefix of the first message with a task. */
  readonly session: string;
  /** The part of the session that it belongs to. */
  readonly part: string;
  /** The longest cached history that this request begins with, sent to the same model. */
  readonly cached: CachedHistory | undefined;
  /** The number of its messages that were sent before, to any model. */
  readonly knownMessages: number;
  /** The same, including longer requests that were sent before. */
  readonly seenMessages: number;
  /** The next prefix of each cached history that is longer than this request, sent to the same model. */
  readonly laterPrefixes: readonly string[];
}

/** Reads a request in one pass over its bytes. Parts that are known from an earlier request are only compared. */
export function readRequest(
  request: GatewayRequest,
  memory: ConversationMemory,
  budget: ScanBudget,
): ReadRequest | Reason {
  scan.begin(budget);
  const { buffer, byteOffset, byteLength } = request.body;
  const body = Buffer.from(buffer, byteOffset, byteLength);
  return refusal(request, body) ?? new Reader(request, body, memory).read();
}

function refusal({ headers }: GatewayRequest, body: Buffer): Reason | undefined {
  if (body.length === 0) return 'empty-body';
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return 'byte-order-mark';
  const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase();
  return charset === undefined || charset === 'utf-8' || charset === 'utf8' ? undefined : 'charset';
}

const QUOTE = 0x22;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

/** One scan for all requests: it keeps nothing between two values. */
const scan = new JsonScan();

class Reader {
  readonly #request: GatewayRequest;
  readonly #body: Buffer;
  readonly #memory: ConversationMemory;
  readonly #wire: Wire;
  readonly #fields = new Map<string, Field>();
  readonly #listed: Listed[] = [];
  /** Views all messages, as long as none of them is known from an earlier request. */
  readonly #viewer: Viewer<object>;
  #viewed: ViewedMessage[] | undefined = [];
  readonly #segments: Segment[] = [];
  #overhead = NO_OVERHEAD;
  #conversation = '';
  readonly #task = new TaskFinder();
  #hasRecall = false;
  /** Histories that this request begins with, and histories that begin with this request. */
  #histories: readonly CachedHistory[] = [];

  constructor(request: GatewayRequest, body: Buffer, memory: ConversationMemory) {
    this.#request = request;
    this.#body = body;
    this.#memory = memory;
    this.#wire = wires[request.api];
    this.#viewer = this.#wire.format.viewer();
  }

  read(): ReadRequest | Reason {
    const problem = this.#readFields();
    if (problem) return problem;
    const { path, headers, isCountTokens = false } = this.#request;
    const model = modelOf(this.#wire, { model: this.#fields.get('model')?.value, path });
    if (model !== undefined && model.length > requestLimits.modelChars) return 'model-name';
    const messages = this.#listed.length;
    const histories = this.#histories.filter(({ listed }) => listed.length <= messages);
    const longer = this.#histories.filter((history) => history.listed.length > messages && history.model === model);
    return {
      path,
      headers,
      model,
      isCountTokens,
      wire: this.#wire,
      body: this.#body,
      fields: this.#fields,
      overhead: this.#overhead,
      hasRecall: this.#hasRecall || this.#overhead.hasRecall,
      markers: findMarkers({ fields: this.#fields, overhead: this.#overhead, listed: this.#listed }),
      viewed: this.#viewed && { viewer: this.#viewer, messages: this.#viewed },
      listed: this.#listed,
      conversation: this.#conversation,
      ...sessionNames(this.#sessionId(), this.#task.prefix || this.#conversation),
      title: this.#task.title,
      cached: longest(histories.filter((history) => history.model === model)),
      knownMessages: longest(histories)?.listed.length ?? 0,
      seenMessages: Math.min(messages, longest(this.#histories)?.listed.length ?? 0),
      laterPrefixes: [...new Set(longer.flatMap((history) => prefixBehind(history, messages)))],
    };
  }

  #sessionId(): string | undefined {
    return sessionIdOf(this.#wire, this.#request.headers, (name) => this.#fields.get(name)?.value);
  }

  #readFields(): Reason | undefined {
    const start = skipSpace(this.#body, 0);
    if (this.#body[start] !== OPEN_OBJECT) return 'not-json';
    const end = this.#readObject(start, 1);
    if (typeof end === 'string') return end;
    return skipSpace(this.#body, end) === this.#body.length ? undefined : 'not-json';
  }

  /** Reads the fields of the object that begins here. Returns its end. */
  #readObject(start: number, depth: number): number | Reason {
    const body = this.#body;
    const names = new Set<string>();
    let at = skipSpace(body, start + 1);
    if (body[at] === CLOSE_OBJECT) return at + 1;
    for (;;) {
      const keyEnd = body[at] === QUOTE ? stringEnd(body, at) : NOT_JSON;
      const colon = keyEnd < 0 ? NOT_JSON : skipSpace(body, keyEnd);
      if (colon < 0 || body[colon] !== COLON) return 'not-json';
      const name = parseJson(body.toString('utf8', at, keyEnd));
      if (typeof name !== 'string') return 'not-json';
      if (names.has(name)) return 'duplicate-keys';
      names.add(name);
      const end = this.#readField(name, skipSpace(body, colon + 1), depth);
      if (typeof end === 'string') return end;
      at = skipSpace(body, end);
      if (body[at] === CLOSE_OBJECT) return at + 1;
      if (body[at] !== COMMA) return 'not-json';
      at = skipSpace(body, at + 1);
    }
  }

  #readField(name: string, start: number, depth: number): number | Reason {
    const { envelope, messages, overhead } = this.#wire;
    const isInside = envelope === undefined || depth === 2;
    if (depth === 1 && name === envelope && this.#body[start] === OPEN_OBJECT) return this.#readObject(start, 2);
    if (isInside && name === messages && this.#body[start] === OPEN_LIST) return this.#readList(start + 1, depth + 1);
    const isOverhead = isInside && overhead.includes(name);
    const known = isOverhead ? this.#memory.overhead.find(this.#body, start) : undefined;
    const end = known?.end ?? scan.scan(this.#body, start, depth);
    if (end < 0) return problemOf(end);
    const bytes = this.#body.subarray(start, end);
    if (isOverhead) {
      const overhead = known?.overhead ?? this.#memory.overhead.read(bytes);
      if (!overhead) return 'not-json';
      this.#overhead = add(this.#overhead, overhead);
      this.#fields.set(name, { start, end, value: undefined });
      return end;
    }
    const value = parseJson(bytes.toString());
    if (value === undefined) return 'not-json';
    this.#fields.set(name, { start, end, value });
    return end;
  }

  #readList(start: number, depth: number): number | Reason {
    const body = this.#body;
    const seed = firstPrefix(this.#request.api);
    let prefix = seed;
    let candidates: readonly CachedHistory[] | undefined;
    let at = skipSpace(body, start);
    if (body[at] === CLOSE_LIST) return at + 1;
    for (;;) {
      const index = this.#listed.length;
      const known = candidates && knownFrom(body, at, index, candidates);
      if (known) this.#viewed = undefined;
      const listed = known ?? this.#readOne(at, prefix, depth);
      if (typeof listed === 'string') return listed;
      for (const one of listed) {
        this.#listed.push(one);
        this.#task.add(one.read, one.prefix);
        this.#hasRecall ||= one.read.hasRecall;
      }
      const last = listed[listed.length - 1] as Listed;
      ({ prefix } = last);
      if (!candidates && prefix !== seed) {
        this.#conversation = prefix;
        candidates = this.#memory.histories(prefix);
      }
      candidates = candidates && alike(candidates, this.#listed);
      at = skipSpace(body, last.end);
      if (body[at] === CLOSE_LIST) break;
      if (body[at] !== COMMA) return 'not-json';
      at = skipSpace(body, at + 1);
    }
    this.#histories = candidates ?? [];
    return at + 1;
  }

  #readOne(at: number, prefix: string, depth: number): readonly Listed[] | Reason {
    const { left } = scan;
    const end = scan.scan(this.#body, at, depth);
    if (end < 0) return problemOf(end);
    const values = left - scan.left;
    const viewer = this.#viewed ? this.#viewer : this.#wire.format.viewer();
    const reading = readMessage(this.#wire, scan, { viewer, into: this.#segments, needsTitle: this.#task.isLooking });
    if (typeof reading === 'string') return reading;
    this.#viewed?.push({ segments: reading.segments, turn: viewer.turn });
    const prefixes = nextPrefixes(prefix, reading.hashed);
    return [{ start: at, end, prefix: prefixes.at(-1) ?? prefix, prefixes, read: reading.read, values }];
  }
}

function problemOf(end: number): Reason {
  if (end === TOO_MANY) return 'too-many-values';
  if (end === TOO_SLOW) return 'too-slow';
  return end === TOO_DEEP ? 'too-deep' : 'not-json';
}

function add(a: Overhead, b: Overhead): Overhead {
  return {
    tokens: a.tokens + b.tokens,
    markers: [...a.markers, ...b.markers],
    hasRecall: a.hasRecall || b.hasRecall,
  };
}

/** The messages that begin here, if a history that is the same so far has them to the byte. */
function knownFrom(
  body: Buffer,
  at: number,
  index: number,
  histories: readonly CachedHistory[],
): readonly Listed[] | undefined {
  for (const history of histories) {
    const known = knownRun(body, at, index, history) ?? knownOne(body, at, index, history);
    if (known) return known;
  }
  return undefined;
}

/** An agent adds to its history and moves the marker on its last message: everything before that is compared at once. */
function knownRun(body: Buffer, at: number, index: number, history: CachedHistory): readonly Listed[] | undefined {
  const [first, last] = [history.listed[index], history.listed.at(-2)];
  if (!first || !last || first.start !== at || last.end <= first.end || last.end > body.length) return undefined;
  return isSame(body, at, history, { start: at, end: last.end }) ? history.listed.slice(index, -1) : undefined;
}

function knownOne(body: Buffer, at: number, index: number, history: CachedHistory): readonly Listed[] | undefined {
  const old = history.listed[index];
  if (!old || !isSame(body, at, history, old)) return undefined;
  return [old.start === at ? old : { ...old, start: at, end: at + old.end - old.start }];
}

function isSame(body: Buffer, at: number, history: CachedHistory, { start, end }: Range): boolean {
  const to = at + end - start;
  return to <= body.length && body.compare(history.body, start, end, at, to) === 0;
}

/** The histories that are still equal, or have no messages yet. */
function alike(histories: readonly CachedHistory[], said: readonly Listed[]): readonly CachedHistory[] {
  const isAlike = ({ listed }: CachedHistory): boolean => {
    const last = Math.min(listed.length, said.length) - 1;
    return listed[last]?.prefix === said[last]?.prefix;
  };
  return histories.every(isAlike) ? histories : histories.filter(isAlike);
}

/** The history with the most messages; of several, the most recently used. */
function longest(histories: readonly CachedHistory[]): CachedHistory | undefined {
  return histories.reduce<CachedHistory | undefined>(
    (best, history) => (best && best.listed.length >= history.listed.length ? best : history),
    undefined,
  );
}

/** The prefixes of the first piece after a number of messages. */
function prefixBehind({ listed }: CachedHistory, messages: number): readonly string[] {
  return listed.find(({ prefixes }, i) => i >= messages && prefixes.length > 0)?.prefixes.slice(0, 1) ?? [];
}
