import { answerLimits } from '../../limits.ts';
import type { Client, Failure, Outcome, UpstreamRequest, Watch } from './client.ts';
import { toReason } from './headers.ts';

/** A client of a runtime that speaks `Request` and `Response`. */
export class FetchClient implements Client {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  /** Resolves when the answer begins. */
  readonly answer: Promise<Response>;
  readonly #request: Request;
  #resolve!: (answer: Response) => void;
  #body: ReadableStream<Uint8Array> | null;

  constructor(request: Request) {
    const { host, origin } = new URL(request.url);
    this.#request = request;
    this.#body = request.body;
    this.method = request.method;
    this.url = request.url.slice(origin.length);
    // Runtimes take the address of a request from its `Host`, and not all of them keep the header.
    this.headers = { host, ...Object.fromEntries(request.headers) };
    this.rawHeaders = [...request.headers].flat();
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  async readBody(mostBytes: number): Promise<Buffer | undefined> {
    const { chunks, rest } = await readUpTo(this.#body, mostBytes);
    if (!rest) return Buffer.concat(chunks);
    this.#body = joined(chunks, rest);
    return undefined;
  }

  async send({ upstream, method, target, headers, body }: UpstreamRequest, watch: Watch = {}): Promise<Outcome> {
    const content = body ?? this.#body;
    try {
      const answer = await fetch(`${upstream.origin}${upstream.prefix}${target}`, {
        method,
        headers: toPairs(headers),
        body: content,
        redirect: 'manual',
        signal: this.#request.signal,
        // A body that streams needs it, and nothing else does.
        ...(content instanceof ReadableStream ? { duplex: 'half' } : {}),
      } as RequestInit);
      return await this.#pass(answer, watch);
    } catch (error) {
      return this.#request.signal.aborted
        ? { kind: 'client-gone', status: undefined }
        : { kind: 'unreachable', error: error as Error };
    }
  }

  async #pass(answer: Response, watch: Watch): Promise<Outcome> {
    const { status } = answer;
    // `fetch` has taken the compression away.
    const kept = [...answer.headers].filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
    if (watch.holds?.(status)) {
      const { chunks, rest } = await readUpTo(answer.body, answerLimits.refusalBytes);
      await rest?.cancel();
      return { kind: 'held', status, headers: kept.flat(), body: Buffer.concat(chunks) };
    }
    return new Promise((resolve) => {
      const body = answer.body && watched(answer.body, { status, watch, resolve });
      this.#resolve(new Response(body, { status, statusText: toReason(answer.statusText), headers: kept }));
      watch.start?.(status, kept.flat());
      if (!body) resolve({ kind: 'passed', status });
    });
  }

  /** Settles the answer at the end of an exchange, for a client that left before it began. */
  readonly close = (): void => this.fail(499, GONE);

  fail(status: number, { type, message }: Failure): void {
    this.#resolve(Response.json({ type: 'error', error: { type, message, code: type } }, { status }));
  }
}

const GONE: Failure = { type: 'client_closed_request', message: 'The client left before there was an answer' };

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** The first chunks of a stream. `rest` reads on where it is longer; the last chunk may go over the limit. */
async function readUpTo(
  stream: ReadableStream<Uint8Array> | null,
  mostBytes: number,
): Promise<{ readonly chunks: Uint8Array[]; readonly rest: Reader | undefined }> {
  const reader = stream?.getReader();
  const chunks: Uint8Array[] = [];
  for (let bytes = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    bytes += value.length;
    if (bytes > mostBytes) return { chunks, rest: reader };
  }
  return { chunks, rest: undefined };
}

function joined(chunks: Uint8Array[], rest: Reader): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = chunks.length > 0 ? { done: false, value: chunks.shift() } : await rest.read();
      if (done) controller.close();
      else controller.enqueue(value as Uint8Array);
    },
    cancel: (reason) => rest.cancel(reason),
  });
}

interface Watching {
  readonly status: number;
  readonly watch: Watch;
  readonly resolve: (outcome: Outcome) => void;
}

/** The same stream, watched while the client reads it. */
function watched(stream: ReadableStream<Uint8Array>, { status, watch, resolve }: Watching): ReadableStream<Uint8Array> {
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
        resolve({ kind: 'passed', status });
      } catch (error) {
        controller.error(error);
        resolve({ kind: 'broken', status, error: error as Error });
      }
    },
    cancel(reason) {
      resolve({ kind: 'client-gone', status });
      return reader.cancel(reason);
    },
  });
}

function toPairs(headers: readonly string[]): [string, string][] {
  return headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? ''] as [string, string]] : []));
}
