import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createMemoryStore } from '../store/memory-store.ts';
import { type HttpOptions, type HttpServer, serveHttp } from './serve-http.ts';

const open: HttpServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(options: Partial<HttpOptions> = {}): Promise<HttpServer> {
  const server = await serveHttp({ store: createMemoryStore() }, { port: 0, ...options });
  open.push(server);
  return server;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

/** `fetch` does not let a caller choose its Host. */
async function send(url: string, { method = 'POST', headers = {}, body = LIST }: Sent = {}) {
  const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const sent = request(url, { method, headers: { ...accept, ...headers } });
  sent.end(method === 'POST' ? body : undefined);
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode as number, text };
}

describe('serveHttp', () => {
  it('listens on this machine only, at a port that was free', async () => {
    const { url } = await serve();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const { status, text } = await send(url);
    expect([status, text.includes('search_masked')]).toEqual([200, true]);
  });

  it.each<[string, Sent, number]>([
    ['a page that calls itself by our address', { headers: { origin: 'http://evil.example' } }, 403],
    ['a page in a sandbox', { headers: { origin: 'null' } }, 403],
    ['a name that was bent to this machine', { headers: { host: 'evil.example' } }, 403],
    ['a name that only begins like ours', { headers: { host: 'localhost.evil.example' } }, 403],
    ['a page of this machine', { headers: { origin: 'http://localhost:3000' } }, 200],
    ['a form, which a browser sends without asking', { headers: { 'content-type': 'text/plain' } }, 415],
    ['no JSON', { body: '{' }, 400],
    ['a body that is too long', { headers: { 'content-length': '5000000' } }, 413],
    ['a stream that it does not offer', { method: 'GET' }, 405],
  ])('answers %s', async (_, sent, status) => {
    const { url } = await serve();
    expect((await send(url, sent)).status).toBe(status);
    expect((await send(url)).status).toBe(200);
  });

  it('serves one path', async () => {
    const { url } = await serve();
    expect((await send(url.replace('/mcp', '/'))).status).toBe(404);
    expect((await send(url.replace('/mcp', '/mcp/x'))).status).toBe(404);
    expect((await send(`${url}?x=1`)).status).toBe(200);
  });

  it('with a token answers only who sends it', async () => {
    const { url } = await serve({ token: 'sesame' });
    const status = async (authorization?: string) =>
      (await send(url, authorization === undefined ? {} : { headers: { authorization } })).status;
    expect(await status()).toBe(401);
    expect(await status('Bearer sesam')).toBe(401);
    expect(await status('sesame')).toBe(401);
    expect(await status('Basic sesame')).toBe(401);
    expect(await status('Bearer sesame')).toBe(200);
    expect(await status('bearer sesame')).toBe(200);
  });

  it.each(['0.0.0.0', '::', '192.168.1.1', 'example.com', '127.0.0.1.evil.example'])(
    'does not listen on %s without a token',
    async (host) => {
      await expect(serve({ host })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    },
  );

  it('with a token listens for other machines, under whatever name they know this one', async () => {
    const { url } = await serve({ host: '0.0.0.0', token: 'sesame' });
    const here = url.replace('0.0.0.0', '127.0.0.1');
    const headers = { host: 'my-machine.local', authorization: 'Bearer sesame' };
    expect((await send(here, { headers })).status).toBe(200);
    expect((await send(here, { headers: { ...headers, origin: 'http://evil.example' } })).status).toBe(403);
  });

  it('tells a port that is in use', async () => {
    const { url } = await serve();
    const port = Number(new URL(url).port);
    await expect(serve({ port })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringMatching(/in use/),
    });
  });

  it('closes with connections still open', async () => {
    const { url } = await serve();
    const waiting = request(url, { method: 'POST', headers: { 'content-length': '1000' } });
    waiting.on('error', () => {});
    waiting.write('{');
    await once(waiting, 'socket');
    await open.splice(0)[0]?.close();
    await expect(send(url)).rejects.toThrow();
  });
});
