import type { RawHeaders } from './headers.ts';

/** The parts of a request in which clients send credentials. */
export interface Credentialed {
  readonly rawHeaders: RawHeaders;
  /** Path and query. */
  readonly url: string;
}

/**
 * A provider's words without credentials: it may quote the key that it refuses. The values that the request carried are
 * removed wherever they occur, and everything that looks like a key of a known kind.
 */
export function redactCredentials(text: string, request: Credentialed): string {
  let redacted = text;
  for (const secret of secretsOf(request))
    for (const written of spellings(secret)) redacted = redacted.replaceAll(written, REDACTED);
  return redacted.replace(KEY_SHAPES, REDACTED);
}

const REDACTED = '(redacted)';

/** Shorter values are no credentials, and would be found in any text. */
const LEAST_SECRET_CHARS = 6;

const SECRET_HEADER = /auth|key|token|secret|cookie|credential|password/i;
const SECRET_QUERY = /[?&](?:key|api[-_]?key|access_token|token|auth)=([^&#]+)/gi;

/** Longest first: one may be a part of another. */
function secretsOf({ rawHeaders, url }: Credentialed): string[] {
  const values = rawHeaders.flatMap((value, i) =>
    i % 2 === 1 && SECRET_HEADER.test(rawHeaders[i - 1] as string) ? [value, ...value.split(/[\s;,]+/)] : [],
  );
  const inQuery = [...url.matchAll(SECRET_QUERY)].map(([, value = '']) => decoded(value));
  return [...new Set([...values, ...inQuery])]
    .filter((secret) => secret.length >= LEAST_SECRET_CHARS && !SCHEME.test(secret))
    .sort((a, b) => b.length - a.length);
}

/** The words before a credential. */
const SCHEME = /^(?:bearer|basic|digest|negotiate|token)$/i;

/** As JSON and addresses write a text too. */
function spellings(secret: string): Set<string> {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return new Set([secret, inJson, inJson.replaceAll('/', '\\/'), encodeURIComponent(secret)]);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

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
    // JSON web tokens.
    String.raw`\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?`,
    // Any other one behind its scheme.
    String.raw`(?<=\bBearer\s)[\w.~+/=*-]{8,}`,
  ].join('|'),
  'g',
);
