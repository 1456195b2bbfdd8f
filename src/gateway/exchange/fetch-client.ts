import { answerLimits } from '../../limits.ts';
import type { Client, Failure, Outcome, OwnAnswer, UpstreamRequest, Watch } from './client.ts';
import { type AnswerHead, headerOf, toAnswerHead, toPairs, withoutHeader } from './headers.ts';
import { REQUEST_ID_HEADER, type RequestIds, requestIdsOf, withRequestId } from './request-id.ts';

/** A client of a runtime that speaks `Request` and `Response`. */
export class FetchClient implements Client {
  readonly ids: RequestIds;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  /** Resolves when the answer begins. */
  readonly answer: Promise<Response>;
  readonly #request: Request;
  #resolve!: (answer: Response) => void;
  #reader: Reader | undefined;
  /** The beginning of a body that is too large to be read. */
  #chunks: Uint8Array[] = [];
  #isBodyBroken = false;

  constructor(request: Request) {
    const { host, origin } = new URL(request.url);
    this.#request = request;
    this.method = request.method;
    this.url = request.url.slice(origin.length);
    // Runtimes take the address of a request from its `Host`, and not all of them keep the header.
    this.headers = { host, ...Object.fromEntries(request.headers) };
    this.rawHeaders = [...request.headers].flat();
    this.ids = requestIdsOf(this);
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  async readBody(mostBytes: number): Promise<Buffer | undefined> {
    this.#reader = this.#request.body?.getReader();
    const chunks: Uint8Array[] = [];
    await readUpTo(this.#reader, { chunks, mostBytes });
    if (bytesOf(chunks) <= mostBytes) return Buffer.concat(chunks);
    this.#chunks = chunks;
    return undefined;
  }

  get #isGone(): boolean {
    return this.#isBodyBroken || this.#request.signal.aborted;
  }

  async send({ upstream, method, target, headers, body }: UpstreamRequest, watch: Watch = {}): Promise<Outcome> {
    try {
      const content = body ?? this.#streamedBody();
      const answer = await fetch(`${upstream.origin}${upstream.prefix}${target}`, {
        method,
        headers: [...toPairs(withoutHeader([...headers], 'accept-encoding')), ['accept-encoding', ACCEPTED]],
        body: content,
        redirect: 'manual',
        signal: this.#request.signal,
        // Only a streamed body needs it.
        ...(content instanceof ReadableStream ? { duplex: 'half' } : {}),
      } as RequestInit);
      return await this.#pass(answer, watch);
    } catch (error) {
      if (this.#isGone) return { kind: 'client-gone', status: undefined };
      const failed = { kind: 'unreachable', error: error as Error } as const;
      return isWithheld(error) ? { ...failed, failure: WITHHELD } : failed;
    }
  }

  /** The client's body. An error in it is the client's, though `fetch` reports it as one of the upstream. */
  #streamedBody(): ReadableStream<Uint8Array> | null {
    this.#reader ??= this.#request.body?.getReader();
    const onError = (): void => {
      this.#isBodyBroken = true;
    };
    return this.#reader ? joined(this.#chunks, this.#reader, onError) : null;
  }

  async #pass(answer: Response, watch: Watch): Promise<Outcome> {
    if (answer.status > MOST_STATUS) {
      await answer.body?.cancel();
      const failure = oddStatus(answer.status);
      const error = Object.assign(new RangeError(failure.message), { code: `STATUS_${answer.status}` });
      return { kind: 'unreachable', error, failure };
    }
    const { status, reason, headers } = toHead(answer);
    if (watch.holds?.(status)) return { kind: 'held', status, headers, body: await readRefusal(answer.body) };
    return new Promise((resolve) => {
      const gone = (): void => resolve({ kind: 'client-gone', status });
      const onEnd = (error?: Error): void => {
        if (error && this.#isGone) gone();
        else resolve(error ? { kind: 'broken', status, error } : { kind: 'passed', status });
      };
      const body = answer.body && watched(answer.body, { watch, onEnd, onCancel: gone });
      const answered = toPairs(withRequestId(headers, this.ids.requestId));
      this.#resolve(new Response(body, { status, statusText: reason, headers: answered }));
      watch.start?.(status, headers);
      if (!body) onEnd();
      // An abort while the client does not read: no read fails, so only the signal shows it.
      else if (this.#request.signal.aborted) gone();
      else this.#request.signal.addEventListener('abort', gone, { once: true });
    });
  }

  /** Resolves the answer at the end of an exchange, for a client that left before it began. */
  readonly close = (): void => this.fail(499, GONE);

  fail(status: number, failure: Failure): void {
    this.answerSelf({ status, failure });
  }

  answerSelf({ status, failure, headers = {} }: OwnAnswer): void {
    const init = { status, headers: { ...headers, ...(failure ? { [REQUEST_ID_HEADER]: this.ids.requestId } : {}) } };
    const body = failure && { type: 'error', error: { ...failure, code: failure.type } };
    this.#resolve(body ? Response.json(body, init) : new Response(null, init));
  }
}

const GONE: Failure = { type: 'client_closed_request', message: 'The client left before there was an answer' };

/** The highest status that a `Response` can have. */
const MOST_STATUS = 599;

const oddStatus = (status: number): Failure => ({
  type: 'upstream_status',
  message: `The upstream answered with status ${status}, but a Response can only have 200 to ${MOST_STATUS}. Expected a status of HTTP: is this upstream an API of a provider?`,
});

const WITHHELD: Failure = {
  type: 'upstream_status',
  message:
    'The fetch of this runtime withheld the answer of the upstream, as it does with status 407. Is the upstream a proxy that wants a login?',
};

/** Whether `fetch` withholds an answer. Network errors have a code. */
function isWithheld(error: unknown): boolean {
  const { cause } = error as Error;
  return cause instanceof Error && !('code' in cause) && WITHHELD_REASONS.has(cause.message);
}

const WITHHELD_REASONS = new Set(['', 'proxy authentication required']);

/**
 * The upstream is asked for encodings that `fetch` decodes in every runtime. The `Accept-Encoding` of the client does not
 * matter, because the client gets the decoded answer. It must not be forwarded: a runtime may not decode zstd.
 */
const ACCEPTED = 'gzip, br';
const DECODED = new Set(['gzip', 'x-gzip', 'deflate', 'br']);

/** The head of an answer that `fetch` may have decoded. An upstream may use an encoding that it was not asked for. */
function toHead({ status, statusText, headers }: Response): AnswerHead {
  const head = toAnswerHead({ status, reason: statusText, headers: [...headers].flat() }, false);
  const kept = withoutHeader(head.headers, 'content-length');
  // If `fetch` does not know one encoding of a list, it decodes none.
  const encodings = headerOf(kept, 'content-encoding')?.toLowerCase().split(',') ?? [];
  const isDecoded = encodings.every((name) => DECODED.has(name.trim()));
  return { ...head, headers: isDecoded ? withoutHeader(kept, 'content-encoding') : kept };
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

interface UpTo {
  /** Chunks are added here, so that they are available even if reading fails. */
  readonly chunks: Uint8Array[];
  readonly mostBytes: number;
}

/** Reads to the end, or until there are more bytes than wanted. */
async function readUpTo(reader: Reader | undefined, { chunks, mostBytes }: UpTo): Promise<void> {
  for (let bytes = 0; reader && bytes <= mostBytes; ) {
    const { done, value } = await reader.read();
    if (done) return;
    chunks.push(value);
    bytes += value.length;
  }
}

const bytesOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

/** The beginning of a refusal: as much as the limits allow and the upstream sends. */
async function readRefusal(body: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  const reader = body?.getReader();
  const chunks: Uint8Array[] = [];
  const stop = (): void => void reader?.cancel().catch(() => {});
  const timer = setTimeout(stop, answerLimits.refusalMs);
  await readUpTo(reader, { chunks, mostBytes: answerLimits.refusalBytes }).catch(() => {});
  clearTimeout(timer);
  stop();
  return Buffer.concat(chunks);
}

/** The chunks, then the rest of the stream that they are from. */
function joined(chunks: Uint8Array[], rest: Reader, onError: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const next = chunks.shift();
      if (next) return controller.enqueue(next);
      try {
        const { done, value } = await rest.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        onError();
        throw error;
      }
    },
    cancel: (reason) => rest.cancel(reason),
  });
}

interface Watching {
  readonly watch: Watch;
  readonly onEnd: (error?: Error) => void;
  readonly onCancel: () => void;
}

/** The same stream, watched while the client reads it. */
function watched(stream: ReadableStream<Uint8Array>, { watch, onEnd, onCancel }: Watching): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) {
          controller.enqueue(value);
          watch.chunk?.(Buffer.from(value));
          return;
        }
        controller.close();
        onEnd();
      } catch (error) {
        controller.error(error);
        onEnd(error as Error);
      }
    },
    cancel(reason) {
      onCancel();
      return reader.cancel(reason);
    },
  });
}
