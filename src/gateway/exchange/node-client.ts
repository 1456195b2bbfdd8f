import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { answerFailure } from './answer.ts';
import type { Client, Failure, Outcome, OwnAnswer, UpstreamRequest, Watch } from './client.ts';
import { forward } from './forward.ts';
import type { InFlight } from './in-flight.ts';
import { readBody } from './read-body.ts';
import { REQUEST_ID_HEADER, type RequestIds, requestIdsOf } from './request-id.ts';

/** A client of a `node:http` server. */
export class NodeClient implements Client {
  readonly ids: RequestIds;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #inFlight: InFlight;

  constructor(request: IncomingMessage, response: ServerResponse, inFlight: InFlight) {
    this.#request = request;
    this.#response = response;
    this.#inFlight = inFlight;
    this.ids = requestIdsOf(this);
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }
  get url(): string {
    return this.#request.url ?? '';
  }
  get headers(): Client['headers'] {
    return this.#request.headers;
  }
  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  readBody(mostBytes: number): Promise<Buffer | undefined> {
    return readBody(this.#request, mostBytes);
  }

  send(request: UpstreamRequest, watch?: Watch): Promise<Outcome> {
    return request.body ? forward(request, this.#response, watch) : this.#stream(request, watch);
  }

  async #stream(request: UpstreamRequest, watch: Watch | undefined): Promise<Outcome> {
    const { 'content-length': length, 'transfer-encoding': encoding } = this.#request.headers;
    const hasBody = encoding !== undefined || (length !== undefined && length !== '0');
    const headers = hasBody && length !== undefined ? [...request.headers, 'content-length', length] : request.headers;
    if (hasBody) this.#inFlight.beginUpload(this.#response);
    // Not the request itself: if an upstream answers early, it ends the body, and with it the client's connection.
    const body = hasBody ? this.#request.pipe(new PassThrough()) : undefined;
    const outcome = await forward({ ...request, headers, body }, this.#response, watch);
    // If the upstream answered early, the rest of the body is unread and would block the client's connection.
    this.#request.resume();
    return outcome;
  }

  fail(status: number, failure: Failure): void {
    if (this.#response.destroyed) return;
    if (!this.#response.headersSent) this.#response.setHeader(REQUEST_ID_HEADER, this.ids.requestId);
    answerFailure(this.#response, status, failure);
  }

  answerSelf({ status, failure, headers = {} }: OwnAnswer): void {
    for (const name in headers) this.#response.setHeader(name, headers[name] as string);
    if (failure) this.fail(status, failure);
    else this.#response.writeHead(status).end();
  }
}
