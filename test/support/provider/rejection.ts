import type { Api } from './route.ts';

/** What the provider refuses, in its own words. */
export class Rejection extends Error {
  readonly status: number;
  readonly type: string | undefined;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(text: string, about: RejectionAbout = {}) {
    super(text);
    this.status = about.status ?? 400;
    this.type = about.type;
    this.param = about.param ?? null;
    this.code = about.code ?? null;
    this.headers = about.headers ?? {};
  }
}

interface RejectionAbout {
  readonly status?: number;
  readonly type?: string;
  readonly param?: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The body of an error, in the shape of each provider. */
export function errorBody(api: Api, rejection: Rejection, requestId: string): object {
  const { status, message, param, code } = rejection;
  if (api === 'anthropic') {
    const type = rejection.type ?? ANTHROPIC_TYPES[status] ?? 'api_error';
    return { type: 'error', error: { type, message }, request_id: requestId };
  }
  if (api === 'gemini') return { error: { code: status, message, status: rejection.type ?? GEMINI_STATUS[status] } };
  return { error: { message, type: rejection.type ?? 'invalid_request_error', param, code } };
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

const GEMINI_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};
