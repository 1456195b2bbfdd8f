import type { Format, Segment, Viewer } from '../message.ts';
import { isRecord } from './lens.ts';

/** The text of a message or a list, and how much of it a format reads, in characters. */
export interface Coverage extends ReadShare {
  readonly held: number;
}

/** The text that a format reads, in characters. */
export interface ReadShare {
  readonly read: number;
  /** The size of blocks that the format does not know. They count towards a budget, but are not read. */
  readonly unknown: number;
  /** The results that answer a call. */
  readonly pairs: number;
}

export interface ListCoverage extends Coverage {
  /** The message with the most text that is not read. */
  readonly worst: number;
}

/**
 * Whether a format reads so little of a list that the list must have another format. Calls with results are nearly proof of the
 * format, and masks leave few of the characters that were read. So with such pairs, only a very small share is too little.
 */
export function readsTooLittle({ held, read, pairs }: Coverage): boolean {
  const [share, slack] = pairs > 0 ? [1 / 20, 10_000] : [1 / 2, 256];
  return read < held * share && (read === 0 || held - read > slack);
}

/** Measures a whole list. */
export function coverageOf<M>(format: Format<M>, messages: readonly M[]): ListCoverage {
  const meter = new Meter(format);
  meter.add(messages);
  return meter;
}

interface Known {
  readonly format: unknown;
  readonly meter: Meter<unknown>;
  last: unknown;
}

/** Keyed by the first message of a list. */
const meters = new WeakMap<object, Known>();

/** Like `coverageOf`, for a list that grows from call to call: each message is measured once. */
export function growingCoverage<M>(format: Format<M>, messages: readonly M[]): ListCoverage {
  const [first] = messages;
  if (!isRecord(first)) return coverageOf(format, messages);
  const known = meters.get(first);
  const count = known?.meter.count ?? 0;
  const goesOn = known?.format === format && count <= messages.length && Object.is(messages[count - 1], known.last);
  const meter = goesOn ? (known.meter as Meter<M>) : new Meter(format);
  meter.add(messages.slice(meter.count));
  meters.set(first, { format, meter: meter as Meter<unknown>, last: messages.at(-1) });
  return meter;
}

/** Measures a list anew in the next call: messages that were measured may have changed in place. */
export function forgetCoverage([first]: readonly unknown[]): void {
  if (isRecord(first)) meters.delete(first);
}

class Meter<M> implements ListCoverage {
  held = 0;
  read = 0;
  unknown = 0;
  pairs = 0;
  worst = 0;
  count = 0;
  #most = 0;
  readonly #viewer: Viewer<M>;

  constructor(format: Format<M>) {
    this.#viewer = format.viewer();
  }

  add(messages: readonly M[]): void {
    for (const message of messages) {
      const segments: Segment[] = [];
      this.#viewer.add(message, segments);
      const { read, unknown, pairs } = readShare(segments);
      const held = heldChars(message);
      if (held - read > this.#most) [this.#most, this.worst] = [held - read, this.count];
      this.held += held;
      this.read += read;
      this.unknown += unknown;
      this.pairs += pairs;
      this.count += 1;
    }
  }
}

/** Measures the view of one message. */
export function readShare(segments: readonly Segment[]): ReadShare {
  let [read, unknown, pairs] = [0, 0, 0];
  for (const { text, media, kind, callId } of segments) {
    read += text.length;
    if (kind === 'observation' && callId !== undefined) pairs += 1;
    for (const { type, bytes } of media ?? []) {
      // A block inside a call or its result belongs to a pair that the format has recognised.
      if (type !== 'other' || kind === 'action' || kind === 'observation') read += bytes;
      else unknown += bytes;
    }
  }
  return { read, unknown, pairs };
}

/** The characters of all texts in a message. Ids, base64, signatures and internal fields do not count. */
export function heldChars(message: unknown): number {
  const seen = new Set<object>();
  const visit = (value: unknown, depth: number): number => {
    if (typeof value === 'string') return isText(value) ? value.length : 0;
    if (!isRecord(value) || ArrayBuffer.isView(value) || seen.has(value) || depth > MOST_DEPTH) return 0;
    seen.add(value);
    let chars = 0;
    if (Array.isArray(value)) for (const item of value) chars += visit(item, depth + 1);
    else
      for (const key of Object.keys(value))
        if (!NOT_SENT.has(key) && !SEALED.test(key)) chars += visit(value[key], depth + 1);
    return chars;
  };
  return visit(message, 0);
}

/** No format has its text deeper. */
const MOST_DEPTH = 32;

/** Base64, ids, URLs and names have none of the characters that set text apart, such as spaces and brackets. */
const isText = (value: string): boolean =>
  /[^\w+/=.:|\r\n-]/.test(value.slice(0, 200)) && !/^(?:data|https?):/.test(value);

const SEALED = /signature|encrypted|redacted/i;

/** Fields that frameworks keep on a message for themselves, or that repeat its content. */
const NOT_SENT = new Set([
  'additional_kwargs',
  'annotations',
  'artifact',
  'citations',
  'details',
  'diagnostics',
  'extra',
  'lc_kwargs',
  'metadata',
  'nestedCalls',
  'providerData',
  'providerMetadata',
  'providerOptions',
  'rawContent',
  'response_metadata',
  'usage',
  'usage_metadata',
]);
