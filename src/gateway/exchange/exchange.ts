import { credentialOf } from '../../store/access.ts';
import type { Decision, GatewayRequest } from '../decide/decision.ts';
import { passThrough } from '../decide/pass-through.ts';
import { decideSmallTalk } from '../decide/small-talk.ts';
import type { GatewayContext } from '../gateway-context.ts';
import { codeOf } from '../receipts/log.ts';
import type { RequestSpan } from '../telemetry/telemetry.ts';
import type { Api } from '../wire/index.ts';
import { providers } from '../wire/providers.ts';
import type { Admitted } from './admit.ts';
import { withKnownArm } from './arms.ts';
import type { Client } from './client.ts';
import { decideAndStore, isOwnerUnknown, learnOwner, passUnread, withArmOfUnread } from './decide-and-store.ts';
import { decodeBody } from './read-body.ts';
import { finishExchange, recordOutcome } from './record-outcome.ts';
import { type Sending, sendDecision, type ToSend, toUpstream } from './send-decision.ts';
import { beginSpan, toAnswered } from './trace-request.ts';
import { isUnknownZstd } from './zstd.ts';

/** A request of a client, and its target. */
export interface Incoming extends Admitted {
  readonly client: Client;
  /** Headers that continue the trace at the upstream. */
  readonly traceHeaders?: Readonly<Record<string, string>>;
}

/** A request that speaks an API that the gateway understands. */
export interface Understood extends Incoming {
  readonly api: Api;
  /** The user's credential in the request. */
  readonly credential: string | undefined;
}

/** Forwards a request, edited where that pays, and records the outcome. Rejects only if a custom log throws. */
export async function exchange(context: GatewayContext, incoming: Incoming): Promise<void> {
  const { route, client, tenant } = incoming;
  try {
    if (route.api)
      await exchangeUnderstood(context, { client, tenant, route, api: route.api, credential: credentialIn(incoming) });
    else finishExchange(context, incoming, await client.send(toUpstream(context, incoming)));
  } catch (error) {
    client.fail(500, { type: 'api_error', message: 'Palimpsest failed' });
    const { requestId } = client.ids;
    context.log({ level: 'error', message: 'failed', requestId, code: codeOf(error), api: route.api ?? 'other' });
  }
}

const credentialIn = ({ client, route }: Incoming): string | undefined =>
  credentialOf(client.headers, { hasAuthorization: true, target: route.target });

async function exchangeUnderstood(context: GatewayContext, incoming: Understood): Promise<void> {
  const { client, tenant } = incoming;
  // Opened early and not awaited: small talk needs the store only to know the owner of its totals.
  if (!context.tenants.opened(tenant)) context.tenants.gate(tenant).catch(() => {});
  const startedAt = context.now();
  const began = performance.now();
  const encoded = await client.readBody(context.limits.bodyBytes).catch(() => null);
  if (encoded === null) return;
  context.inFlight.beginExchange();
  try {
    const read = performance.now();
    const decision = await decideOn(context, incoming, encoded);
    const overheadMs = performance.now() - read;
    const span = beginSpan(context, incoming, { decision, startedAt });
    const { outcome, sent } = await sendTraced(context, incoming, { encoded, decision, span });
    const times = { startedAt, overheadMs, totalMs: performance.now() - began };
    if (isOwnerUnknown(context, incoming)) await learnOwner(context, incoming);
    const isUnread = decision.explanation.act === 'pass-through';
    const known = isUnread ? await withArmOfUnread(context, incoming, decision) : decision;
    const recorded = recordOutcome(context, incoming, { decision: known, sent, times });
    span?.end(toAnswered({ outcome, sent, times, recorded }));
    finishExchange(context, incoming, outcome, recorded);
  } finally {
    context.inFlight.endExchange();
  }
}

/** The span of the request is the parent of everything that happens while it is sent. */
function sendTraced(
  context: GatewayContext,
  incoming: Understood,
  { span, ...toSend }: ToSend & { readonly span: RequestSpan | undefined },
): Promise<Sending> {
  if (!span) return sendDecision(context, incoming, toSend);
  return span.run(() => sendDecision(context, { ...incoming, traceHeaders: span.headers }, toSend));
}

async function decideOn(context: GatewayContext, incoming: Understood, encoded: Buffer | undefined): Promise<Decision> {
  const { api, route } = incoming;
  const headers = incoming.client.headers as GatewayRequest['headers'];
  const pass = (decision: Decision): Decision => passUnread({ api, headers }, decision);
  if (!encoded) return pass(passThrough('too-large', context.limits));
  const encoding = headers['content-encoding'];
  const body = encoding === undefined ? encoded : await decodeBody(encoded, encoding, context.limits.bodyBytes);
  if (!body) return pass(passThrough(isUnknownZstd(encoding ?? '') ? 'no-zstd' : 'content-encoding'));
  const request = { api, path: route.path, headers, body, isCountTokens: route.isCountTokens };
  return smallTalk(context, incoming, request) ?? (await decideAndStore(context, incoming, request));
}

/** Handles most requests of a chat, without store and memory. */
function smallTalk(
  context: GatewayContext,
  { route, tenant }: Understood,
  request: GatewayRequest,
): Decision | undefined {
  if (route.isCountTokens) return undefined;
  const { prices, priceBook } = context.facts;
  try {
    const decision = decideSmallTalk(request, { prices, priceBook, providerPrices: providers[route.provider].prices });
    return decision && withKnownArm(context, tenant, decision);
  } catch {
    // The full reading finds the problem with the request, and names it.
    return undefined;
  }
}
