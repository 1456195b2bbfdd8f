import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerFailure } from './exchange/answer.ts';
import { loopMessage } from './exchange/hops.ts';
import { routeOf } from './exchange/route.ts';
import { serveRequest } from './exchange/serve-request.ts';
import { closeUpstreams } from './exchange/upstreams.ts';
import { DEFAULT_GRACE_MS } from './exchange/work.ts';
import { createGatewayContext, type GatewayContext } from './gateway-context.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { createOwnRoutes } from './page/own-routes.ts';

/** A request listener for `node:http`, in front of the providers. */
export interface Gateway {
  (request: IncomingMessage, response: ServerResponse): void;
  /**
   * Ends event streams and half-sent requests at once, and lets exchanges with upstreams come to their end, for `graceMs`
   * at most (30 seconds if not given). Then it closes the connections to the upstreams.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Makes a gateway. The store, if one was given, stays yours to close. */
export function createGateway(options: GatewayOptions = {}): Gateway {
  checkGatewayOptions(options);
  const context = createGatewayContext(options);
  const answerOwn = createOwnRoutes(context);
  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    context.work.begin(response);
    if (!answerOwn(request, response)) answerOther(context, request, response);
  };
  return Object.assign(listen, {
    close: async ({ graceMs = DEFAULT_GRACE_MS }: { readonly graceMs?: number } = {}) => {
      context.work.close();
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
  const foreign = context.guard.refusalToForward(request.headers, caller);
  if (foreign !== undefined) {
    answerFailure(response, 403, { type: 'permission_error', message: foreign });
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
  if (context.hops.isLoop(request.headers)) {
    const message = loopMessage(context.upstreams[route.provider]);
    answerFailure(response, 508, { type: 'loop_detected', message });
    return;
  }
  // It answers its own failures. What is left is a log or records of the user's that throw.
  serveRequest(context, { request, response, route, tenant: caller.tenant }).catch(() => response.destroy());
}
