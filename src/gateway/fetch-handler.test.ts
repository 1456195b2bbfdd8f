import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { slidingWindow } from '../plan/policies/sliding-window.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { createFetchHandler } from './fetch-handler.ts';
import type { GatewayOptions } from './gateway-options.ts';
import type { LogEntry } from './receipts/log.ts';
import { createRecords } from './receipts/records.ts';

const received: { url: string; body: string; authorization: string | undefined }[] = [];
let refusals = 0;
let refusalBytes = 0;
let uploaded = 0;
/** Answers in place of the upstream, before the body is read. */
let answerOwn: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
const upstream = createServer(async (request, response) => {
  request.on('error', () => {});
  if (answerOwn) return answerOwn(request.resume(), response);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes < 1e6) chunks.push(chunk);
  }
  uploaded = bytes;
  const body = Buffer.concat(chunks).toString();
  received.push({ url: request.url ?? '', body, authorization: request.headers.authorization });
  if (refusals-- > 0)
    return void response
      .writeHead(400)
      .end(
        `{"error":{"message":"no to ${request.headers.authorization} at ${request.url}"}}${' '.repeat(refusalBytes)}`,
      );
  response.writeHead(request.url === '/v1/gone' ? 307 : 200, { 'x-own': '1', location: '/else' });
  response.end('{"usage":{"prompt_tokens":10,"completion_tokens":2}}');
});
let url = '';

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
afterEach(() => {
  answerOwn = undefined;
});
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

const long = (letter: string): string => `${letter} `.repeat(2000);

function chat(turns: number): string {
  const messages: object[] = [{ role: 'user', content: 'Go on' }];
  for (let turn = 0; turn < turns; turn++) {
    const call = { id: `c${turn}`, type: 'function', function: { name: 'read', arguments: '{}' } };
    messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    messages.push({ role: 'tool', tool_call_id: `c${turn}`, content: long(String(turn)) });
  }
  return JSON.stringify({ model: 'gpt-5', messages });
}

function start(more: Partial<GatewayOptions> = {}) {
  const records = createRecords({ startedAt: 0 });
  const options = {
    upstreams: { openai: url },
    policy: slidingWindow({ turns: 1 }),
    store: createMemoryStore(),
    records,
    ...more,
  };
  const handle = createFetchHandler(options);
  const post = (path: string, body: string) =>
    handle(
      new Request(`http://localhost${path}`, { method: 'POST', body, headers: { authorization: 'Bearer a-secret-k' } }),
    );
  return { handle, post, records };
}

