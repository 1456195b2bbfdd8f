import type { IncomingMessage, ServerResponse } from 'node:http';
import { admit } from './exchange/admit.ts';
import { exchange } from './exchange/exchange.ts';
import { DEFAULT_GRACE_MS } from './exchange/in-flight.ts';
import { NodeClient } from './exchange/node-client.ts';
import { closeUpstreams } from './exchange/upstreams.ts';
import { createGatewayContext, type GatewayContext } from './gateway-context.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';
import { createOwnRoutes } from './page/own-routes.ts';

/** A request listener for `node:http`, in front of the providers. */
export interface Gateway {
  /** Handles one request. */
  (request: IncomingMessage, response: ServerResponse): void;
  /** From now on, `/readyz` and `/healthz` are 503, so that balancers react. Everything else continues, one request per connection. */
  drain(): void;
  /**
   * Ends event streams and half-sent requests at once. Requests that wait for an upstream may go on for `graceMs` (30 seconds if not
   * given). Then it writes pending records, for at most 5 seconds, and closes the connections to the upstreams.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Makes a gateway. The store, if one was given, stays yours to close.
 *
 * @example
 * ```ts
 * import { createGateway, listen } from 'palimpsest/gateway';
 * import { openStore } from 'palimpsest/store';
 *
 * const gateway = createGateway({ store: await openStore({ path: 'history' }) });
 * const { url } = await listen(gateway, { port: 8787 });
 * console.log(`The base URL for an agent: ${url}`);
 * ```
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  checkGatewayOptions(options);
  const context = createGatewayContext(options);
  const answerOwn = createOwnRoutes(context);
  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    context.inFlight.begin(response);
    if (!answerOwn(request, response)) answerOther(context, request, response);
  };
  return Object.assign(listen, {
    drain: () => context.inFlight.drain(),
    close: async ({ graceMs = DEFAULT_GRACE_MS }: { readonly graceMs?: number } = {}) => {
      context.inFlight.close();
      await context.inFlight.idle(graceMs);
      await context.inFlight.recorded();
      await context.closeRecords();
      await closeUpstreams(context.upstreams);
    },
  });
}

function answerOther(context: GatewayContext, request: IncomingMessage, response: ServerResponse): void {
  const client = new NodeClient(request, response, context.inFlight);
  const admitted = admit(context, client);
  if ('status' in admitted) client.answerSelf(admitted);
  // It answers its own failures. Only a custom log or custom records may still throw.
  else exchange(context, { client, ...admitted }).catch(() => response.destroy());
}
