import { answerLimits } from '../../limits.ts';
import type { RawHeaders } from './headers.ts';

/** The parts of a request in which clients send credentials. */
export interface Credentialed {
  readonly rawHeaders: RawHeaders;
  /** Path and query. */
  readonly url: string;
}

/**
 * The beginning of a provider's text without credentials: it may quote the key that it refuses. This removes all credentials that the
 * request carried, and everything that looks like a key of a known kind. The text is searched as it is and with its escapes decoded, so
 * that a key is found however much of it is escaped.
 */
export function redactCredentials(text: string, request: Credentialed): string {
  const secrets = secretsOf(request);
  if (secrets.length > answerLimits.secretsPerRequest) return REDACTED;
  const written = [...new Set(secrets.flatMap(spellings))];
  const end = Math.min(text.length, answerLimits.redactedChars);
  const isSecret = new Uint8Array(end);
  for (const { bytes, at } of readings(text.slice(0, end + BEYOND_CHARS))) {
    const mark = (from: number, to: number) => isSecret.fill(1, at[from], at[to]);
    const lowerCase = bytes.toLowerCase();
    for (const secret of written) findAll(secret, lowerCase, mark);
    for (const { index, 0: key } of bytes.matchAll(KEY_SHAPES)) mark(index, index + key.length);
  }
  return withoutMarked(text.slice(0, end), isSecret);
}

/** Writes one note for each run of marked characters. */
function withoutMarked(text: string, isMarked: Uint8Array): string {
  let kept = '';
  for (let at = 0; at < text.length; ) {
    const isSecret = isMarked[at] === 1;
    const next = isMarked.indexOf(isSecret ? 0 : 1, at);
    const end = next === -1 ? text.length : Math.min(next, text.length);
    kept += isSecret ? REDACTED : text.slice(at, end);
    at = end;
  }
  return kept;
}

const REDACTED = '(redacted)';

/** Shorter values are not credentials, and would be found in any text. */
const LEAST_SECRET_CHARS = 6;

/** Names of headers and of parameters in a query. */
const SECRET_NAME =
  /auth|key|token|secret|cookie|credential|passw|passphrase|pwd|signature|jwt|(?<![a-z])sig(?![a-z])/i;

function secretsOf({ rawHeaders, url }: Credentialed): string[] {
  const inHeaders = rawHeaders.flatMap((value, i) =>
    i % 2 === 1 && SECRET_NAME.test(rawHeaders[i - 1] as string) ? [value, ...partsOf(value)] : [],
  );
  const [, query = ''] = (url.split('#', 1)[0] as string).split(/\?(.*)/s);
  const inQuery = query.split('&').flatMap((parameter) => {
    const [name = '', value = ''] = parameter.split(/=(.*)/s);
    return SECRET_NAME.test(unescaped(name)) ? [value, value.replaceAll('+', ' ')] : [];
  });
  const secrets = [...new Set([...inHeaders, ...inQuery])];
  return secrets.filter((secret) => secret.length >= LEAST_SECRET_CHARS && !SCHEME.test(secret));
}

/** Words that come before a credential. */
const SCHEME = /^(?:bearer|basic|digest|negotiate|token|apikey|aws4-hmac-sha256)$/i;

/** The credentials in a header: words, the values of cookies and of `Signature=…`, user and password of `Basic`. */
function partsOf(header: string): string[] {
  const parts = header.split(/[\s;,]+/);
  const values = parts.map((part) => part.slice(part.indexOf('=') + 1).replaceAll('"', ''));
  const [, basic] = /^\s*basic\s+(\S+)/i.exec(header) ?? [];
  if (basic === undefined) return [...parts, ...values];
  const login = Buffer.from(basic, 'base64').toString('latin1');
  return [...parts, ...values, login, ...login.split(/:(.*)/s)];
}

/**
 * The spellings of a secret as bytes in lower case: as sent, decoded, and each in base64. The sender may have meant Latin-1 or
 * UTF-8.
 */
function spellings(secret: string): string[] {
  const sent = [secret, toUtf8(secret)];
  const decoded = sent.map(unescaped);
  return [...sent, ...decoded, ...decoded.map(unescaped)]
    .flatMap((plain) => [plain, toBase64(plain, 'base64'), toBase64(plain, 'base64url')])
    .filter(({ length }) => length >= LEAST_SECRET_CHARS)
    .map((bytes) => bytes.toLowerCase());
}

