import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';

/** What an upstream got. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export interface Upstream {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  readonly server: Server;
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void;

/** An upstream that answers as a test says, once the request is complete. */
export async function startUpstream(
  answer: Answer = (_request, response) => void response.end('{}'),
): Promise<Upstream> {
  const received: Received[] = [];
  const upstream = await startRaw((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = request;
      const body = Buffer.concat(chunks);
      received.push({ method, url, rawHeaders, headers, body });
      answer(request, response, body);
    });
  });
  return { ...upstream, received };
}

/** An upstream that gets the request as it comes. */
export async function startRaw(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Omit<Upstream, 'received'>> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    server,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** An upstream that answers in bytes of its own: it may speak bad HTTP, or none. */
export async function startSocket(onSocket: (socket: Socket) => void): Promise<Pick<Upstream, 'url' | 'close'>> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/** Sends bytes as they are and answers everything that comes back until the other side ends. */
export async function sendRaw(port: number, text: string | Buffer): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => {});
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}
