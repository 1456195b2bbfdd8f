import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, startProcess } from '../../support/gateway/processes.ts';
import { startRaw, startSocket, startUpstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt } from '../../support/modules.ts';

let folder = '';
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-hostile-'));
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(
  upstream: { readonly url: string; close(): Promise<void> },
  ...args: readonly string[]
): Promise<GatewayProcess> {
  closers.push(upstream.close);
  const store = mkdtempSync(join(folder, 'store-'));
  const to = ['anthropic', 'openai', 'gemini'].flatMap((name) => ['--upstream', `${name}=${upstream.url}`]);
  const gateway = await startProcess(['--port', '0', '--store', store, ...to, ...args], folder);
  closers.push(() => gateway.stop('SIGKILL'));
  return gateway;
}

/** Sends bytes, waits until they are on their way, and resets the connection. */
async function sendAndReset(port: number, bytes: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
  socket.resetAndDestroy();
}

const HELLO = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';
const POST = { method: 'POST', headers: { 'content-type': 'application/json' }, body: HELLO };
const HOST = 'host: localhost\r\n';

const RESETS: readonly (readonly [what: string, bytes: string])[] = [
  ['CONNECT', `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`],
  ['CONNECT and bytes for the tunnel', `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n${'x'.repeat(50_000)}`],
  ['an upgrade', `GET /v1/realtime HTTP/1.1\r\n${HOST}connection: upgrade\r\nupgrade: websocket\r\n\r\n`],
  ['no HTTP', '\x16\x03\x01\x02\x00\x01'],
  ['half a head', 'POST /v1/messages HTTP/1.1\r\nhos'],
  ['half a body', `POST /v1/messages HTTP/1.1\r\n${HOST}content-length: 1000\r\n\r\n{"half`],
  ['half an upload', `POST /v1/files HTTP/1.1\r\n${HOST}content-length: 1000\r\n\r\n{"half`],
  ['an expectation', `POST /v1/files HTTP/1.1\r\n${HOST}expect: 100-continue\r\ncontent-length: 9\r\n\r\n`],
  ['an expectation of its own', `POST /v1/files HTTP/1.1\r\n${HOST}expect: money\r\ncontent-length: 9\r\n\r\n`],
  ['requests without waiting', `GET /v1/models HTTP/1.1\r\n${HOST}\r\n`.repeat(5)],
  ['a request for events', `GET /_palimpsest/api/events HTTP/1.1\r\n${HOST}\r\n`],
];

describe('a gateway survives clients that reset their connections', () => {
  it.each(['1', '2'])('with %s worker(s), whatever they sent before', async (workers) => {
    const gateway = await start(await startUpstream(), '--workers', workers);
    for (const [, bytes] of RESETS) for (let time = 0; time < 5; time++) await sendAndReset(gateway.port, bytes);
    for (let time = 0; time < 4; time++) expect((await fetch(`${gateway.url}/v1/messages`, POST)).status).toBe(200);
    expect(gateway.child.exitCode).toBeNull();
    expect(gateway.output()).not.toMatch(/a worker ended|Error|Warning/);
  });
});

describe('a gateway survives an upstream', () => {
  const answers = (bytes: Buffer | string) => (socket: Socket) => socket.once('data', () => socket.end(bytes));
  const LENGTH = 'content-length: 2\r\nconnection: close\r\n\r\n{}';

  it.each([
    ['a character above Latin-1', Buffer.from(`HTTP/1.1 200 OK \u{1f389} \u4f60\r\n${LENGTH}`), 200],
    ['a single byte of Latin-1', Buffer.from(`HTTP/1.1 404 Entit\u00e9\r\n${LENGTH}`, 'latin1'), 404],
    ['a control byte', Buffer.from(`HTTP/1.1 500 a\u0001b\u007fc\r\n${LENGTH}`), 500],
    ['an escape sequence', Buffer.from(`HTTP/1.1 429 \u001b[31mred\r\n${LENGTH}`), 429],
    ['nothing', Buffer.from(`HTTP/1.1 200\r\n${LENGTH}`), 200],
    ['10,000 characters', Buffer.from(`HTTP/1.1 200 ${'x'.repeat(10_000)}\r\n${LENGTH}`), 200],
  ])('whose reason phrase has %s, and passes its answer on', async (_what, bytes, status) => {
    const gateway = await start(await startSocket(answers(bytes)));
    for (const path of ['/v1/messages', '/v1/files']) {
      const answer = await fetch(`${gateway.url}${path}`, POST);
      expect([answer.status, await answer.text()]).toEqual([status, '{}']);
    }
    expect(gateway.child.exitCode).toBeNull();
  });

  it.each([
    ['resets while a body is sent to it', (socket: Socket) => socket.once('data', () => socket.resetAndDestroy())],
    [
      'answers while a body is sent to it, and resets',
      (socket: Socket) =>
        socket.once('data', () => socket.write(`HTTP/1.1 413 Large\r\n${LENGTH}`, () => socket.resetAndDestroy())),
    ],
  ])('that %s', async (_what, onSocket) => {
    const gateway = await start(await startSocket(onSocket));
    const body = Buffer.alloc(5_000_000, ' ');
    for (const path of ['/v1/files', '/v1/messages'])
      for (let time = 0; time < 5; time++)
        await fetch(`${gateway.url}${path}`, { ...POST, body }).then(
          (answer) => answer.text().catch(() => {}),
          () => {},
        );
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect(gateway.child.exitCode).toBeNull();
  });
});

describe('requests that were sent without waiting for answers', () => {
  it('are let go with their connection: the upstream sees all of them end', async () => {
    const open = new Set<unknown>();
    let seen = 0;
    const upstream = await startRaw((request, response) => {
      request.resume();
      seen++;
      open.add(response);
      response.once('close', () => open.delete(response));
    });
    const gateway = await start(upstream);
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`GET /v1/models HTTP/1.1\r\n${HOST}\r\n`.repeat(4));
    while (seen < 4) await new Promise((resolve) => setTimeout(resolve, 10));
    socket.resetAndDestroy();
    while (open.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(seen).toBe(4);
  });
});
