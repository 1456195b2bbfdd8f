import { answerLimits } from '../../limits.ts';
import { isRefusal } from '../../report/request-record.ts';
import { afterRefusal, originalOf } from '../decide/decide.ts';
import type { Decision, Outgoing } from '../decide/decision.ts';
import type { GatewayContext } from '../gateway-context.ts';
import type { Sent } from '../receipts/write-receipt.ts';
import { wires } from '../wire/index.ts';
import type { Outcome, UpstreamRequest, Watch } from './client.ts';
import { recordEvents } from './decide-and-store.ts';
import type { Incoming, Understood } from './exchange.ts';
import { forwardedHeaders, headerOf } from './headers.ts';
import { decodeBody } from './read-body.ts';
import { redactCredentials } from './redact.ts';
import { UsageReader, type UsageReaderOptions } from './usage-reader.ts';
import { readableEncodings } from './zstd.ts';

export interface ToSend {
  /** The body as received. Undefined if it is too large and not read yet. */
  readonly encoded: Buffer | undefined;
  readonly decision: Decision;
}

/** An answer that was passed on, and the facts about it. */
export interface Sending {
  readonly outcome: Outcome;
  readonly sent: Sent;
}

/** Sends a decision. If the upstream refuses an edited request, the original is sent once. */
export async function sendDecision(
  context: GatewayContext,
  incoming: Understood,
  { encoded, decision }: ToSend,
): Promise<Sending> {
  const { api, client, route, tenant } = incoming;
  const reading = { wire: wires[api], mostBytes: context.limits.answerBytes };
  const first = new Answering(reading, decision.body !== undefined);
  const outcome = await client.send(toUpstream(context, incoming, { encoded, outgoing: decision }), first);
  if (outcome.kind !== 'held') return { outcome, sent: await first.sent(outcome) };
  const text = redactCredentials(await textOf(outcome.body, outcome.headers), client);
  const refused = { status: outcome.status, text };
  const second = new Answering(reading, false, (status) => {
    if (status < 400 && !route.isCountTokens)
      recordEvents(context, tenant, decision.conversation, afterRefusal(decision, text));
  });
  const last = await client.send(toUpstream(context, incoming, { encoded, outgoing: originalOf(decision) }), second);
  return { outcome: last, sent: await second.sent(last, refused) };
}

/** Watches one answer: holds back a refusal of an edited request, and reads the provider's usage. */
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
    const usage = await this.#reader?.end();
    return { status, usage, streamed: this.#reader?.isEvents === true, refused, isFinal: this.#reader?.isFinal };
  }
}

interface Body {
  /** The body as received. Undefined if it is streamed unread. */
  readonly encoded: Buffer | undefined;
  readonly outgoing: Outgoing;
}

/** The request to the upstream. Without a body, the client's body is streamed. */
export function toUpstream(
  context: GatewayContext,
  { client, route, traceHeaders }: Incoming,
  body?: Body,
): UpstreamRequest {
  const { encoded, outgoing } = body ?? {};
  const edited = encoded && outgoing?.body;
  // A body that was decompressed to be edited is sent as it is.
  const isDecoded = edited !== undefined && client.headers['content-encoding'] !== undefined;
  const upstream = context.upstreams[route.provider];
  const changes: Record<string, string> = Object.assign(
    {},
    outgoing?.headers,
    context.hops.next(client.headers, upstream),
    traceHeaders,
    body && readableEncodings(client.headers['accept-encoding']),
  );
  return {
    upstream,
    method: client.method,
    target: route.target,
    requestId: client.ids.requestId,
    headers: forwardedHeaders(client.rawHeaders, isDecoded ? { ...changes, 'content-encoding': '' } : changes),
    body: edited ?? encoded,
  };
}

async function textOf(body: Buffer, headers: readonly string[]): Promise<string> {
  const encoding = headerOf(headers, 'content-encoding') ?? '';
  const decoded = await decodeBody(body, encoding, answerLimits.decodedRefusalBytes);
  return decoded?.toString() ?? '';
}
