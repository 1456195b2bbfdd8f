import { answerLimits } from '../../limits.ts';
import type { RawHeaders } from './headers.ts';

/** The parts of a request in which clients send credentials. */
export interface Credentialed {
  readonly rawHeaders: RawHeaders;
  /** Path and query. */
  readonly url: string;
}

/**
 * The beginning of a provider's text without credentials: it may quote the key that it refuses. All values that the
 * request carried are removed, and everything that looks like a key of a known kind.
 */
export function redactCredentials(text: string, request: Credentialed): string {
  const secrets = secretsOf(request);
  if (secrets.length > answerLimits.secretsPerRequest) return REDACTED;
  const written = [...new Set(secrets.flatMap(spellings))];
  const end = Math.min(text.length, answerLimits.redactedChars);
  // A key that is cut at `end` would not be found: the rest of it is read too.
  const longest = written.reduce((most, { length }) => Math.max(most, length), SHAPE_CHARS);
  const read = text.slice(0, end + longest);
  const isSecret = new Uint8Array(read.length);
  for (const secret of written)
    for (let at = read.indexOf(secret); at !== -1; at = read.indexOf(secret, at + secret.length))
      isSecret.fill(1, at, at + secret.length);
  for (const { index, 0: key } of read.matchAll(KEY_SHAPES)) isSecret.fill(1, index, index + key.length);
  return withoutMarked(read.slice(0, end), isSecret);
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

/** Shorter values are no credentials, and would be found in any text. */
const LEAST_SECRET_CHARS = 6;

const SECRET_HEADER = /auth|key|token|secret|cookie|credential|password/i;
const SECRET_QUERY = /[?&](?:key|api[-_]?key|access_token|token|auth)=([^&#]+)/gi;

function secretsOf({ rawHeaders, url }: Credentialed): string[] {
  const values = rawHeaders.flatMap((value, i) =>
    i % 2 === 1 && SECRET_HEADER.test(rawHeaders[i - 1] as string) ? [value, ...value.split(/[\s;,]+/)] : [],
  );
  const inQuery = [...url.matchAll(SECRET_QUERY)].map(([, value = '']) => decoded(value));
  const secrets = [...new Set([...values, ...inQuery])];
  return secrets.filter((secret) => secret.length >= LEAST_SECRET_CHARS && !SCHEME.test(secret));
}

/** Words that come before a credential. */
const SCHEME = /^(?:bearer|basic|digest|negotiate|token)$/i;

/** The text itself, and as it is written in JSON and in addresses. */
function spellings(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret)];
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** A key of a known kind, however long, is recognised by so many of its characters. */
const SHAPE_CHARS = 1024;

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
    // Any other key after its scheme.
    String.raw`(?<=\bBearer\s)[\w.~+/=*-]{8,}`,
  ].join('|'),
  'g',
);
