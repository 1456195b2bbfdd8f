import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
import { answerLimits } from '../../limits.ts';
import type { Outcome, UpstreamRequest, Watch } from './client.ts';
import { answeredTrailers, toAnswerHead, toPairs } from './headers.ts';
import { withRequestId } from './request-id.ts';
import { isStale } from './stale-connection.ts';

/** A request with its body, if it has one. */
interface Outgoing extends Omit<UpstreamRequest, 'body'> {
  readonly body: Uint8Array | Readable | undefined;
}

/** Sends a request and streams the answer to the client as it comes. Resolves when everything is passed on, and never rejects. */
export async function forward(outgoing: Outgoing, response: ServerResponse, watch: Watch = {}): Promise<Outcome> {
  const { pool, freshPool } = outgoing.upstream;
  const outcome = await forwardOver(pool, { outgoing, response, watch });
  if (outcome.kind !== 'unreachable' || !isStale(outcome.error) || !isRepeatable(outgoing)) return outcome;
  return forwardOver(freshPool, { outgoing, response, watch });
}

/**
 * A body in memory is a request to a model: a client that gets a 502 sends it again as well. Another POST may create something, which
 * must not exist twice.
 */
const isRepeatable = ({ method, body }: Outgoing): boolean =>
  body instanceof Uint8Array || (body === undefined && (method === 'GET' || method === 'HEAD'));

interface Forwarding {
  readonly outgoing: Outgoing;
  readonly response: ServerResponse;
  readonly watch: Watch;
}

function forwardOver(pool: Pool, { outgoing, response, watch }: Forwarding): Promise<Outcome> {
  // The client left: `close` was emitted already, so nothing would end the exchange.
  if (response.destroyed) return Promise.resolve({ kind: 'client-gone', status: undefined });
  return new Promise((resolve) => {
    const { upstream, method, target, headers, requestId, body } = outgoing;
    const exchange = new Exchange({ response, requestId, watch, resolve });
    const path = upstream.prefix + target;
    try {
      pool.dispatch({ path, method, headers: headers as string[], body: body ?? null }, exchange);
    } catch (error) {
      exchange.fail(error as Error);
    }
  });
}

interface ExchangeOptions {
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly watch: Watch;
  readonly resolve: (outcome: Outcome) => void;
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #requestId: string;
  readonly #watch: Watch;
  readonly #resolve: (outcome: Outcome) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: readonly string[] = [];
  #held: Buffer[] | undefined;
  #heldBytes = 0;
  #heldTimer: NodeJS.Timeout | undefined;
  #isHeadSent = false;
  #isOver = false;

  constructor({ response, requestId, watch, resolve }: ExchangeOptions) {
    this.#response = response;
    this.#requestId = requestId;
    this.#watch = watch;
    this.#resolve = resolve;
    response.on('close', this.#onClientClose);
  }

  readonly #onClientClose = (): void => {
    if (this.#isOver) return;
    this.#end({ kind: 'client-gone', status: this.#status });
    this.#controller?.abort(new Error('the client went away'));
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(new Error('the client went away'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    statusText?: string,
  ): void {
    if (status < 200) return;
    const upstreamHead = { status, reason: statusText ?? '', headers: controller.rawHeaders as Buffer[] };
    const head = toAnswerHead(upstreamHead, canTrail(this.#response, status));
    this.#status = head.status;
    this.#headers = head.headers;
    if (this.#watch.holds?.(status)) {
      this.#held = [];
      this.#heldTimer = setTimeout(() => this.#stopReading(), answerLimits.refusalMs);
      return;
    }
    this.#response.sendDate = false;
    this.#response.writeHead(head.status, head.reason, withRequestId(head.headers, this.#requestId));
    // After the bytes that came in the same packet, so that both are sent together.
    process.nextTick(() => this.#flush());
    this.#watch.start?.(head.status, head.headers);
  }

  #flush(): void {
    if (!this.#isHeadSent && !this.#isOver) this.#response.flushHeaders();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#held) {
      this.#heldBytes += chunk.length;
      if (this.#heldBytes <= answerLimits.refusalBytes) this.#held.push(chunk);
      else this.#stopReading();
      return;
    }
    this.#isHeadSent = true;
    if (!this.#response.write(chunk)) {
      controller.pause();
      this.#response.once('drain', () => controller.resume());
    }
    this.#watch.chunk?.(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#held) {
      this.#giveHeld(this.#held);
      return;
    }
    const trailers = controller.rawTrailers as Buffer[] | null | undefined;
    if (trailers && trailers.length > 0) this.#response.addTrailers(toPairs(answeredTrailers(trailers)));
    this.#end({ kind: 'passed', status: this.#status ?? 0 });
    this.#response.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    if (this.#held) this.#giveHeld(this.#held);
    else if (!this.#response.headersSent) this.#end({ kind: 'unreachable', error });
    else {
      this.#end({ kind: 'broken', status: this.#status ?? 0, error });
      this.#response.destroy();
    }
  }

  /** Continues with the received part of a refusal. */
  #stopReading(): void {
    this.#giveHeld(this.#held ?? []);
    this.#controller?.abort(new Error('the refusal is too long'));
  }

  #giveHeld(chunks: readonly Buffer[]): void {
    this.#end({ kind: 'held', status: this.#status ?? 0, headers: this.#headers, body: Buffer.concat(chunks) });
  }

  #end(outcome: Outcome): void {
    this.#isOver = true;
    clearTimeout(this.#heldTimer);
    this.#resolve(outcome);
  }
}

/** Whether Node sends this answer in chunks if it has no length. */
const canTrail = ({ req }: ServerResponse, status: number): boolean =>
  req.httpVersionMinor >= 1 && req.method !== 'HEAD' && status !== 204 && status !== 304;
