import { answerLimits } from '../../limits.ts';
import { HOP_HEADER } from './hops.ts';

/** Headers as they are on the wire: name, value, name, value. */
export type RawHeaders = readonly string[];

/** Headers of one connection, not of the message (RFC 9110, 7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Headers of the gateway itself, and headers that are written again for the upstream. */
const NOT_FORWARDED = new Set([
  ...HOP_BY_HOP,
  ...['host', 'content-length', 'expect', 'trailer', 'x-palimpsest-token', 'x-palimpsest-credential', HOP_HEADER],
]);

/** The headers for the upstream, in their order and spelling, with those in `changes` (lower case) replaced or, if empty, left out. */
export function forwardedHeaders(raw: RawHeaders, changes: Readonly<Record<string, string>> = {}): string[] {
  const named = connectionNames(raw);
  const headers: string[] = [];
  let written: Set<string> | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    const key = name.toLowerCase();
    if (NOT_FORWARDED.has(key) || named?.has(key) || written?.has(key)) continue;
    const change = Object.hasOwn(changes, key) ? changes[key] : undefined;
    if (change !== undefined) written = (written ?? new Set()).add(key);
    if (change !== '') headers.push(name, change ?? (raw[i + 1] as string));
  }
  for (const key in changes) if (changes[key] !== '' && !written?.has(key)) headers.push(key, changes[key] as string);
  return headers;
}

/** The head of an answer as the upstream wrote it. */
interface UpstreamHead {
  readonly status: number;
  /** Decoded as UTF-8. */
  readonly reason: string;
  readonly headers: readonly (Buffer | string)[];
}

/** The head of an answer that is safe to write to any client. */
export interface AnswerHead {
  readonly status: number;
  readonly reason: string;
  readonly headers: string[];
}

/** Makes the head of an upstream's answer safe to write. */
export function toAnswerHead({ status, reason, headers }: UpstreamHead, canTrail: boolean): AnswerHead {
  const answered = answeredHeaders(headers);
  const hasLength = headerOf(answered, 'content-length') !== undefined;
  return {
    status: status >= 200 && status <= 999 ? status : 502,
    reason: toReason(reason),
    // Trailers need chunks: Node refuses to announce them for a body with a length, or for none.
    headers: canTrail && !hasLength ? answered : withoutHeader(answered, 'trailer'),
  };
}

/** The trailers of an answer. Fields that frame a message may not be among them (RFC 9110, 6.5.1). */
export function answeredTrailers(raw: readonly (Buffer | string)[]): string[] {
  return withoutHeader(withoutHeader(answeredHeaders(raw), 'content-length'), 'trailer');
}

/** The headers for the client, in their order and spelling, without those that no header line can hold. */
function answeredHeaders(raw: readonly (Buffer | string)[]): string[] {
  const all = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const named = connectionNames(all);
  const headers: string[] = [];
  for (let i = 0; i < all.length; i += 2) {
    const name = all[i] as string;
    const key = name.toLowerCase();
    if (HOP_BY_HOP.has(key) || named?.has(key) || !FIELD_NAME.test(name)) continue;
    headers.push(name, (all[i + 1] as string).replace(UNPRINTABLE, ''));
  }
  return headers;
}

/** The same bytes if they are valid UTF-8, without control characters. */
function toReason(reason: string): string {
  const bytes = PRINTABLE_ASCII.test(reason) ? reason : Buffer.from(reason).toString('latin1');
  return bytes.replace(UNPRINTABLE, '').slice(0, answerLimits.reasonChars);
}

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const FIELD_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
/** Characters that neither a header nor a reason phrase may have. */
const UNPRINTABLE = /[^\t\x20-\x7e\x80-\xff]/g;

/** The same headers as pairs of a name and its value. */
export function toPairs(headers: RawHeaders): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i] as string, headers[i + 1] as string]);
  return pairs;
}

export function withoutHeader(headers: string[], key: string): string[] {
  if (headerOf(headers, key) === undefined) return headers;
  return headers.filter((_, i) => !isNamed(headers[i - (i % 2)] as string, key));
}

/** The value of a header; the first one if there are several. */
export function headerOf(raw: RawHeaders, key: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i] as string, key)) return raw[i + 1];
  return undefined;
}

/** Headers that `Connection` names are hop-by-hop too. It is nearly always `keep-alive`, which names no other header. */
function connectionNames(raw: RawHeaders): Set<string> | undefined {
  let names: Set<string> | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    const value = raw[i + 1] as string;
    if (!isNamed(raw[i] as string, 'connection') || HOP_BY_HOP.has(value)) continue;
    for (const word of value.split(',')) {
      const key = word.trim().toLowerCase();
      if (!HOP_BY_HOP.has(key)) names = (names ?? new Set()).add(key);
    }
  }
  return names;
}

/** Compares lengths first, because most names differ in length. */
const isNamed = (name: string, key: string): boolean => name.length === key.length && name.toLowerCase() === key;
