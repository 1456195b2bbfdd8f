import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerFailure } from './answer.ts';
import { createGatewayContext, type GatewayContext } from './gateway-context.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { createOwnRoutes } from './own-routes.ts';
import { routeOf } from './route.ts';
import { serveRequest } from './serve-request.ts';
import { closeUpstreams } from './upstreams.ts';

/** A request listener for `node:http`, in front of the providers. */
export interface Gateway {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Lets what is under way come to its end, for `graceMs` at most, then closes the connections to the upstreams. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Makes a gateway. The store, if one was given, stays yours to close. */
export function createGateway(options: GatewayOptions = {}): Gateway {
  checkGatewayOptions(options);
  const context = createGatewayContext(options);
  const answerOwn = createOwnRoutes(context);
  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    context.work.begin(response);
    if (context.isClosing()) response.shouldKeepAlive = false;
    if (!answerOwn(request, response)) answerOther(context, request, response);
  };
  return Object.assign(listen, {
    close: async ({ graceMs = Number.POSITIVE_INFINITY }: { readonly graceMs?: number } = {}) => {
      context.close();
      await context.work.idle(graceMs);
      await closeUpstreams(context.upstreams);
    },
  });
}

function answerOther(context: GatewayContext, request: IncomingMessage, response: ServerResponse): void {
  const caller = context.callerOf(request);
  if (!caller) {
    answerFailure(response, 401, {
      type: 'authentication_error',
      message: 'Palimpsest expected its token in the header x-palimpsest-token, or in the address: http://…/as/TOKEN',
    });
    return;
  }
  const route = routeOf({ method: request.method ?? 'GET', url: caller.url, headers: request.headers });
  if (!route) {
    answerFailure(response, 400, {
      type: 'invalid_request_error',
      message: 'Palimpsest expected a path that begins with exactly one / and has no dot segments',
    });
    return;
  }
  void serveRequest(context, { request, response, route, tenant: caller.tenant });
}
