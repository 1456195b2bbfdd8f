import { answerLimits } from '../../limits.ts';
import { credentialOf } from '../../store/access.ts';
import type { Api, Decided, Outgoing } from '../decide/decide.ts';
import { decidePlain } from '../decide/plain-request.ts';
import { leaveUnread } from '../decide/unread.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { Sent } from '../receipts/write-receipt.ts';
import { wires } from '../wire/index.ts';
import { providers } from '../wire/providers.ts';
import { finishRequest } from './finish-request.ts';
import { forward, type Outcome, type Watch } from './forward.ts';
import { forwardedHeaders } from './headers.ts';
import { passThrough, type Served } from './pass-through.ts';
import { prepareRequest, recordEvents } from './prepare-request.ts';
import { decodeBody, readBody } from './read-body.ts';
import { redactCredentials } from './redact.ts';
import { settleRequest } from './settle-request.ts';
import { UsageReader, type UsageReaderOptions } from './usage-reader.ts';

/** Serves a request of an interface that is understood. */
export async function serveUnderstood(context: GatewayContext, served: Served): Promise<void> {
  const { tenant, route } = served;
  const credential = credentialOf(served.request.headers, { hasAuthorization: true, target: route.target });
  // Not waited for: small talk needs the store only for its secret, to know whose totals it belongs to.
  if (!context.tenants.opened(tenant)) context.tenants.gate(tenant).catch(() => {});
  const startedAt = context.now();
  const began = performance.now();
  const encoded = await readBody(served.request, context.limits.bodyBytes).catch(() => null);
  if (encoded === null) return;
  const read = performance.now();
  const decided =
    decideAtOnce(context, served, encoded) ?? (await decideOn(context, { ...served, credential }, encoded));
  const overheadMs = performance.now() - read;
  const { outcome, sent } = await send(context, served, { encoded, decided });
  const times = { startedAt, overheadMs, totalMs: performance.now() - began };
  const entry = settleRequest(context, { tenant, credential, route, decided, sent, times });
  finishRequest(context, served, { outcome, entry });
}

/** Small talk needs no store and no memory: most requests of a chat are done with here. */
function decideAtOnce(
  { facts }: GatewayContext,
  { request, route }: Served,
  body: Buffer | undefined,
): Decided | undefined {
  if (!body || route.isCountTokens || request.headers['content-encoding'] !== undefined) return undefined;
  const headers = request.headers as Record<string, string>;
  try {
    const prices = facts.prices ?? providers[route.provider].prices;
    return decidePlain({ api: route.api as Api, path: route.path, headers, body }, { prices });
  } catch {
    // What is odd about it is found, and told, where all others are read.
    return undefined;
  }
}

interface Known extends Served {
  readonly credential: string | undefined;
}

async function decideOn(context: GatewayContext, served: Known, encoded: Buffer | undefined): Promise<Decided> {
  if (!encoded) return leaveUnread('too-large', context.limits);
  const { headers } = served.request;
  const encoding = headers['content-encoding'];
  const body = encoding === undefined ? encoded : await decodeBody(encoded, encoding, context.limits.bodyBytes);
  if (!body) return leaveUnread('content-encoding');
  const { api, path, provider, isCountTokens } = served.route;
  const request = { api: api as Api, path, headers: headers as Record<string, string>, body };
  return prepareRequest(context, request, {
    tenant: served.tenant,
    provider,
    credential: served.credential,
    isCountTokens,
  });
}

interface ToSend {
  /** As it came. Undefined: too large, it is still to be read. */
  readonly encoded: Buffer | undefined;
  readonly decided: Decided;
}

interface Answered {
  readonly outcome: Outcome;
  readonly sent: Sent;
}

/** Sends what was decided. An edited request that is refused as such is followed by the original, once. */
async function send(context: GatewayContext, served: Served, { encoded, decided }: ToSend): Promise<Answered> {
  const reading = { wire: wires[served.route.api as Api], mostBytes: context.limits.answerBytes };
  const first = new Answering(reading, decided.body !== undefined);
  const outcome = await sendOnce(context, served, { encoded, outgoing: decided, watch: first });
  if (outcome.kind !== 'held') return { outcome, sent: await first.sent(outcome) };
  const { rawHeaders, url = '' } = served.request;
  const said = await textOf(outcome.body, outcome.headers);
  const refused = { status: outcome.status, text: redactCredentials(said, { rawHeaders, url }) };
  const second = new Answering(reading, false, (status) => {
    if (served.route.isCountTokens) return;
    const events = decided.refused({ ...refused, originalTaken: status < 400 });
    recordEvents(context, served.tenant, decided.conversation, events);
  });
  const last = await sendOnce(context, served, { encoded, outgoing: decided.original, watch: second });
  return { outcome: last, sent: await second.sent(last, refused) };
}

/** Watches one answer: holds back a refusal of what was edited, and reads what the provider counted. */
class Answering implements Watch {
  readonly #reading: UsageReaderOptions;
  readonly #isEdited: boolean;
  readonly #onStart: ((status: number) => void) | undefined;
  #reader: UsageReader | undefined;

  constructor(reading: UsageReaderOptions, isEdited: boolean, onStart?: (status: number) => void) {
    this.#reading = reading;
    this.#isEdited = isEdited;
    this.#onStart = onStart;
  }

  holds(status: number): boolean {
    return this.#isEdited && isRefusal(status);
  }

  start(status: number, headers: readonly string[]): void {
    this.#onStart?.(status);
    if (status < 300) this.#reader = new UsageReader(headers, this.#reading);
  }

  chunk(chunk: Buffer): void {
    this.#reader?.push(chunk);
  }

  async sent(outcome: Outcome, refused?: Sent['refused']): Promise<Sent> {
    const status = outcome.kind === 'unreachable' ? 502 : (outcome.status ?? 0);
    return { status, usage: await this.#reader?.end(), streamed: this.#reader?.isEvents === true, refused };
  }
}

/** What a provider answers to a request that it cannot take; everything else has another cause than our edits. */
export const isRefusal = (status: number): boolean => status === 400 || status === 413 || status === 422;

interface Once {
  readonly encoded: Buffer | undefined;
  readonly outgoing: Outgoing;
  readonly watch: Watch;
}

function sendOnce(context: GatewayContext, served: Served, { encoded, outgoing, watch }: Once): Promise<Outcome> {
  if (!encoded) return passThrough(context, served, watch);
  return forward(toOutgoing(context, served, outgoing, encoded), served.response, watch);
}

function toOutgoing(context: GatewayContext, { request, route }: Served, { body, headers }: Outgoing, encoded: Buffer) {
  // A body that was decoded to be edited is sent as it is.
  const isDecoded = body !== undefined && request.headers['content-encoding'] !== undefined;
  const upstream = context.upstreams[route.provider];
  const changes = { ...headers, ...context.hops.next(request.headers, upstream) };
  return {
    upstream,
    method: 'POST',
    target: route.target,
    headers: forwardedHeaders(request.rawHeaders, isDecoded ? { ...changes, 'content-encoding': '' } : changes),
    body: body ?? encoded,
  };
}

async function textOf(body: Buffer, headers: readonly string[]): Promise<string> {
  const at = headers.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-encoding');
  const decoded =
    at === -1 ? body : await decodeBody(body, headers[at + 1] as string, answerLimits.decodedRefusalBytes);
  return decoded?.toString() ?? '';
}
