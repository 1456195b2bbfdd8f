import type { RequestIds } from './request-id.ts';
import type { Upstream } from './upstreams.ts';

/** The client's side of an exchange. There is one for `node:http`, and one for `Request` and `Response`. */
export interface Client {
  readonly ids: RequestIds;
  readonly method: string;
  /** The target with the query, and with our token if the address has one. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Headers as received: a name, its value, the next name. */
  readonly rawHeaders: readonly string[];
  /** The whole body. Undefined if it is larger than that: then it can still be streamed. Rejects if the client leaves. */
  readBody(mostBytes: number): Promise<Buffer | undefined>;
  /** Sends a request and passes the answer to the client while it comes. Never rejects. */
  send(request: UpstreamRequest, watch?: Watch): Promise<Outcome>;
  /** Answers in place of the upstream. Once an answer has begun, it ends the connection instead. */
  fail(status: number, failure: Failure): void;
  /** Answers a request that goes to no upstream. */
  answerSelf(answer: OwnAnswer): void;
}

/** An answer of the gateway itself: an error, or only a status. */
export interface OwnAnswer {
  readonly status: number;
  readonly failure?: Failure;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error in a shape in which the clients of all providers find the message. */
export interface Failure {
  readonly type: string;
  readonly message: string;
}

/** A request to an upstream. */
export interface UpstreamRequest {
  readonly upstream: Upstream;
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly string[];
  /** The request id that is added to the answer. */
  readonly requestId: string;
  /** Undefined: the client's own body, streamed while it comes. */
  readonly body: Uint8Array | undefined;
}

/** Watches an answer while it passes. Each call comes after the bytes were given to the client. */
export interface Watch {
  /** True holds the answer back: it becomes the outcome, and the client gets nothing yet. */
  holds?(status: number): boolean;
  start?(status: number, headers: readonly string[]): void;
  chunk?(chunk: Buffer): void;
}

/** How an exchange ended. An upstream's mistakes are data, not errors. */
export type Outcome =
  | { readonly kind: 'passed'; readonly status: number }
  | { readonly kind: 'held'; readonly status: number; readonly headers: readonly string[]; readonly body: Buffer }
  /** Nothing was passed on yet. If there is a failure, the client gets it. */
  | { readonly kind: 'unreachable'; readonly error: Error; readonly failure?: Failure }
  /** The answer broke off. The client's connection is closed, so that half an answer does not look complete. */
  | { readonly kind: 'broken'; readonly status: number; readonly error: Error }
  | { readonly kind: 'client-gone'; readonly status: number | undefined };