describe('createFetchHandler', () => {
  it('masks, forwards and writes receipts', async () => {
    const { post, records } = start();
    const answer = await post('/v1/chat/completions?x=1', chat(3));
    expect([answer.status, answer.headers.get('x-own')]).toEqual([200, '1']);
    expect(await answer.json()).toEqual({ usage: { prompt_tokens: 10, completion_tokens: 2 } });
    const got = received.at(-1);
    expect([got?.url, got?.authorization]).toEqual(['/v1/chat/completions?x=1', 'Bearer a-secret-k']);
    expect(got?.body).not.toContain(long('0'));
    expect(got?.body).toContain(long('2'));
    await vi.waitFor(async () =>
      expect(await records.receipts('default').totals()).toMatchObject({ requests: 1, masked: 2, tokensSent: 10 }),
    );
  });

  it('sends the original once where the edited request is refused', async () => {
    const { post } = start();
    refusals = 1;
    const answer = await post('/v1/chat/completions', chat(3));
    expect(answer.status).toBe(200);
    expect(received.at(-1)?.body).toBe(chat(3));
  });

  it('lets everything else pass through, and follows no redirect', async () => {
    const { handle, post } = start();
    expect((await handle(new Request('http://localhost/v1/models'))).status).toBe(200);
    expect((await post('/v1/gone', 'x')).status).toBe(307);
    expect(received.at(-1)).toMatchObject({ url: '/v1/gone', body: 'x' });
  });

  it('refuses foreign names and origins, and requests that come back', async () => {
    const { handle } = start();
    const ask = (address: string, headers = {}) => handle(new Request(address, { headers }));
    expect((await ask('http://evil.example/v1/models')).status).toBe(403);
    expect(await (await ask('http://evil.example/v1/models')).text()).toContain('gateway.allowed_hosts');
    expect((await ask('http://localhost/v1/models', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask('http://localhost/v1/models', { origin: 'http://localhost' })).status).toBe(200);
    const named = createFetchHandler({ upstreams: { openai: url }, hosts: ['gateway.example'] });
    expect((await named(new Request('https://gateway.example/v1/models'))).status).toBe(200);
    const many = Array.from({ length: 8 }, (_, i) => `g${i}`).join(', ');
    expect((await ask('http://localhost/v1/models', { 'x-palimpsest-via': many })).status).toBe(508);
  });

  it('keeps credentials that a provider quotes out of receipts', async () => {
    const { post, records } = start();
    refusals = 1;
    await (await post('/v1/chat/completions?api_token=abc%2bdef%2b123456', chat(3))).text();
    await vi.waitFor(async () => {
      const [{ id = '' } = {}] = await records.receipts('default').conversations(1);
      const shown = JSON.stringify(await records.receipts('default').conversation(id));
      expect(shown).toContain('no to (redacted) at /v1/chat/completions?api_token=(redacted)');
    });
  });

  it('says where the upstream is missing, and needs a token where it is public or has tenants', async () => {
    const missing = createFetchHandler({ upstreams: { openai: 'http://127.0.0.1:1' } });
    expect((await missing(new Request('http://localhost/v1/models'))).status).toBe(502);
    const open = createFetchHandler({ upstreams: { openai: url }, isPublic: true, token: 'a-token-of-16-letters' });
    const shared = createFetchHandler({ upstreams: { openai: url }, tenants: { 'a-token-of-16-letters': 'acme' } });
    for (const handle of [open, shared]) {
      expect((await handle(new Request('http://localhost/v1/models'))).status).toBe(401);
      expect((await handle(new Request('http://localhost/as/a-token-of-16-letters/v1/models'))).status).toBe(200);
    }
  });

  it('streams a body that is larger than the limit, unread', async () => {
    const { handle, records } = start({ limits: { bodyBytes: 100_000 } });
    let made = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (made === 20e6) return controller.close();
        made += 50_000;
        controller.enqueue(new Uint8Array(50_000).fill(0x20));
      },
    });
    const request = new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      body,
      duplex: 'half',
    } as RequestInit);
    expect(await (await handle(request)).text()).toContain('usage');
    expect(uploaded).toBe(20e6);
    await vi.waitFor(async () => {
      const [conversation] = await records.receipts('default').conversations(1);
      expect(conversation?.because).toContain('gateway.limits.body_bytes');
    });
  });

  it('keeps only the head of a large refusal', async () => {
    const { post, records } = start();
    [refusals, refusalBytes] = [1, 30e6];
    const before = process.memoryUsage().arrayBuffers;
    expect(await (await post('/v1/chat/completions', chat(3))).text()).toContain('usage');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(25e6);
    refusalBytes = 0;
    await vi.waitFor(async () => expect((await records.receipts('default').totals()).refused).toBe(1));
  });

  it('answers though the log throws, and goes on', async () => {
    const log = (): void => {
      throw new Error('the log failed');
    };
    const { post } = start({ log });
    for (let i = 0; i < 2; i++) expect(await (await post('/v1/chat/completions', chat(3))).text()).toContain('usage');
    const missing = createFetchHandler({ upstreams: { openai: 'http://127.0.0.1:1' }, log });
    expect((await missing(new Request('http://localhost/v1/models'))).status).toBe(502);
  });

  it('settles for a client that leaves before there is an answer', async () => {
    const { handle } = start();
    const controller = new AbortController();
    const body = new ReadableStream({ pull: () => new Promise(() => {}) });
    const init = { method: 'POST', body, duplex: 'half', signal: controller.signal } as RequestInit;
    const answer = handle(new Request('http://localhost/v1/files', init));
    controller.abort();
    expect((await answer).status).toBe(499);
  });

  it('names an encoding that fetch did not decode, and no other', async () => {
    const { post } = start();
    const text = '{"usage":{"prompt_tokens":10,"completion_tokens":2}}';
    const compressed = Buffer.from([0x1f, 0x9d, 0x90]);
    const cases: [encoding: string, sent: Buffer, named: string | null, got: Buffer][] = [
      ['gzip', gzipSync(text), null, Buffer.from(text)],
      ['br', brotliCompressSync(text), null, Buffer.from(text)],
      ['gzip, br', brotliCompressSync(gzipSync(text)), null, Buffer.from(text)],
      ['compress', compressed, 'compress', compressed],
      ['gzip, compress', compressed, 'gzip, compress', compressed],
    ];
    for (const [encoding, sent, named, got] of cases) {
      answerOwn = (_request, response) => void response.writeHead(200, { 'content-encoding': encoding }).end(sent);
      for (const path of ['/v1/chat/completions', '/v1/files']) {
        const answer = await post(path, chat(3));
        expect(answer.headers.get('content-encoding'), encoding).toBe(named);
        expect(Buffer.from(await answer.arrayBuffer()), encoding).toEqual(got);
      }
    }
  });

  it('asks only for encodings that the fetch of every runtime decodes', async () => {
    const { handle } = start();
    const asked: (string | undefined)[] = [];
    answerOwn = ({ headers }, response) => {
      asked.push(headers['accept-encoding']);
      response.end('{}');
    };
    for (const headers of [{}, { 'accept-encoding': 'zstd' }, { 'accept-encoding': 'gzip, deflate, br, zstd' }])
      await handle(new Request('http://localhost/v1/models', { headers }));
    expect(asked).toEqual(['gzip, br', 'gzip, br', 'gzip, br']);
  });

  it('leaves out headers of the connection to the upstream', async () => {
    const { handle } = start();
    answerOwn = (_request, response) => {
      const hops = { connection: 'x-hop, keep-alive', 'x-hop': '1', 'keep-alive': 'timeout=5' };
      response.writeHead(200, { ...hops, 'proxy-authenticate': 'Basic', 'transfer-encoding': 'chunked', 'x-own': '1' });
      response.end('{}');
    };
    const answer = await handle(new Request('http://localhost/v1/models'));
    expect([...answer.headers.keys()].filter((name) => name !== 'date')).toEqual(['x-own', 'x-palimpsest-request-id']);
  });

  it('passes on every status that a Response can have, and says which one it cannot', async () => {
    const { handle } = start();
    const ask = async (status: number) => {
      answerOwn = (_request, { socket }) => socket?.end(`HTTP/1.1 ${status} X\r\ncontent-length: 0\r\n\r\n`);
      const answer = await handle(new Request('http://localhost/v1/models'));
      return [answer.status, await answer.text()];
    };
    for (const status of [204, 304, 404, 599]) expect(await ask(status)).toEqual([status, '']);
    expect(await ask(600)).toEqual([502, expect.stringContaining('answered with status 600')]);
    expect(await ask(999)).toEqual([502, expect.stringContaining('answered with status 999')]);
    // The fetch of Node reports a network error in its place.
    expect(await ask(407)).toEqual([502, expect.stringContaining('status 407')]);
  });

  it.each(['reads', 'does not read'])('takes an abort of a client that %s the answer for what it is', async (how) => {
    const logged: LogEntry[] = [];
    const ended: string[] = [];
    const records = createRecords({ startedAt: 0 });
    const finish: typeof records.finish = (end) => {
      ended.push(end.ended);
      records.finish(end);
    };
    const { handle } = start({ log: (entry) => logged.push(entry), records: { ...records, finish } });
    answerOwn = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {}\n\n');
    };
    const controller = new AbortController();
    const init = { method: 'POST', body: chat(3), signal: controller.signal };
    const answer = await handle(new Request('http://localhost/v1/chat/completions', init));
    const reader = how === 'reads' ? answer.body?.getReader() : undefined;
    await reader?.read();
    controller.abort();
    if (reader) await expect(reader.read()).rejects.toThrow();
    await vi.waitFor(() => expect(ended).toEqual(['client-gone']));
    expect(logged).toEqual([]);
    expect(await records.receipts('default').totals()).toMatchObject({ requests: 1 });
  });

  it('sends the original where the refusal of the edited request stalls', async () => {
    const { post } = start();
    answerOwn = (_request, response) => {
      answerOwn = undefined;
      response.writeHead(400).write('{"error":');
    };
    expect(await (await post('/v1/chat/completions', chat(3))).text()).toContain('usage');
    expect(received.at(-1)?.body).toBe(chat(3));
  }, 30_000);

  it('does not blame the upstream for a body of the client that breaks off', async () => {
    const logged: LogEntry[] = [];
    const { handle } = start({ log: (entry) => logged.push(entry), limits: { bodyBytes: 5 } });
    answerOwn = () => {};
    for (const path of ['/v1/files', '/v1/chat/completions']) {
      let chunks = 0;
      const body = new ReadableStream({
        pull(controller) {
          if (chunks++ < 3) controller.enqueue(Buffer.from('{"a":'));
          else controller.error(new Error('the client broke off'));
        },
      });
      const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
      expect((await handle(new Request(`http://localhost${path}`, init))).status).toBe(499);
    }
    expect(logged.filter(({ level }) => level !== 'info')).toEqual([]);
  });
});
