import { Rejection } from './rejection.ts';
import type { Api } from './route.ts';

/** What may go wrong with one request. */
export type Fault =
  | { readonly kind: 'slow-headers' | 'slow-stream'; readonly delayMs: number }
  | { readonly kind: 'reset'; readonly when: 'before-headers' | 'after-headers' }
  /** Half of the events, then the end of the connection in the middle of an event. */
  | { readonly kind: 'half-stream' }
  | { readonly kind: 'status'; readonly status: 429 | 500 | 503 | 529; readonly retryAfterSeconds?: number }
  /** Status 200 and bytes that are no JSON, no events and no UTF-8. */
  | { readonly kind: 'garbage' }
  | { readonly kind: 'huge'; readonly bytes: number };

/** One for each request in turn, or whatever a function makes of it. */
export type Faults =
  | readonly (Fault | undefined)[]
  | ((request: { readonly index: number; readonly path: string }) => Fault | undefined);

export const faultOf = (faults: Faults, request: { index: number; path: string }): Fault | undefined =>
  typeof faults === 'function' ? faults(request) : faults[request.index];

/** A refusal that has nothing to do with the request, with the headers that tell when to come back. */
export function statusFault(api: Api, { status, retryAfterSeconds }: Extract<Fault, { kind: 'status' }>): Rejection {
  const headers = retryAfterSeconds === undefined ? {} : retryHeaders(api, retryAfterSeconds);
  const { text, type, code } = WORDS[api === 'openai-responses' ? 'openai-chat' : api](status);
  return new Rejection(text, { status, headers, ...(type ? { type } : {}), ...(code ? { code } : {}) });
}

function retryHeaders(api: Api, seconds: number): Record<string, string> {
  const again = { 'retry-after': String(seconds) };
  if (api === 'gemini') return again;
  if (api === 'anthropic')
    return {
      ...again,
      'x-should-retry': 'true',
      'anthropic-ratelimit-input-tokens-limit': '40000',
      'anthropic-ratelimit-input-tokens-remaining': '0',
    };
  return {
    ...again,
    'retry-after-ms': String(seconds * 1000),
    'x-ratelimit-limit-tokens': '30000',
    'x-ratelimit-remaining-tokens': '0',
  };
}

interface Words {
  readonly text: string;
  readonly type?: string;
  readonly code?: string;
}

const WORDS: Readonly<Record<'anthropic' | 'openai-chat' | 'gemini', (status: number) => Words>> = {
  anthropic(status) {
    if (status === 529) return { text: 'Overloaded' };
    if (status !== 429) return { text: 'Internal server error' };
    return { text: "This request would exceed your organization's rate limit of 40,000 input tokens per minute." };
  },
  'openai-chat'(status) {
    if (status !== 429)
      return { text: 'The server had an error while processing your request. Sorry about that!', type: 'server_error' };
    const text =
      'Rate limit reached for gpt-5 in organization org-test on tokens per min (TPM): Limit 30000, Used 30000.';
    return { text, type: 'tokens', code: 'rate_limit_exceeded' };
  },
  gemini(status) {
    if (status === 429) return { text: 'You exceeded your current quota, please check your plan and billing details.' };
    return { text: 'The model is overloaded. Please try again later.', type: 'UNAVAILABLE' };
  },
};
