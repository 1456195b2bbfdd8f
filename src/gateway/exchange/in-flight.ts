import type { ServerResponse } from 'node:http';
import { recordLimits } from '../../limits.ts';
import { inTime } from '../../store/in-time.ts';
import { answerFailure } from './answer.ts';

/** How long open exchanges may take after the gateway was told to stop. */
export const DEFAULT_GRACE_MS = 30_000;
/** The longest time that can be set. It is below 2^31, above which Node fires a timer at once. */
export const MOST_GRACE_MS = 86_400_000;

interface Open {
  readonly response: ServerResponse;
  /** `stream`: our own stream, which never ends by itself. `upload`: the request is forwarded while it still comes in. */
  kind: 'exchange' | 'stream' | 'upload';
}

/** The answers in flight. */
export class InFlight {
  /**
   * A list, not a Set: V8 keeps the tables that a Set has outgrown, with all answers in them, until a full garbage collection. A Set that
   * changes on every request outgrows a table every few requests.
   */
  readonly #open: Open[] = [];
  #isDraining = false;
  #isClosing = false;
  #onIdle: (() => void) | undefined;
  #unrecorded = 0;
  #onRecorded: (() => void) | undefined;

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Whether the gateway was told to stop. It may keep serving for some time. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Answers now close their connection, so that a balancer sends the next request elsewhere. */
  drain(): void {
    this.#isDraining = true;
    for (const { response } of this.#open) response.shouldKeepAlive = false;
  }

  begin(response: ServerResponse): void {
    const open: Open = { response, kind: 'exchange' };
    this.#open.push(open);
    // Writing to an ended answer is an error. Without a listener it would end the process.
    response.on('error', () => {});
    response.once('close', () => {
      this.#open.splice(this.#open.indexOf(open), 1);
      if (this.#open.length === 0) this.#onIdle?.();
    });
    // An answer that waits for another one on its connection has no socket, and Node never notifies it that the connection is gone.
    if (response.socket === null) closeWithSocket(response);
    if (this.#isDraining) response.shouldKeepAlive = false;
  }

  /** An exchange counts until its outcome is recorded, a moment after its answer has ended. */
  beginExchange(): void {
    this.#unrecorded += 1;
  }

  endExchange(): void {
    this.#unrecorded -= 1;
    if (this.#unrecorded === 0) this.#onRecorded?.();
  }

  /** Resolves when the outcome of every exchange is recorded, or after some time. */
  async recorded(): Promise<void> {
    if (this.#unrecorded === 0) return;
    const recorded = new Promise<void>((resolve) => {
      this.#onRecorded = resolve;
    });
    await inTime(recorded, recordLimits.closeMs, () => {});
  }

  /** Ends our own stream when the gateway closes. */
  endAtClose(stream: ServerResponse): void {
    this.#mark(stream, 'stream');
  }

  /** An upload that is being streamed upstream counts as in flight when the gateway closes. */
  beginUpload(response: ServerResponse): void {
    this.#mark(response, 'upload');
  }

  #mark(response: ServerResponse, kind: Open['kind']): void {
    const open = this.#open.find((one) => one.response === response);
    if (open) open.kind = kind;
  }

  /** Ends our own streams and refuses requests that are not complete. Exchanges with an upstream continue. */
  close(): void {
    this.#isDraining = true;
    this.#isClosing = true;
    for (const { response, kind } of [...this.#open]) {
      response.shouldKeepAlive = false;
      if (kind === 'stream') response.end();
      else if (kind === 'exchange' && !response.req.complete) answerFailure(response, 503, STOPPING);
    }
  }

  /** Resolves when nothing is in flight. Exchanges that are not done in time are cut off. */
  async idle(graceMs: number): Promise<void> {
    if (this.#open.length === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    await (Number.isFinite(graceMs) ? inTime(idle, Math.min(graceMs, MOST_GRACE_MS), () => {}) : idle);
    for (const { response } of [...this.#open]) response.destroy();
  }
}

const STOPPING = { type: 'overloaded_error', message: 'Palimpsest is stopping. Send the request again.' };

function closeWithSocket(response: ServerResponse): void {
  const { socket } = response.req;
  // One listener for each answer that waits; a client may send many requests without waiting.
  socket.setMaxListeners(0);
  const close = (): void => void response.emit('close');
  socket.once('close', close);
  response.once('close', () => socket.off('close', close));
}