/** Bytes are strings of characters below 256. */
const toUtf8 = (text: string): string => Buffer.from(text).toString('latin1');

const toBase64 = (bytes: string, kind: 'base64' | 'base64url'): string =>
  Buffer.from(bytes, 'latin1').toString(kind).replace(/=+$/, '');

/** A text as bytes. The byte `i` is from the character `at[i]` of the text; `at` ends with the length of the text. */
interface Reading {
  readonly bytes: string;
  readonly at: readonly number[];
}

/** The text as it is, and with its escapes decoded, once and twice. */
function* readings(text: string): Generator<Reading> {
  const asIs = { bytes: text, at: Array.from({ length: text.length + 1 }, (_, i) => i) };
  let reading = replaced(asIs, NOT_ASCII, toUtf8);
  yield reading;
  for (let times = 0; times < 2 && reading.bytes.search(ESCAPE) !== -1; times++) {
    reading = replaced(reading, ESCAPE, decodeEscape);
    yield reading;
  }
}

function replaced({ bytes, at }: Reading, pattern: RegExp, write: (found: string) => string): Reading {
  const places: number[] = [];
  let end = 0;
  const written = bytes.replace(pattern, (found: string, ...rest) => {
    const index = rest.at(-2) as number;
    const replacement = write(found);
    places.push(...at.slice(end, index), ...Array.from(replacement, () => at[index] as number));
    end = index + found.length;
    return replacement;
  });
  return { bytes: written, at: [...places, ...at.slice(end)] };
}

const NOT_ASCII = /[\u0080-\u{10ffff}]/gu;

/** Escapes in addresses, JSON and HTML. Without groups. */
const ESCAPE = /%[\da-f]{2}|\\u[\da-f]{4}|\\["'/\\]|&#x[\da-f]{1,5};|&#\d{1,6};|&(?:amp|lt|gt|quot|apos);/gi;

const unescaped = (bytes: string): string => bytes.replace(ESCAPE, decodeEscape);

function decodeEscape(found: string): string {
  const code = /[\da-f]+/i.exec(found)?.[0] ?? '';
  if (found.startsWith('%')) return String.fromCharCode(Number.parseInt(code, 16));
  if (/^(?:\\u|&#x)/i.test(found)) return toUtf8(String.fromCodePoint(Number.parseInt(code, 16)));
  if (found.startsWith('&#')) return toUtf8(String.fromCodePoint(Number(code)));
  return found.startsWith('\\') ? found.slice(1) : (NAMED[found.toLowerCase()] as string);
}

const NAMED: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" };

/** A longer secret is recognised by its beginning. This bounds the work, and finds a secret that the provider cut. */
const HEAD_CHARS = 32;

function findAll(secret: string, text: string, found: (from: number, to: number) => void): void {
  const head = secret.slice(0, HEAD_CHARS);
  for (let from = text.indexOf(head); from !== -1; ) {
    let length = head.length;
    while (length < secret.length && secret[length] === text[from + length]) length++;
    found(from, from + length);
    from = text.indexOf(head, from + length);
  }
}

/** A key is recognised by the part of it that is this far beyond the cut, also if each character is an escape. */
const BEYOND_CHARS = 1024;

const KEY_SHAPES = new RegExp(
  [
    // The keys of most providers; some are shown with stars in the middle.
    String.raw`\bsk-[\w*.-]{8,}`,
    // Google: keys, and tokens of OAuth.
    String.raw`\bAIza[\w*-]{20,}`,
    String.raw`\bya29\.[\w.-]{10,}`,
    // Groq, xAI, Hugging Face, Replicate, Perplexity, NVIDIA.
    String.raw`\b(?:gsk_|xai-|hf_|r8_|pplx-|nvapi-)[\w*-]{16,}`,
    // AWS, GitHub, Slack.
    String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
    String.raw`\b(?:gh[pousr]_|github_pat_|xox[abpr]-)[\w-]{16,}`,
    // JSON web tokens. With an upper bound: a text full of `-eyJ` would be read to its end from each of them.
    String.raw`\beyJ[\w-]{8,1000}\.[\w-]+(?:\.[\w-]*)?`,
    // Any other key after its scheme, in any case.
    String.raw`(?<=\b[Bb][Ee][Aa][Rr][Ee][Rr]\s{1,8})[\w.~+/=*-]{8,}`,
  ].join('|'),
  'g',
);
