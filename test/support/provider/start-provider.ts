import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { answerMessages } from './anthropic/messages-api.ts';
import { Bill, type Charge } from './bill.ts';
import type { Exchange, Incoming, ProviderState } from './exchange.ts';
import { type Fault, type Faults, faultOf, statusFault } from './faults.ts';
import { answerGemini } from './gemini/gemini-api.ts';
import { answerChat } from './openai/chat-api.ts';
import { answerResponses } from './openai/responses-api.ts';
import { AutomaticCache, MarkedCache } from './prompt-cache.ts';
import { checkBytes, decode, parseBody, readBytes } from './read-request.ts';
import { errorBody, Rejection } from './rejection.ts';
import { type Api, type Route, routeOf, vendorOf } from './route.ts';
import type { Script } from './script.ts';
import { sendExchange } from './send.ts';

export interface ProviderOptions {
  readonly script: Script;
  /** A free one by default. */
  readonly port?: number;
  /** The clock of the prompt cache, in milliseconds. */
  readonly now?: () => number;
  readonly faults?: Faults;
  /** In place of the model's own window. */
  readonly contextTokens?: number;
  /** In place of the most bytes that the API takes. */
  readonly mostBytes?: number;
  /** Whether `requests` holds bodies too. On by default; off where thousands are sent. */
  readonly keepsBytes?: boolean;
}

/** A request as it came, and what became of it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
  /** 0 until it is answered. */
  status: number;
  /** The words of a refusal. */
  refused?: string;
  /** What it was billed for. */
  charge?: Charge;
  /** Whether the client went away before the end. */
  aborted: boolean;
}

export interface Provider {
  readonly url: string;
  readonly bill: Bill;
  readonly requests: readonly SeenRequest[];
  readonly sockets: () => number;
  /** Ends every connection, also those in use. */
  close(): Promise<void>;
}

/** Starts an upstream on loopback that is as strict as the providers, remembers, signs and bills like them. */
export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const bill = new Bill();
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const state = stateOf(options);
  const server = createServer((request, response) => {
    void new Answering({ options, state, bill, requests }).answer(request, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bill,
    requests,
    sockets: () => sockets.size,
    async close() {
      const closed = [server, ...sockets].map((part) => once(part, 'close'));
      server.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

function stateOf({ script, now, contextTokens }: ProviderOptions): ProviderState {
  return {
    script,
    now: now ?? Date.now,
    secret: 'the secret of the test provider',
    contextTokens,
    marked: new MarkedCache(),
    automatic: new AutomaticCache(),
    responses: new Map(),
    items: new Map(),
    needs: new Map(),
  };
}

const APIS: Readonly<Record<Api, (incoming: Incoming, state: ProviderState) => Promise<Exchange>>> = {
  anthropic: answerMessages,
  'openai-chat': answerChat,
  'openai-responses': answerResponses,
  gemini: answerGemini,
};

interface AnsweringParts {
  readonly options: ProviderOptions;
  readonly state: ProviderState;
  readonly bill: Bill;
  readonly requests: SeenRequest[];
}

/** One request, from its first byte to the last of its answer. */
class Answering {
  readonly #parts: AnsweringParts;

  constructor(parts: AnsweringParts) {
    this.#parts = parts;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { requests, options } = this.#parts;
    const bytes = await readBytes(request).catch(() => undefined);
    if (!bytes) return;
    const url = new URL(request.url ?? '/', 'http://provider');
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      bytes: options.keepsBytes === false ? Buffer.alloc(0) : bytes,
      status: 0,
      aborted: false,
    };
    const index = requests.push(seen) - 1;
    response.once('close', () => {
      seen.aborted = !response.writableFinished;
    });
    const route = routeOf(url.pathname);
    const api = route?.api ?? vendorOf(request.headers);
    const id = `req_${String(index + 1).padStart(6, '0')}`;
    const fault = faultOf(options.faults ?? [], { index, path: url.pathname });
    if (fault?.kind === 'reset' && fault.when === 'before-headers') return void request.socket.resetAndDestroy();
    try {
      if (fault?.kind === 'status') throw statusFault(api, fault);
      const exchange = await this.#exchange(seen, { route, api, url, bytes });
      seen.status = 200;
      await this.#send(response, exchange, { seen, api, id, fault, url });
    } catch (error) {
      const rejection = error instanceof Rejection ? error : new Rejection(String(error), { status: 500 });
      seen.status = rejection.status;
      seen.refused = rejection.message;
      refuse(response, { api, rejection, id });
    }
  }

  async #exchange(seen: SeenRequest, { route, api, url, bytes: sent }: Asked): Promise<Exchange> {
    const { options, state, bill } = this.#parts;
    if (!route) throw notFound(api, seen);
    if (seen.method !== 'POST') throw new Rejection('Method Not Allowed', { status: 405 });
    const bytes = decode(sent, seen.headers['content-encoding']);
    checkBytes(api, bytes, options.mostBytes);
    const body = parseBody(api, bytes);
    const incoming = { route, headers: seen.headers, query: url.searchParams, body };
    const exchange = await APIS[api](incoming, state);
    if (!exchange.charge) return exchange;
    seen.charge = exchange.charge;
    bill.add(exchange.charge);
    return exchange;
  }

  async #send(response: ServerResponse, exchange: Exchange, to: SendTo): Promise<void> {
    const { seen, api, id, fault, url } = to;
    const isEvents = api !== 'gemini' || url.searchParams.get('alt') === 'sse';
    await sendExchange(response, exchange, {
      headers: ownHeaders(api, id),
      fault,
      framing: api === 'gemini' ? (isEvents ? 'gemini-events' : 'list') : 'events',
      acceptsGzip: /\bgzip\b/.test(seen.headers['accept-encoding'] ?? ''),
    });
  }
}

interface Asked {
  readonly route: Route | undefined;
  readonly api: Api;
  readonly url: URL;
  readonly bytes: Buffer;
}

interface SendTo {
  readonly seen: SeenRequest;
  readonly api: Api;
  readonly id: string;
  readonly fault: Fault | undefined;
  readonly url: URL;
}

function notFound(api: Api, { method, path }: SeenRequest): Rejection {
  if (api === 'anthropic') return new Rejection('Not found', { status: 404 });
  if (api === 'gemini') return new Rejection('Requested entity was not found.', { status: 404 });
  return new Rejection(`Invalid URL (${method} ${path})`, { status: 404 });
}

const ownHeaders = (api: Api, id: string): Record<string, string> =>
  api === 'anthropic'
    ? { 'request-id': id, 'anthropic-organization-id': '00000000-0000-0000-0000-000000000000' }
    : api === 'gemini'
      ? { server: 'scaffolding on HTTPServer2' }
      : { 'x-request-id': id, 'openai-version': '2020-10-01', 'openai-processing-ms': '12' };

interface Refusal {
  readonly api: Api;
  readonly rejection: Rejection;
  readonly id: string;
}

function refuse(response: ServerResponse, { api, rejection, id }: Refusal): void {
  if (response.headersSent) return void response.destroy();
  const bytes = Buffer.from(JSON.stringify(errorBody(api, rejection, id)));
  response.writeHead(rejection.status, {
    ...ownHeaders(api, id),
    'content-type': 'application/json',
    'content-length': String(bytes.length),
    ...rejection.headers,
  });
  response.end(bytes);
}
