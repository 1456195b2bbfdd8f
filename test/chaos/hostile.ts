import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Random } from './random.ts';

/** Something that no honest client sends. It never fails: what comes back does not matter. */
export interface Attack {
  readonly name: string;
  run(target: Target): Promise<void>;
}

export interface Target {
  readonly port: number;
  readonly random: Random;
  /** Sockets that stay open until the run ends. */
  readonly held: Set<Socket>;
  /** The largest body, in bytes. */
  readonly largestBytes: number;
}

const HEAD = 'POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nanthropic-version: 2023-06-01\r\nx-api-key: k\r\n';

export const attacks: readonly Attack[] = [
  {
    name: 'CONNECT and reset',
    async run(target) {
      const socket = await open(target);
      socket.write('CONNECT example.com:443 HTTP/1.1\r\nhost: example.com:443\r\n\r\n');
      await sleep(target.random.between(0, 3));
      socket.resetAndDestroy();
    },
  },
  {
    name: 'half a request',
    async run(target) {
      const socket = await open(target);
      socket.write(`${HEAD}content-length: 1000\r\n\r\n{"half`);
      if (target.held.size < 20) return void target.held.add(socket);
      await sleep(50);
      socket.resetAndDestroy();
    },
  },
  {
    name: 'half a head',
    async run(target) {
      const socket = await open(target);
      socket.write(HEAD.slice(0, 40));
      await sleep(50);
      socket.resetAndDestroy();
    },
  },
  {
    name: 'an upgrade and reset',
    async run(target) {
      const socket = await open(target);
      socket.write(`${HEAD}connection: upgrade\r\nupgrade: websocket\r\n\r\n`);
      await sleep(target.random.between(0, 3));
      socket.resetAndDestroy();
    },
  },
  {
    name: 'a giant list of numbers in a result',
    run: (target) => send(target, { body: resultOf(`[${'0,'.repeat(target.largestBytes / 2)}0]`) }),
  },
  {
    name: 'a giant list of lists in a result',
    run: (target) => send(target, { body: resultOf(`[${'[],'.repeat(target.largestBytes / 3)}[]]`) }),
  },
  { name: 'deep nesting', run: (target) => send(target, { body: resultOf('['.repeat(100_000)) }) },
  { name: 'no JSON', run: (target) => send(target, { body: '{"model":' }) },
  {
    name: 'a huge model name',
    run: (target) =>
      send(target, {
        body: JSON.stringify({
          model: `m${target.random.next()}${'x'.repeat(target.largestBytes / 4)}`,
          messages: [{ role: 'user', content: 'hello' }],
        }),
      }),
  },
  {
    name: 'bad gzip',
    run: (target) => send(target, { head: 'content-encoding: gzip\r\n', body: Buffer.from('1f8b0800ffffff', 'hex') }),
  },
  {
    name: 'a gzip bomb',
    run: (target) =>
      send(target, { head: 'content-encoding: gzip\r\n', body: gzipSync(Buffer.alloc(10 * target.largestBytes, 48)) }),
  },
  {
    name: 'a foreign Host',
    run: (target) => send(target, { line: 'POST /v1/messages HTTP/1.1\r\nhost: evil.example\r\n', body: '{}' }),
  },
  {
    name: 'a foreign Origin',
    run: (target) => send(target, { head: 'origin: https://evil.example\r\ncontent-type: text/plain\r\n', body: '{}' }),
  },
  {
    name: 'a foreign page at our own API',
    run: (target) => send(target, { line: 'GET /_palimpsest/api/status HTTP/1.1\r\nhost: evil.example\r\n', body: '' }),
  },
  {
    name: 'MCP with a path for a handle',
    run: (target) =>
      send(target, {
        line: 'POST /_palimpsest/mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n',
        head: 'content-type: application/json\r\n',
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"handle":"../../etc/passwd"}}}',
      }),
  },
  // The odd upstream is the one of the Gemini API.
  {
    name: 'a request that the upstream answers oddly',
    run: (target) =>
      send(target, {
        line: 'POST /v1beta/models/gemini-3-pro:generateContent HTTP/1.1\r\nhost: 127.0.0.1\r\n',
        body: '{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}',
      }),
  },
];

async function open({ port }: Target): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
  return socket;
}

const resultOf = (content: string): string =>
  `{"model":"claude-sonnet-5","max_tokens":9,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":${content}}]}]}`;

interface Hostile {
  readonly line?: string;
  readonly head?: string;
  readonly body: string | Buffer;
}

const MOST_MS = 20_000;

/** Sends it whole, and waits for the end of the answer. */
async function send(target: Target, { line = HEAD, head = '', body }: Hostile): Promise<void> {
  const socket = await open(target);
  if (socket.destroyed) return;
  const closed = once(socket, 'close').catch(() => {});
  socket.resume();
  socket.write(`${line}${head}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n`);
  socket.write(body);
  await Promise.race([closed, sleep(MOST_MS, undefined, { ref: false })]);
  socket.destroy();
}

const USAGE = '{"usageMetadata":{"promptTokenCount":1e308,"candidatesTokenCount":1e308}}';
const BOMB = gzipSync(Buffer.alloc(20_000_000, 32));

/** Answers that no provider should give. */
const ODD_ANSWERS: readonly (string | Buffer)[] = [
  'HTTP/1.1 200 Schön ✓ 好\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 400 Bad\x01\x7f\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 200 \r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\ntrailer: x-sum\r\ncontent-length: 2\r\n\r\n{}',
  'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-odd: Grüße \x80\xff\r\n\r\n{}',
  'HTTP/1.1 999 What\r\ncontent-length: 2\r\n\r\n{}',
  `HTTP/1.1 200 OK\r\ncontent-length: ${USAGE.length}\r\n\r\n${USAGE}`,
  'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope',
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${BOMB.length}\r\n\r\n`),
    BOMB,
  ]),
  `HTTP/1.1 200 OK\r\nx-long: ${'y'.repeat(100_000)}\r\ncontent-length: 2\r\n\r\n{}`,
];

/** An upstream that gives them in turn. */
export async function startOddUpstream(): Promise<{ readonly url: string; close(): Promise<void> }> {
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.once('data', () => socket.end(ODD_ANSWERS[turn++ % ODD_ANSWERS.length] ?? ''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
