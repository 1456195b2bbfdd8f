import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFetchHandler } from '../../../src/gateway/index.ts';
import { everyProvider, type Started, startGateway, TOKEN } from '../../support/gateway/gateway.ts';
import { sendRaw, startUpstream, type Upstream } from '../../support/gateway/upstream.ts';

let upstream: Upstream;
let gateway: Started;

beforeEach(async () => {
  upstream = await startUpstream();
  gateway = await startGateway(upstream.url);
});
afterEach(async () => {
  await gateway.close({ graceMs: 0 });
  await upstream.close();
});

/** The answer to one request, given as its lines, on a connection of its own. */
const ask = (lines: readonly string[]): Promise<string> =>
  sendRaw(gateway.port, [...lines, '', ''].join('\r\n')).then((text) => text.toLowerCase());

/** As Codex 0.166 sends it, apart from its metadata. */
const CODEX_WEBSOCKET = [
  'GET /v1/responses HTTP/1.1',
  'Host: 127.0.0.1',
  'Connection: Upgrade, close',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: eklpV/M+AgK8lUlosbSukg==',
  'authorization: Bearer sk-fake',
  'user-agent: codex_exec/0.166.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.166.0)',
  'openai-beta: responses_websockets=2026-02-06',
];

describe('a request for a WebSocket', () => {
  it('gets 426 with the protocol to use, and is not forwarded', async () => {
    const answer = await ask(CODEX_WEBSOCKET);
    expect(answer).toMatch(/^http\/1\.1 426 upgrade required\r\n/);
    // RFC 9110, 15.5.22 and 7.8: an Upgrade field, named in Connection.
    expect(answer).toMatch(/\r\nupgrade: http\/1\.1\r\n/);
    expect(answer).toMatch(/\r\nconnection: .*upgrade/);
    expect(answer).toContain('websocket');
    expect(upstream.received).toEqual([]);
  });

  it('gets the same from the fetch handler', async () => {
    const handle = createFetchHandler({ upstreams: everyProvider(upstream.url) });
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'eklpV/M+AgK8lUlosbSukg==' };
    const answer = await handle(new Request('http://127.0.0.1/v1/responses', { headers }));
    expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'HTTP/1.1']);
    expect(upstream.received).toEqual([]);
  });

  it('is not one that offers HTTP/2, which goes on as it is', async () => {
    const offer = ['connection: Upgrade, HTTP2-Settings, close', 'upgrade: h2c', 'http2-settings: AAMAAABk'];
    const answer = await ask(['GET /v1/models HTTP/1.1', 'host: 127.0.0.1', ...offer]);
    expect(answer).toMatch(/^http\/1\.1 200 /);
    expect(upstream.received.map(({ url }) => url)).toEqual(['/v1/models']);
  });
});

/** As Claude Code 2.1 sends it before its first request: nothing in it tells the provider. */
const CLAUDE_CODE_HEAD = [
  'HEAD / HTTP/1.1',
  'Connection: close',
  'User-Agent: Bun/1.4.0',
  'Accept: */*',
  'Host: 127.0.0.1',
  'Accept-Encoding: gzip, deflate, br, zstd',
];

describe('HEAD /', () => {
  it('is answered without asking a provider', async () => {
    expect(await ask(CLAUDE_CODE_HEAD)).toMatch(/^http\/1\.1 204 /);
    const handle = createFetchHandler({ upstreams: everyProvider(upstream.url) });
    expect((await handle(new Request('http://127.0.0.1/', { method: 'HEAD' }))).status).toBe(204);
    expect(upstream.received).toEqual([]);
  });

  it.each(['x-api-key: k', 'anthropic-version: 2023-06-01', 'x-goog-api-key: k'])(
    'goes to the provider that %s names',
    async (header) => {
      expect(await ask([...CLAUDE_CODE_HEAD, header])).toMatch(/^http\/1\.1 200 /);
      expect(upstream.received.map(({ method, url }) => [method, url])).toEqual([['HEAD', '/']]);
    },
  );

  it('goes to the provider whose name is in the path', async () => {
    expect(await ask(['HEAD /openai/ HTTP/1.1', ...CLAUDE_CODE_HEAD.slice(1)])).toMatch(/^http\/1\.1 200 /);
    expect(upstream.received.map(({ url }) => url)).toEqual(['/']);
  });
});

/** As Chromium sends it when its user opens the address of the gateway. */
const BROWSER = ['Host: 127.0.0.1', 'Connection: close', 'Accept: text/html,*/*;q=0.8', 'Sec-Fetch-Mode: navigate'];

describe('GET / of a browser', () => {
  it('leads to the page, and is not forwarded', async () => {
    const answer = await ask(['GET / HTTP/1.1', ...BROWSER]);
    expect(answer).toMatch(/^http\/1\.1 302 /);
    expect(answer).toContain('\r\nlocation: /_palimpsest/\r\n');
    expect(upstream.received).toEqual([]);
  });

  it('under a foreign name gets 403', async () => {
    const answer = await ask(['GET / HTTP/1.1', 'Host: evil.example', ...BROWSER.slice(1)]);
    expect(answer).toMatch(/^http\/1\.1 403 /);
  });

  it('by another client is forwarded: Ollama answers it', async () => {
    await ask(['GET / HTTP/1.1', ...BROWSER.slice(0, -1)]);
    expect(upstream.received.map(({ url }) => url)).toEqual(['/']);
  });
});

describe('HEAD of the events of the page', () => {
  it('gets a head, and ends', async () => {
    const address = `${gateway.url}/_palimpsest/api/events`;
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(address, { method: 'HEAD', headers, signal: AbortSignal.timeout(5000) });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  });
});
