import { randomUUID } from 'node:crypto';
import type { Client } from './client.ts';
import { withoutHeader } from './headers.ts';
import { redactCredentials } from './redact.ts';

/** The header of an answer that has the request's id. */
export const REQUEST_ID_HEADER = 'x-palimpsest-request-id';

/** The names of one request. */
export interface RequestIds {
  /** Unique among the requests of all processes. */
  readonly id: string;
  /** The client's id, which a retry may repeat; otherwise `id`. It is in the answer, the log, the receipt, the record and the span. */
  readonly requestId: string;
}

/** Names a request. */
export function requestIdsOf(request: Pick<Client, 'headers' | 'rawHeaders' | 'url'>): RequestIds {
  const id = nextId();
  return { id, requestId: givenId(request) ?? id };
}

/** The headers of an answer with the request's id. A gateway behind this one names the request in its own way. */
export const withRequestId = (headers: string[], requestId: string): string[] => [
  ...withoutHeader(headers, REQUEST_ID_HEADER),
  REQUEST_ID_HEADER,
  requestId,
];

const PROCESS = randomUUID().slice(0, 13);
let count = 0;

const nextId = (): string => `${PROCESS}-${++count}`;

/** In the order in which they are looked for: proxies set the first, the SDKs of providers the second. */
const GIVEN_HEADERS = ['x-request-id', 'x-client-request-id'] as const;

/** Only an id that can be logged: short, of plain characters, and no credential. */
function givenId(request: Pick<Client, 'headers' | 'rawHeaders' | 'url'>): string | undefined {
  for (const name of GIVEN_HEADERS) {
    const value = request.headers[name];
    if (typeof value === 'string' && PLAIN.test(value) && redactCredentials(value, request) === value) return value;
  }
  return undefined;
}

const PLAIN = /^[A-Za-z0-9][\w.:-]{0,127}$/;
