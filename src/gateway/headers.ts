/** Headers as they stand on the wire: name, value, name, value. */
export type RawHeaders = readonly string[];

/** Belong to one connection, not to the message (RFC 9110, 7.6.1). */
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

/** Ours, or set anew by the client towards the upstream. */
const NOT_FORWARDED = new Set([
  ...[...HOP_BY_HOP, 'host', 'content-length', 'expect', 'trailer'],
  ...['x-palimpsest-token', 'x-palimpsest-credential'],
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

/** The headers for the client, in their order and spelling. */
export function answeredHeaders(raw: readonly (Buffer | string)[]): string[] {
  const all = raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')));
  const named = connectionNames(all);
  const headers: string[] = [];
  for (let i = 0; i < all.length; i += 2) {
    const key = (all[i] as string).toLowerCase();
    if (!HOP_BY_HOP.has(key) && !named?.has(key)) headers.push(all[i] as string, all[i + 1] as string);
  }
  return headers;
}

/** The value of a header, where it stands once. */
export function headerOf(raw: RawHeaders, key: string): string | undefined {
  for (let i = 0; i < raw.length; i += 2) if (isNamed(raw[i] as string, key)) return raw[i + 1];
  return undefined;
}

/** What `Connection` names is hop-by-hop too. Nearly always it says `keep-alive`, which names nothing new. */
function connectionNames(raw: RawHeaders): Set<string> | undefined {
  let names: Set<string> | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    if (!isNamed(raw[i] as string, 'connection')) continue;
    for (const word of (raw[i + 1] as string).split(',')) {
      const key = word.trim().toLowerCase();
      if (!HOP_BY_HOP.has(key)) names = (names ?? new Set()).add(key);
    }
  }
  return names;
}

/** Most names differ in their length. */
const isNamed = (name: string, key: string): boolean => name.length === key.length && name.toLowerCase() === key;
