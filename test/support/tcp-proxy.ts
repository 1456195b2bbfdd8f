import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy on loopback that can cut, stall and refuse connections. */
export interface TcpProxy {
  readonly port: number;
  /** Resets every connection. */
  cut(): void;
  /** Resets every connection, those of now and those to come, once the client has sent so many bytes through it. */
  cutAfter(bytes: number): void;
  /** Forwards nothing, also not that a side has ended; new connections are accepted and hear nothing. */
  stall(): void;
  /** The same once the client has sent so many bytes through it, which are forwarded. */
  stallAfter(bytes: number): void;
  /** Makes the open connections silent for ever, without closing them. New connections are forwarded. */
  silence(): void;
  /** Resets new connections. */
  refuse(): void;
  /** Forwards again. Connections that were stalled are reset. */
  resume(): void;
  /** How many bytes clients have sent. */
  sent(): number;
  close(): Promise<void>;
}

type Mode = 'forward' | 'stall' | 'refuse';

export async function startTcpProxy(targetPort: number, port = 0): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const silent = new Set<Pair>();
  let mode: Mode = 'forward';
  let cutAt = Number.POSITIVE_INFINITY;
  let stallAt = Number.POSITIVE_INFINITY;
  let sent = 0;
  const cut = (): void => {
    for (const { client, server } of pairs) for (const socket of [client, server]) socket.resetAndDestroy();
    pairs.clear();
    silent.clear();
  };
  const listener = createServer((client) => {
    if (mode === 'refuse') return void client.resetAndDestroy();
    const server = connect(targetPort, '127.0.0.1');
    const pair = { client, server };
    pairs.add(pair);
    const end = (): void => {
      // The other side hears of nothing.
      if (mode === 'stall' || silent.has(pair)) return;
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.on('data', (chunk) => {
      sent += chunk.length;
      if (sent >= cutAt) return cut();
      if (mode === 'forward' && !silent.has(pair)) server.write(chunk);
      if (sent >= stallAt) mode = 'stall';
    });
    server.on('data', (chunk) => {
      if (mode === 'forward' && !silent.has(pair)) client.write(chunk);
    });
  });
  listener.listen(port, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    cut,
    cutAfter: (bytes) => {
      cutAt = sent + bytes;
    },
    stall: () => {
      mode = 'stall';
    },
    stallAfter: (bytes) => {
      stallAt = sent + bytes;
    },
    silence: () => {
      for (const pair of pairs) silent.add(pair);
    },
    refuse: () => {
      mode = 'refuse';
    },
    resume: () => {
      if (mode === 'stall') cut();
      mode = 'forward';
      cutAt = Number.POSITIVE_INFINITY;
      stallAt = Number.POSITIVE_INFINITY;
    },
    sent: () => sent,
    close: async () => {
      cut();
      const closed = once(listener, 'close');
      listener.close();
      await closed;
    },
  };
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}
