import { credentialOf } from '../store/access.ts';
import type { Api, Decided, Outgoing } from './decide/decide.ts';
import { leaveUnread } from './decide/unread.ts';
import { forwardedHeaders, toReason } from './exchange/headers.ts';
import { loopMessage } from './exchange/hops.ts';
import { prepareRequest, recordEvents } from './exchange/prepare-request.ts';
import { decodeBody } from './exchange/read-body.ts';
import { redactCredentials } from './exchange/redact.ts';
import { type Route, routeOf } from './exchange/route.ts';
import { isRefusal } from './exchange/serve-understood.ts';
import { settleRequest } from './exchange/settle-request.ts';
import { UsageReader, type UsageReaderOptions } from './exchange/usage-reader.ts';
import { createGatewayContext, type GatewayContext } from './gateway-context.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { codeOf } from './receipts/log.ts';
import { wires } from './wire/index.ts';

/** Answers a request as the server's `fetch` of Bun, Deno, Hono and others. */
export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * A gateway for runtimes that speak `Request` and `Response`: it forwards, masks and writes receipts like the other. The
 * page and its API are not served, answers come decompressed, and it is several times slower than the listener for Node.
 */
export function createFetchHandler(options: GatewayOptions = {}): FetchHandler {
  checkGatewayOptions(options);
  const context = createGatewayContext(options);
  return async (request) => {
    const { origin } = new URL(request.url);
    // Runtimes take the address of a request from its `Host`; not all of them keep the header.
    const headers = { host: new URL(request.url).host, ...Object.fromEntries(request.headers) };
    const caller = context.callerOf({ url: request.url.slice(origin.length), headers });
    if (!caller) return failure(401, 'authentication_error', 'Palimpsest expected its token in x-palimpsest-token');
    const foreign = context.guard.refusalToForward(headers, caller);
    if (foreign !== undefined) return failure(403, 'permission_error', foreign);
    const route = routeOf({ method: request.method, url: caller.url, headers });
    if (!route) return failure(400, 'invalid_request_error', 'Palimpsest expected a path without dot segments');
    if (context.hops.isLoop(headers))
      return failure(508, 'loop_detected', loopMessage(context.upstreams[route.provider]));
    const credential = credentialOf(headers, { hasAuthorization: true, target: route.target });
    const asked: Asked = { request, route, tenant: caller.tenant, credential, headers };
    try {
      return route.api ? await serve(context, asked) : await send(context, asked, request.body);
    } catch (error) {
      return failure(502, 'upstream_unreachable', `Palimpsest could not reach the upstream (${codeOf(error)})`);
    }
  };
}

interface Asked {
  readonly request: Request;
  readonly route: Route;
  readonly tenant: string;
  readonly credential: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

function failure(status: number, type: string, message: string): Response {
  return Response.json({ type: 'error', error: { type, message } }, { status });
}

async function serve(context: GatewayContext, asked: Asked): Promise<Response> {
  const startedAt = context.now();
  const encoded = Buffer.from(await asked.request.arrayBuffer());
  const began = performance.now();
  const decided = await decideOn(context, asked, encoded);
  const overheadMs = performance.now() - began;
  const sendThis = ({ body, headers }: Outgoing): Promise<Response> =>
    send(context, asked, body ?? encoded, { ...headers, ...(body ? { 'content-encoding': '' } : {}) });
  const first = await sendThis(decided);
  const refused = decided.body && isRefusal(first.status) ? await refusalIn(first, asked) : undefined;
  const answer = refused ? await sendThis(decided.original) : first;
  if (refused && !asked.route.isCountTokens) {
    const events = decided.refused({ ...refused, originalTaken: answer.status < 400 });
    recordEvents(context, asked.tenant, decided.conversation, events);
  }
  const reading = { wire: wires[asked.route.api as Api], mostBytes: context.limits.answerBytes };
  return watched(answer, reading, (usage, streamed) => {
    const { tenant, credential, route } = asked;
    const times = { startedAt, overheadMs, totalMs: performance.now() - began };
    const { status } = answer;
    const sent = { status, usage, streamed, refused };
    const entry = settleRequest(context, { tenant, credential, route, decided, sent, times });
    context.records.finish({ tenant, provider: route.provider, status, ended: 'passed', entry });
  });
}

async function refusalIn(answer: Response, { request }: Asked): Promise<{ status: number; text: string }> {
  const rawHeaders = [...request.headers].flat();
  return { status: answer.status, text: redactCredentials(await answer.text(), { rawHeaders, url: request.url }) };
}

async function decideOn(context: GatewayContext, asked: Asked, encoded: Buffer): Promise<Decided> {
  const { route, headers, tenant, credential } = asked;
  if (encoded.length > context.limits.bodyBytes) return leaveUnread('too-large', context.limits);
  const body = await decodeBody(encoded, headers['content-encoding'] ?? '', context.limits.bodyBytes);
  if (!body) return leaveUnread('content-encoding');
  const { api, path, provider, isCountTokens } = route;
  return prepareRequest(
    context,
    { api: api as Api, path, headers, body },
    { tenant, provider, credential, isCountTokens },
  );
}

async function send(
  context: GatewayContext,
  { request, route, headers: given }: Asked,
  body: Uint8Array | ReadableStream | null,
  changes: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const upstream = context.upstreams[route.provider];
  const { origin, prefix } = upstream;
  const headers = forwardedHeaders([...request.headers].flat(), { ...changes, ...context.hops.next(given, upstream) });
  const pairs = headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? ''] as [string, string]] : []));
  const answer = await fetch(`${origin}${prefix}${route.target}`, {
    method: request.method,
    headers: pairs,
    body,
    redirect: 'manual',
    signal: request.signal,
    // A body that streams needs it, and nothing else does.
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  } as RequestInit);
  // `fetch` has taken the compression away.
  const kept = [...answer.headers].filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return new Response(answer.body, { status: answer.status, statusText: toReason(answer.statusText), headers: kept });
}

/** The same answer; when it has passed, what the provider counted. */
function watched(
  answer: Response,
  reading: UsageReaderOptions,
  done: (usage: Awaited<ReturnType<UsageReader['end']>>, streamed: boolean) => void,
): Response {
  const reader = new UsageReader([...answer.headers].flat(), reading);
  const finish = async (): Promise<void> => done(await reader.end(), reader.isEvents);
  if (!answer.body) {
    void finish();
    return answer;
  }
  const copy = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      controller.enqueue(chunk);
      reader.push(Buffer.from(chunk));
    },
    flush: () => void finish(),
  });
  return new Response(answer.body.pipeThrough(copy), answer);
}
