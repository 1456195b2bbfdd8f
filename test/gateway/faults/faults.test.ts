import { once } from 'node:events';
import { createServer, get, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGateway, type GatewayOptions, type LogEntry } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/plan/policies/sliding-window.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { anthropicBody, anthropicMessages } from '../../support/gateway/requests.ts';
import { startRaw, startSocket, startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start<U extends { url: string; close(): Promise<void> }>(upstream: U, options: GatewayOptions = {}) {
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, options);
  closers.push(() => gateway.close({ graceMs: 0 }));
  return { ...gateway, upstream };
}

const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] });
const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body };

interface Failure {
  readonly type: string;
  readonly error: { readonly type: string; readonly message: string };
}

describe('an upstream', () => {
  it('that cannot be reached is a 502 that says where and why', async () => {
    const upstream = await startUpstream();
    await upstream.close();
    const gateway = await startGateway(upstream.url);
    closers.push(() => gateway.close());
    const answer = await fetch(`${gateway.url}/v1/messages`, post);
    expect(answer.status).toBe(502);
    const { type, error } = (await answer.json()) as Failure;
    expect([type, error.type]).toEqual(['error', 'upstream_unreachable']);
    expect(error.message).toContain(`could not reach ${upstream.url} (ECONNREFUSED)`);
    expect(gateway.logged).toContainEqual(
      expect.objectContaining({ message: 'upstream unreachable', provider: 'anthropic', code: 'ECONNREFUSED' }),
    );
  });

  it.each([
    ['resets before it answers', (socket: Socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['hangs up before it answers', (socket: Socket) => socket.once('data', () => socket.end())],
    ['answers garbage', (socket: Socket) => socket.once('data', () => socket.end('<html>What?</html>\r\n\r\n'))],
    ['answers half a head', (socket: Socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconte'))],
    [
      'answers two lengths',
      (socket: Socket) =>
        socket.once('data', () =>
          socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}'),
        ),
    ],
  ])('that %s is a 502', async (_what, onSocket) => {
    const { url } = await start(await startSocket(onSocket));
    const answer = await fetch(`${url}/v1/messages`, post);
    expect([answer.status, ((await answer.json()) as Failure).error.type]).toEqual([502, 'upstream_unreachable']);
  });

  it('that breaks off in its stream breaks off the client, too, so that half is not taken for the whole', async () => {
    const { url, logged } = await start(
      await startUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: 1\n\n', () => response.destroy());
      }),
    );
    const answer = await fetch(`${url}/v1/messages`, post);
    await expect(answer.text()).rejects.toThrow();
    expect(logged).toContainEqual(expect.objectContaining({ message: 'upstream broken', provider: 'anthropic' }));
  });

  it('that sends less than it said breaks off the client', async () => {
    const { url } = await start(
      await startUpstream((_request, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('{}', () => response.destroy());
      }),
    );
    const answer = await fetch(`${url}/v1/messages`, post);
    await expect(answer.text()).rejects.toThrow();
  });

  it.each([400, 401, 403, 404, 413, 422, 429, 500, 503, 529])('error %d comes as it came', async (status) => {
    const { url, upstream } = await start(
      await startUpstream((_request, response) => {
        response.writeHead(status, { 'retry-after': '7', 'x-should-retry': 'true', 'request-id': 'req_1' });
        response.end('{"type":"error" , "error":{"type":"overloaded_error"}}');
      }),
    );
    const answer = await fetch(`${url}/v1/messages`, post);
    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'retry-after': '7',
      'x-should-retry': 'true',
      'request-id': 'req_1',
    });
    expect(await answer.text()).toBe('{"type":"error" , "error":{"type":"overloaded_error"}}');
    expect(upstream.received).toHaveLength(1);
  });

  it('that answers before it has read all is heard', async () => {
    const { url } = await start(
      await startRaw((_request, response) => {
        response.writeHead(413).end('too large');
      }),
    );
    const answer = await fetch(`${url}/v1/files`, { method: 'POST', body: Buffer.alloc(20_000_000) });
    expect([answer.status, await answer.text()]).toEqual([413, 'too large']);
  });

  it.each([200_000, 3_000_000])('that answers an upload of %d bytes early and closes is heard', async (bytes) => {
    const { url } = await start(
      await startRaw((request, response) => {
        request.on('error', () => {});
        response.writeHead(413, { 'content-length': 9, connection: 'close' }).end('too large');
      }),
    );
    for (let time = 0; time < 10; time++) {
      const upload = httpRequest(`${url}/v1/files`, { method: 'POST', headers: { 'content-length': bytes } });
      upload.end(Buffer.alloc(bytes));
      const [answer] = (await once(upload, 'response')) as [IncomingMessage];
      expect([answer.statusCode, await text(answer)]).toEqual([413, 'too large']);
    }
  });

  it.each([
    ['stalls', (response: ServerResponse) => void response.write('{"error":')],
    [
      'never ends',
      (response: ServerResponse) => {
        const timer = setInterval(() => response.write('x'.repeat(65_536)), 2);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])(
    'whose refusal of an edited request %s gets the original',
    async (_what, refuse) => {
      const closed = withResolvers<void>();
      let isFirst = true;
      const { url, upstream } = await start(
        await startUpstream((_request, response) => {
          if (!isFirst) return void response.end('{}');
          isFirst = false;
          response.on('close', closed.resolve);
          refuse(response.writeHead(400));
        }),
        { policy: slidingWindow({ turns: 1 }) },
      );
      const long = JSON.stringify(anthropicBody(anthropicMessages(8)));
      const answer = await fetch(`${url}/v1/messages`, { ...post, body: long });
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
      expect(upstream.received.map(({ body }) => body.toString() === long)).toEqual([false, true]);
      await closed.promise;
    },
    30_000,
  );
});

/** As `Promise.withResolvers` of later Nodes. */
function withResolvers<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('a client', () => {
  it('that goes away in the middle of a stream ends the request to the upstream', async () => {
    const answering = withResolvers<ServerResponse>();
    const { url } = await start(
      await startUpstream((_request, response) => {
        response.write('data: 1\n\n');
        answering.resolve(response);
      }),
    );
    const abort = new AbortController();
    const answer = await fetch(`${url}/v1/messages`, { ...post, signal: abort.signal });
    await answer.body?.getReader().read();
    const response = await answering.promise;
    abort.abort();
    await once(response, 'close');
    expect(response.writableFinished).toBe(false);
  });

  it('that goes away before the answer ends the request to the upstream', async () => {
    const asked = withResolvers<ServerResponse>();
    const { url } = await start(await startUpstream((_request, response) => asked.resolve(response)));
    const abort = new AbortController();
    const answer = fetch(`${url}/v1/messages`, { ...post, signal: abort.signal }).catch(() => 'aborted');
    const response = await asked.promise;
    abort.abort();
    await once(response, 'close');
    expect(await answer).toBe('aborted');
  });

  it('that goes away before its request is complete leaves nothing behind', async () => {
    const { url, port, upstream } = await start(await startUpstream());
    const socket = connect(port, '127.0.0.1');
    socket.write('POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{"half');
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    expect((await fetch(`${url}/v1/messages`, post)).status).toBe(200);
    expect(upstream.received).toHaveLength(1);
  });
});

describe('a client that goes away while its request waits for the store', () => {
  it('takes no connection to the upstream', async () => {
    const upstream = await startUpstream((_request, response) => response.end('x'.repeat(6_000_000)));
    closers.push(upstream.close);
    const asked = withResolvers<void>();
    const gone = withResolvers<void>();
    const store = createMemoryStore();
    const list: Store['list'] = async function* (session) {
      asked.resolve();
      await gone.promise;
      yield* store.list(session);
    };
    const receipts: LogEntry[] = [];
    const gateway = createGateway({
      upstreams: { anthropic: upstream.url },
      store: changedStore(store, { list }),
      log: (entry) => receipts.push(entry),
    });
    const server = createServer((request, response) => {
      response.once('close', gone.resolve);
      gateway(request, response);
    }).listen(0, '127.0.0.1');
    closers.push(async () => {
      await gateway.close({ graceMs: 0 });
      server.close();
    });
    await once(server, 'listening');
    const abort = new AbortController();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/messages`;
    const long = JSON.stringify(anthropicBody(anthropicMessages(8)));
    const answer = fetch(url, { method: 'POST', body: long, signal: abort.signal }).catch(() => 'aborted');
    await asked.promise;
    abort.abort();
    expect(await answer).toBe('aborted');
    await vi.waitUntil(() => receipts.length + upstream.received.length > 0, { timeout: 10_000 });
    expect(upstream.received).toEqual([]);
    expect(receipts).toMatchObject([{ status: 0 }]);
    expect(await promisify(upstream.server.getConnections.bind(upstream.server))()).toBe(0);
  });
});

describe('much at once', () => {
  it('100 streams run side by side, and all their connections are let go', async () => {
    const waiting: ServerResponse[] = [];
    const { url, upstream } = await start(
      await startUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: begin\n\n');
        waiting.push(response);
      }),
    );
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${url}/v1/messages`, post)));
    expect(waiting).toHaveLength(100);
    for (const response of waiting) response.end('data: end\n\n');
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts)).toEqual(new Set(['data: begin\n\ndata: end\n\n']));
    const open = (): Promise<number> =>
      new Promise((resolve) => upstream.server.getConnections((_error, count) => resolve(count)));
    while ((await open()) > 0) await new Promise((resolve) => setTimeout(resolve, 100));
  });

  it('memory stays flat over 10,000 requests', async () => {
    const { url } = await start(
      await startRaw((request, response) => {
        request.resume();
        request.on('end', () => response.end('{"usage":{"prompt_tokens":10,"completion_tokens":1}}'));
      }),
      { log: () => {} },
    );
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 50)
        await Promise.all(
          Array.from({ length: 50 }, async () => (await fetch(`${url}/v1/chat/completions`, post)).arrayBuffer()),
        );
    };
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const used = (): number => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    // The log fills up first: it keeps the last 500 receipts of a conversation.
    await send(2000);
    const before = used();
    await send(10_000);
    expect(used() - before).toBeLessThan(30_000_000);
  });
});

describe('a gateway', () => {
  it('outlives a client that sends no HTTP', async () => {
    const { url, port } = await start(await startUpstream());
    const socket = connect(port, '127.0.0.1');
    socket.write('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03');
    socket.on('error', () => {});
    await once(socket.resume(), 'close');
    const answer = get(`${url}/v1/models`, { agent: false });
    const [message] = (await once(answer, 'response')) as [IncomingMessage];
    message.resume();
    expect(message.statusCode).toBe(200);
  });
});
