import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { PalimpsestError } from '../errors.ts';
import { requestLimits } from '../limits.ts';
import { checkOptions, rule } from '../options.ts';
import type { Gateway } from './create-gateway.ts';

/** Where to listen. */
export interface ListenOptions {
  /** 0 picks a free one. */
  readonly port: number;
  /** The address to listen on. @default 127.0.0.1 */
  readonly host?: string;
}

/** A gateway that listens. */
export interface GatewayServer {
  /** `http://127.0.0.1:8787`. */
  readonly url: string;
  /** The port that it listens on, also if 0 was requested. */
  readonly port: number;
  /**
   * For `drainMs` (0 if not given) it keeps serving while `/readyz` is 503. Then it accepts nothing new, and ends event streams, idle
   * connections and half-sent requests at once. Requests that wait for an upstream may go on for `graceMs` (30 seconds if not given).
   * Then it closes every connection.
   */
  close(options?: { readonly graceMs?: number; readonly drainMs?: number }): Promise<void>;
}

/**
 * Serves a gateway over HTTP. Resolves when it listens.
 *
 * @example
 * ```ts
 * import { createGateway, listen } from 'palimpsest/gateway';
 *
 * const server = await listen(createGateway(), { port: 0 });
 * console.log(server.url);
 * await server.close({ graceMs: 5000 });
 * ```
 */
export async function listen(gateway: Gateway, options: ListenOptions): Promise<GatewayServer> {
  checkOptions('listen', options, RULES, ['port']);
  const { port, host = '127.0.0.1' } = options;
  const server = createServer({ keepAliveTimeout: requestLimits.idleMs, requestTimeout: requestLimits.uploadMs });
  const connections = new Connections(server);
  server.on('request', gateway);
  // CONNECT asks for a tunnel to a target that the client chooses.
  server.on('connect', (_request, socket) =>
    socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n', () => socket.destroy()),
  );
  await startListening(server, { port, host });
  const address = server.address() as AddressInfo;
  return {
    url: urlOf(address.address, address.port),
    port: address.port,
    close: async ({ drainMs = 0, ...options } = {}) => {
      gateway.drain();
      if (drainMs > 0) await setTimeout(drainMs);
      const closed = once(server, 'close');
      server.close();
      const gatewayClosed = gateway.close(options);
      connections.closeIdle();
      await gatewayClosed;
      connections.closeAll();
      await closed;
    },
  };
}

const RULES = {
  port: rule('a port of 0 to 65535', (v) => Number.isInteger(v) && Number(v) >= 0 && Number(v) <= 65_535),
  // Node would listen on all addresses for an empty text.
  host: rule('an address such as 127.0.0.1', (v) => typeof v === 'string' && v !== ''),
};

/**
 * Owns every socket of a server, from its first byte to its last. Node removes its own error listener from a socket that it hands out,
 * with `connect` for example, and an error without a listener ends the process.
 */
class Connections {
  /** Each socket with the number of its open answers. */
  readonly #sockets = new Map<Socket, number>();
  #isClosing = false;

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.set(socket, 0);
      // The error destroys the socket, and its answers get their `close` event.
      socket.on('error', () => {});
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('request', ({ socket }, response: ServerResponse) => {
      this.#count(socket, 1);
      response.once('close', () => this.#count(socket, -1));
    });
  }

  #count(socket: Socket, change: 1 | -1): void {
    const answers = (this.#sockets.get(socket) ?? 0) + change;
    if (this.#sockets.has(socket)) this.#sockets.set(socket, answers);
    if (this.#isClosing && answers === 0) socket.destroySoon();
  }

  /** Closes connections without an open answer, now and as soon as their answer is done. Half a head is not a request yet. */
  closeIdle(): void {
    this.#isClosing = true;
    for (const [socket, answers] of this.#sockets) if (answers === 0) socket.destroy();
  }

  closeAll(): void {
    for (const socket of this.#sockets.keys()) socket.destroy();
  }
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

/** Throws if the port is not free, before workers are started that would all fail. */
export async function checkPort({ port, host = '127.0.0.1' }: ListenOptions): Promise<void> {
  const server = createServer();
  await startListening(server, { port, host });
  server.close();
  await once(server, 'close');
}
