import { admit } from './exchange/admit.ts';
import { exchange } from './exchange/exchange.ts';
import { FetchClient } from './exchange/fetch-client.ts';
import { createGatewayContext } from './gateway-context.ts';
import { checkGatewayOptions, type GatewayOptions } from './gateway-options.ts';

/** Answers a request as the server's `fetch` of Bun, Deno, Hono and others. */
export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * A gateway for runtimes that speak `Request` and `Response`: it forwards, masks and writes receipts like the other. The
 * page and its API are not served, answers come decompressed, and it is several times slower than the listener for Node.
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
