import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import type { GatewayContext } from '../gateway-context.ts';
import { forward, type Outcome, type Watch } from './forward.ts';
import { forwardedHeaders } from './headers.ts';
import type { Route } from './route.ts';

/** A request that is to be forwarded. */
export interface Served {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly route: Route;
  readonly tenant: string;
}

/** Streams a request as it comes: what is not understood, or too large to be, is not read either. */
export async function passThrough(context: GatewayContext, served: Served, watch?: Watch): Promise<Outcome> {
  const { request, response, route } = served;
  const length = request.headers['content-length'];
  const hasBody = request.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
  const upstream = context.upstreams[route.provider];
  const headers = forwardedHeaders(request.rawHeaders, context.hops.next(request.headers, upstream));
  if (hasBody && length !== undefined) headers.push('content-length', length);
  if (hasBody) context.work.beginUpload(response);
  const outgoing = {
    upstream,
    method: request.method ?? 'GET',
    target: route.target,
    headers,
    // Not the request itself: an upstream that answers early ends its body, and with it the client's connection.
    body: hasBody ? request.pipe(new PassThrough()) : null,
  };
  const outcome = await forward(outgoing, response, watch);
  // An upstream that answered early left the rest of the body: unread, it would block the client's connection.
  request.resume();
  return outcome;
}
