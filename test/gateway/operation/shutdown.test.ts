import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TOKEN } from '../../support/gateway/gateway.ts';
import { type GatewayProcess, startProcess } from '../../support/gateway/processes.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt } from '../../support/modules.ts';

let folder = '';
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  await ensureBuilt();
  folder = mkdtempSync(join(tmpdir(), 'palimpsest-shutdown-'));
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(upstream: Upstream, ...args: readonly string[]): Promise<GatewayProcess> {
  closers.push(upstream.close);
  const store = mkdtempSync(join(folder, 'store-'));
  const gateway = await startProcess(
    ['--port', '0', '--store', store, '--upstream', `openai=${upstream.url}`, ...args],
    folder,
  );
  closers.push(() => gateway.stop('SIGKILL'));
  return gateway;
}

/** A connection on which something was sent, and what came back. */
async function open(port: number, text: string): Promise<{ readonly socket: Socket; received(): string }> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    received += chunk;
  });
  await once(socket, 'connect');
  if (text) socket.write(text);
  closers.push(() => socket.destroy());
  return { socket, received: () => received };
}

const HOST = 'host: localhost\r\n';
const EVENTS = `GET /_palimpsest/api/events HTTP/1.1\r\n${HOST}authorization: Bearer ${TOKEN}\r\n\r\n`;
const HELLO = '{"model":"m","messages":[{"role":"user","content":"hello"}]}';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Far below the time that an exchange may take, and far above that of a noisy machine. */
const SOON_MS = 15_000;

async function untilSoon<T>(promise: Promise<T>): Promise<T | 'still running'> {
  return Promise.race([promise, pause(SOON_MS).then(() => 'still running' as const)]);
}

describe.each(['1', '2'])('SIGTERM, with %s worker(s)', (workers) => {
  it.each([
    ['an idle connection is open', ''],
    ['a connection after an answer is open', `GET /healthz HTTP/1.1\r\n${HOST}\r\n`],
    ['a dashboard reads events', EVENTS],
    ['half a head was sent', 'POST /v1/chat/completions HTTP/1.1\r\nhos'],
    ['half a request was sent', `POST /v1/chat/completions HTTP/1.1\r\n${HOST}content-length: 100\r\n\r\n{"half`],
    [
      'half a call of a tool was sent',
      `POST /_palimpsest/mcp HTTP/1.1\r\n${HOST}authorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"half`,
    ],
    ['a tunnel was asked for', `CONNECT evil.example:443 HTTP/1.1\r\n${HOST}\r\n`],
  ])('ends the process at once while %s', async (_what, text) => {
    const gateway = await start(await startUpstream(), '--workers', workers);
    await open(gateway.port, text);
    // Long enough that the gateway has read it; if it has not, the test is only weaker.
    await pause(300);
    expect(await untilSoon(gateway.stop('SIGTERM'))).toBe(0);
  });

  it('finishes an exchange under way, refuses half a request, and ends the events of a dashboard', async () => {
    let end = (): void => {};
    const upstream = await startUpstream((_request, response) => {
      response.write('{"a":');
      end = () => response.end('1}');
    });
    const gateway = await start(upstream, '--workers', workers);
    const events = await open(gateway.port, EVENTS);
    while (!events.received().includes(': open')) await pause(10);
    const half = await open(gateway.port, `POST /v1/responses HTTP/1.1\r\n${HOST}content-length: 100\r\n\r\n{"half`);
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body: HELLO });
    const ended = Promise.all([once(events.socket, 'close'), once(half.socket, 'close')]);
    const stopping = gateway.stop('SIGTERM');
    expect(await untilSoon(ended)).not.toBe('still running');
    expect(half.received()).toMatch(/^HTTP\/1\.1 503 [\s\S]*Palimpsest is stopping/);
    expect(gateway.child.exitCode).toBeNull();
    end();
    expect(await answer.text()).toBe('{"a":1}');
    expect(await untilSoon(stopping)).toBe(0);
  });

  it('cuts off an exchange that takes longer than --grace-ms', async () => {
    const upstream = await startUpstream((_request, response) => void response.write('{'));
    const gateway = await start(upstream, '--workers', workers, '--grace-ms', '200');
    const answer = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', body: HELLO });
    expect(await untilSoon(gateway.stop('SIGTERM'))).toBe(0);
    await expect(answer.text()).rejects.toThrow();
  });
});
