import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PalimpsestError } from '../errors.ts';
import type { Gateway } from './create-gateway.ts';

/** Where to listen. */
export interface ListenOptions {
  /** 0 picks a free one. */
  readonly port: number;
  /** 127.0.0.1 unless told. */
  readonly host?: string;
}

/** A gateway that listens. */
export interface GatewayServer {
  /** `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  /** Takes nothing new and lets what is under way come to its end, for `graceMs` at most. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Longer than a balancer in front keeps its connections, so that it never sends into one that we close. */
const KEEP_ALIVE_MS = 75_000;

/** Serves a gateway over HTTP. Resolves when it listens. */
export async function listen(gateway: Gateway, { port, host = '127.0.0.1' }: ListenOptions): Promise<GatewayServer> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, gateway);
  // CONNECT asks for a tunnel, and would choose its own end.
  server.on('connect', (_request, socket) => socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n'));
  await startListening(server, { port, host });
  const address = server.address() as AddressInfo;
  return {
    url: urlOf(address.address, address.port),
    port: address.port,
    close: async (options = {}) => {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      await gateway.close(options);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function startListening(server: Server, { port, host }: Required<ListenOptions>): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (cause) {
    throw new PalimpsestError('BAD_INPUT', `Could not listen on port ${port} of ${host}: ${whyNot(cause)}`, { cause });
  }
}

function whyNot(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return 'it is in use; stop what listens there, or choose another with --port (0 picks a free one)';
  return code === 'EACCES' ? 'it needs rights that you do not have; choose one above 1023 with --port' : message;
}

/** The address of a server that listens there. */
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Throws where nobody could listen: before workers are started that would each say so. */
export async function checkPort({ port, host = '127.0.0.1' }: ListenOptions): Promise<void> {
  const server = createServer();
  await startListening(server, { port, host });
  server.close();
  await once(server, 'close');
}
