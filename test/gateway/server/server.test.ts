import { once } from 'node:events';
import { Agent, get, request as httpRequest, type IncomingMessage } from 'node:http';
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { sendRaw, startRaw, startSocket, startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start<U extends { url: string; close(): Promise<void> }>(
  upstream: U,
  options: GatewayOptions = {},
): Promise<Started & { upstream: U }> {
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, options);
  closers.push(() => gateway.close({ graceMs: 0 }));
  return { ...gateway, upstream };
}

const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body };

/** The parts of an answer that `fetch` would hide. */
async function fetchRaw(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ message: IncomingMessage; bytes: Buffer }> {
  const [message] = (await once(get(url, { headers, agent: false }), 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return { message, bytes: Buffer.concat(chunks) };
}

describe('a request', () => {
  it('arrives byte for byte, with its headers in their order and spelling', async () => {
    const { upstream, url } = await start(await startUpstream());
    const odd = '{ "model":"m","n":1.0,"big":12345678901234567890,"s":"\\u0041\\/","messages":[] , "model":"m"}';
    await fetch(`${url}/v1/chat/completions?x=%2F&y=1`, {
      ...post,
      body: odd,
      headers: { 'X-Odd-Name': 'A b', authorization: 'Bearer k' },
    });
    const [got] = upstream.received;
    expect(got?.body.toString()).toBe(odd);
    expect(got?.url).toBe('/v1/chat/completions?x=%2F&y=1');
    expect(got?.headers).toMatchObject({
      authorization: 'Bearer k',
      host: upstream.url.slice(7),
      'content-length': String(odd.length),
    });
  });

  it('goes behind the path of its upstream', async () => {
    const upstream = await startUpstream();
    const { url } = await start({ ...upstream, url: `${upstream.url}/team/a/` });
    await fetch(`${url}/openai/v1/models`);
    expect(upstream.received[0]?.url).toBe('/team/a/v1/models');
  });

  it('leaves behind what belongs to its own connection', async () => {
    const { upstream, port } = await start(await startUpstream());
    const lines = [
      'connection: close, X-Private',
      'X-Private: 1',
      'keep-alive: timeout=5',
      'te: trailers',
      'proxy-authorization: p',
      'upgrade: h2c',
      'expect: 100-continue',
      'X-Kept: yes',
    ];
    await sendRaw(
      port,
      `POST /v1/files HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n${lines.join('\r\n')}\r\n\r\n{}`,
    );
    const names = upstream.received[0]?.rawHeaders.filter((_, i) => i % 2 === 0);
    expect(names?.map((name) => name.toLowerCase()).sort()).toEqual([
      ...['connection', 'content-length', 'host', 'x-kept', 'x-palimpsest-via'],
    ]);
    expect(names).toContain('X-Kept');
  });

  it('streams through while it is still being sent, where it is not understood', async () => {
    let first = '';
    const upstream = await startRaw((request, response) => {
      request.once('data', (chunk) => {
        first = String(chunk);
        response.writeHead(200).end('early');
      });
    });
    const { url } = await start(upstream);
    const sending = httpRequest(`${url}/v1/files`, { method: 'POST', agent: false });
    sending.write('first');
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    expect(first).toBe('first');
    sending.on('error', () => {});
    sending.destroy();
  });

  it('of more than 64 MiB streams through unread', async () => {
    let bytes = 0;
    const upstream = await startRaw((request, response) => {
      request.on('data', (chunk) => {
        bytes += chunk.length;
      });
      request.on('end', () => response.end('{}'));
    });
    const { url, ask } = await start(upstream);
    const mebibyte = Buffer.alloc(1024 * 1024, ' ');
    for (const length of [undefined, 65 * mebibyte.length]) {
      bytes = 0;
      const headers = length === undefined ? {} : { 'content-length': String(length) };
      const sending = httpRequest(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false });
      for (let i = 0; i < 65; i++) if (!sending.write(mebibyte)) await once(sending, 'drain');
      sending.end();
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      expect(bytes).toBe(65 * mebibyte.length);
    }
    const { conversations } = await ask<{ conversations: unknown }>('conversations');
    expect(conversations).toMatchObject([
      { id: 'unread', act: 'pass-through', because: 'more than 64 MiB (gateway.limits.body_bytes)', requests: 2 },
    ]);
  });

  it.each([
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['br', brotliCompressSync(body)],
    ['x-unknown', Buffer.from(body)],
    ['gzip', Buffer.from('not gzip at all')],
    ['gzip', gzipSync(Buffer.alloc(10_000_000))],
  ])('in %s arrives as it was compressed', async (encoding, compressed) => {
    const { upstream, url } = await start(await startUpstream());
    await fetch(`${url}/v1/messages`, { ...post, body: compressed, headers: { 'content-encoding': encoding } });
    expect(upstream.received[0]?.body.equals(compressed)).toBe(true);
    expect(upstream.received[0]?.headers['content-encoding']).toBe(encoding);
  });
});

describe('an answer', () => {
  it('comes back with its status, words, headers and bytes', async () => {
    const { url } = await start(
      await startUpstream((_request, response) => {
        response.sendDate = false;
        response.writeHead(418, 'Short and Stout', [
          'X-Twice',
          '1',
          'X-Twice',
          '2',
          'Content-Length',
          '4',
          'Keep-Alive',
          'timeout=9',
        ]);
        response.end('tea\n');
      }),
    );
    const { message, bytes } = await fetchRaw(`${url}/v1/models`);
    expect([message.statusCode, message.statusMessage, bytes.toString()]).toEqual([418, 'Short and Stout', 'tea\n']);
    expect(message.rawHeaders.slice(0, 6)).toEqual(['X-Twice', '1', 'X-Twice', '2', 'Content-Length', '4']);
    expect(message.headers).not.toHaveProperty('date');
    expect(message.headers['keep-alive']).not.toBe('timeout=9');
  });

  it.each([301, 302, 307, 308])('that redirects (%d) is passed back, never followed', async (status) => {
    const { url, upstream } = await start(
      await startUpstream((_request, response) =>
        response.writeHead(status, { location: 'http://169.254.169.254/' }).end(),
      ),
    );
    const answer = await fetch(`${url}/v1/messages`, { ...post, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([status, 'http://169.254.169.254/']);
    expect(upstream.received).toHaveLength(1);
  });

  it('is compressed as the client asked and the upstream answered', async () => {
    const { url } = await start(
      await startUpstream((request, response) => {
        expect(request.headers['accept-encoding']).toBe('gzip;q=1.0');
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}'));
      }),
    );
    const { message, bytes } = await fetchRaw(`${url}/v1/models`, { 'accept-encoding': 'gzip;q=1.0' });
    expect(message.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(bytes).toString()).toBe('{"a":1}');
  });

  it('keeps its trailers', async () => {
    const { url } = await start(
      await startUpstream((_request, response) => {
        response.writeHead(200, { trailer: 'X-Sum' });
        response.write('abc');
        response.addTrailers({ 'X-Sum': '42' });
        response.end();
      }),
    );
    const { message } = await fetchRaw(`${url}/v1/models`);
    expect(message.trailers).toEqual({ 'x-sum': '42' });
  });

  it.each([
    ['a length', 'HTTP/1.1', 'GET', 'HTTP/1.1 200 OK\r\ntrailer: X-Sum\r\ncontent-length: 2\r\n\r\n{}'],
    ['no body', 'HTTP/1.1', 'HEAD', 'HTTP/1.1 200 OK\r\ntrailer: X-Sum\r\ntransfer-encoding: chunked\r\n\r\n'],
    [
      'a client of HTTP/1.0',
      'HTTP/1.0',
      'GET',
      `HTTP/1.1 200 OK\r\ntrailer: X-Sum\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n`,
    ],
  ])('that announces trailers comes through with %s', async (_what, version, method, bytes) => {
    const { port } = await start(await startSocket((socket) => socket.on('data', () => socket.write(bytes))));
    const answer = await sendRaw(
      port,
      `${method} /v1/models ${version}\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(method === 'HEAD' ? /^HTTP\/1\.1 200 OK\r\n/ : /^HTTP\/1\.1 200 OK\r\n[\s\S]*\{\}$/);
  });

  it.each([
    ['in one packet', ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}']],
    ['byte by byte', [...'HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}']],
    [
      'twice, and with hints',
      ['HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 Early\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
    ],
    ['twice', ['HTTP/1.1 100 C\r\n\r\nHTTP/1.1 100 C\r\n\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}']],
  ])('comes after a 100 Continue that was not asked for, %s', async (_what, packets) => {
    const { url } = await start(
      await startSocket((socket) =>
        socket
          .on('data', async () => {
            for (const packet of packets) {
              socket.write(packet);
              await new Promise((resolve) => setTimeout(resolve, 2));
            }
          })
          .setNoDelay(),
      ),
    );
    // Twice, on one connection.
    for (let time = 0; time < 2; time++) {
      const answer = await fetch(`${url}/v1/models`);
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    }
  });

  it('that quotes a 100 Continue is not changed', async () => {
    const quoted = 'HTTP/1.1 100 Continue\r\n\r\n';
    const { url } = await start(
      await startSocket((socket) =>
        socket.on('data', async () => {
          for (const packet of [`HTTP/1.1 200 OK\r\ncontent-length: ${2 * quoted.length}\r\n\r\n`, quoted, quoted]) {
            socket.write(packet);
            await new Promise((resolve) => setTimeout(resolve, 30));
          }
        }),
      ),
    );
    expect(await (await fetch(`${url}/v1/models`)).text()).toBe(quoted + quoted);
  });

  it('without a body comes without one', async () => {
    const { url } = await start(
      await startUpstream((request, response) => {
        response
          .writeHead(request.method === 'HEAD' ? 200 : 204, request.method === 'HEAD' ? { 'content-length': 99 } : {})
          .end();
      }),
    );
    const head = await fetch(`${url}/v1/models`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '99']);
    expect((await fetch(`${url}/v1/models`, { method: 'DELETE' })).status).toBe(204);
  });

  it('that streams is passed on as it comes, headers first', async () => {
    let goOn = (): void => {};
    const { url } = await start(
      await startUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        goOn = () => response.write('data: 1\n\n');
      }),
    );
    const answer = await fetch(`${url}/v1/messages`, post);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const reader = answer.body?.getReader();
    goOn();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n');
    goOn();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('data: 1\n\n');
    await reader?.cancel();
  });

  it('that nobody reads is not fetched ahead', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const upstream = await startRaw((_request, response) => {
      response.writeHead(200);
      const write = (): void => {
        while (written < 300_000_000) {
          written += chunk.length;
          if (!response.write(chunk)) {
            response.once('drain', write);
            return;
          }
        }
        response.end();
      };
      write();
    });
    const { url } = await start(upstream);
    const reading = get(`${url}/v1/files/big`, { agent: false });
    const [answer] = (await once(reading, 'response')) as [IncomingMessage];
    answer.pause();
    await settled(() => written);
    expect(written).toBeLessThan(100_000_000);
    answer.resume();
    await once(answer, 'end');
    expect(written).toBeGreaterThanOrEqual(300_000_000);
  });

  it('of a client that waits a long time between bytes is not given up', async () => {
    const { url } = await start(
      await startUpstream((_request, response) => {
        response.write('{');
        setTimeout(() => response.end('}'), 1500);
      }),
    );
    expect(await (await fetch(`${url}/v1/messages`, post)).text()).toBe('{}');
  });
});

/** When a number has not changed for a while. */
async function settled(read: () => number): Promise<void> {
  for (let last = -1; last !== read(); ) {
    last = read();
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

describe('connections', () => {
  it('are kept on both sides', async () => {
    const { url, upstream } = await start(await startUpstream());
    const sockets = new Set<unknown>();
    upstream.server.on('connection', (socket) => sockets.add(socket));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const own = new Set<unknown>();
    for (let i = 0; i < 5; i++) {
      const sending = httpRequest(`${url}/v1/messages`, { method: 'POST', agent });
      sending.on('socket', (socket) => own.add(socket));
      sending.end(body);
      const [answer] = (await once(sending, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      // The upstream's connection is free again one turn of the loop later.
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    agent.destroy();
    expect([own.size, sockets.size]).toEqual([1, 1]);
  });
});

describe('closing', () => {
  it('finishes the streams that are under way and takes nothing new', async () => {
    let end = (): void => {};
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      end = () => response.end('data: 2\n\n');
    });
    closers.push(upstream.close);
    const gateway = await startGateway(upstream.url);
    const answer = await fetch(`${gateway.url}/v1/messages`, post);
    const closing = gateway.close();
    await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
    end();
    expect(await answer.text()).toBe('data: 1\n\ndata: 2\n\n');
    await closing;
  });

  it('cuts off what takes longer than it may', async () => {
    const upstream = await startUpstream((_request, response) => void response.write('{'));
    closers.push(upstream.close);
    const gateway = await startGateway(upstream.url);
    const answer = await fetch(`${gateway.url}/v1/messages`, post);
    await gateway.close({ graceMs: 50 });
    await expect(answer.text()).rejects.toThrow();
  });
});
