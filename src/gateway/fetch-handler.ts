import { admit } from './exchange/admit.ts';
import { exchange } from './exchange/exchange.ts';
import { FetchClient } from './exchange/fetch-client.ts';
import { createGatewayContext } from './gateway-context.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';

/** Handles a request, like the `fetch` of servers in Bun, Deno, Hono and others. */
export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * A gateway for runtimes with `Request` and `Response`. It forwards, masks and writes receipts like the other. It does not serve the
 * page and its API, answers come decompressed, and it is several times slower than the listener for Node.
 *
 * @example
 * ```ts
 * import { createFetchHandler } from 'palimpsest/gateway';
 *
 * export default { fetch: createFetchHandler() }; // `bun run` and `deno serve` take this
 * ```
 */
export function createFetchHandler(options: GatewayOptions = {}): FetchHandler {
  checkGatewayOptions(options);
  const context = createGatewayContext(options);
  return (request) => {
    const client = new FetchClient(request);
    const admitted = admit(context, client);
    if ('status' in admitted) client.answerSelf(admitted);
    else exchange(context, { client, ...admitted }).then(client.close, client.close);
    return client.answer;
  };
}
