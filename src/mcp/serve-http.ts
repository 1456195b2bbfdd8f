import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server';
import { PalimpsestError } from '../errors.ts';
import { recallLimits } from '../limits.ts';
import { credentialOf } from '../store/access.ts';
import { checkMcpOptions, createMcpServer, type McpOptions } from './create-mcp-server.ts';
import { limitBatches } from './limit-batches.ts';

/** The address at which an MCP server listens. */
export interface HttpOptions {
  /** 0 picks a free one. */
  readonly port: number;
  /** The address to listen on. One that other machines can reach needs a token. @default 127.0.0.1 */
  readonly host?: string;
  /** Clients must send it as `Authorization: Bearer …`. @default none */
  readonly token?: string;
}

/** An MCP server that listens. */
export interface HttpServer {
  /** The address for clients: `http://127.0.0.1:8788/mcp`. */
  readonly url: string;
  /** Ends all connections and stops listening. */
  close(): Promise<void>;
}

/**
 * Serves any number of clients over streamable HTTP. Resolves when it listens.
 *
 * @example
 * ```ts
 * import { serveHttp } from 'palimpsest/mcp';
 *
 * const server = await serveHttp({ store, wholeStore: true }, { port: 8788 });
 * console.log(server.url);
 * ```
 */
export async function serveHttp(options: McpOptions, http: HttpOptions): Promise<HttpServer> {
  checkMcpOptions(options);
  const { port, host = '127.0.0.1', token } = http;
  if (!isLoopback(host) && !token)
    throw new PalimpsestError(
      'BAD_OPTION',
      `Expected a token ($PALIMPSEST_TOKEN on the command line), because ${host} can be reached from other machines`,
    );
  const handler = createMcpHandler(serverFor(options, { hasAuthorization: !token }));
  const handle = toNodeHandler(limitBatches(handler), { maxRequestBodySize: recallLimits.bodyBytes }) as Handle;
  const mayPass = createGuard({ host, token });
  const server = createServer((request, response) => {
    if (mayPass(request, response)) void handle(request, response);
  });
  await listen(server, { port, host });
  return {
    url: urlOf(server.address() as AddressInfo),
    close: async () => {
      await handler.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/**
 * Makes the server for each request, which may carry the credential of its client. `hasAuthorization` is false if that header
 * carries a token of the server itself.
 */
export function serverFor(
  options: McpOptions,
  { hasAuthorization }: { readonly hasAuthorization: boolean },
): McpServerFactory {
  return ({ requestInfo }) => {
    const headers = Object.fromEntries(requestInfo?.headers ?? []);
    return createMcpServer({
      ...options,
      credential: credentialOf(headers, { hasAuthorization }) ?? options.credential,
    });
  };
}

/** The adapter's type requires `method` and `url`, which every request to a server has. */
type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type Guard = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Refuses requests that may not pass. A page in a browser must not reach the store, whichever host name it uses. */
function createGuard({ host, token }: { readonly host: string; readonly token: string | undefined }): Guard {
  const isOurHost = isLoopback(host) ? localhostHostValidation() : () => true;
  const isOurOrigin = localhostOriginValidation();
  return (request, response) => {
    if (!isOurHost(request, response) || !isOurOrigin(request, response)) return false;
    if (token && !isBearer(request.headers.authorization, token)) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('Expected the bearer token of this server\n');
      return false;
    }
    if (request.url?.split('?', 1)[0] === PATH) return true;
    response.writeHead(404).end(`Expected a request to ${PATH}\n`);
    return false;
  };
}

const PATH = '/mcp';

/** Compares hashes, so that neither length nor time reveals the token. */
function isBearer(header: string | undefined, token: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  // The name of a scheme has no case (RFC 9110, 11.1).
  return timingSafeEqual(hash(/^Bearer +(.+)$/i.exec(header ?? '')?.[1] ?? ''), hash(token));
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127(?:\.\d+){3}$/.test(host);

async function listen(server: Server, { port, host }: { readonly port: number; readonly host: string }): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'it is in use' : (cause as Error).message;
    throw new PalimpsestError('BAD_INPUT', `Could not listen on port ${port} of ${host}: ${why}`, { cause });
  }
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}${PATH}`;
}
