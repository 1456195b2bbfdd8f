import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { isOverflow } from '../../manager/agent/overflow.ts';
import { fromUrl } from './from-url.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

type Answer = (response: ServerResponse, request: IncomingMessage, attempt: number) => void;

async function serve(answer: Answer): Promise<{ baseURL: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  server = createServer((request, response) => {
    asked.push(request);
    answer(response, request, asked.length);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`, asked };
}

const said = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }] });
const request = { messages: [{ role: 'user', content: 'Well?' }], tools: [] };
const signal = (): AbortSignal => new AbortController().signal;

describe('fromUrl', () => {
  it('asks with the key and the headers it was given', async () => {
    const { baseURL, asked } = await serve((response) => response.end(said));
    const model = fromUrl({ baseURL, model: 'm', apiKey: 'secret', headers: { 'x-title': 'test' } });
    expect((await model(request, signal())).text).toBe('Yes.');
    expect(asked[0]?.url).toBe('/v1/chat/completions');
    expect(asked[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'x-title': 'test' });
  });

  it('asks again where a server is busy, as often as it may', async () => {
    const { baseURL, asked } = await serve((response, _request, attempt) => {
      if (attempt < 3) response.writeHead(503, { 'retry-after': '0' }).end();
      else response.end(said);
    });
    expect((await fromUrl({ baseURL, model: 'm' })(request, signal())).text).toBe('Yes.');
    expect(asked).toHaveLength(3);
  });

  it('does not ask again where a request was refused', async () => {
    const { baseURL, asked } = await serve((response) => response.writeHead(400).end('bad tools'));
    const error = await fromUrl({ baseURL, model: 'm' })(request, signal()).catch((e) => e);
    expect(error).toMatchObject({ code: 'MODEL_FAILED', message: expect.stringContaining('found 400: bad tools') });
    expect(asked).toHaveLength(1);
  });

  it('stops waiting when it is told to', async () => {
    const controller = new AbortController();
    const { baseURL } = await serve((response) => {
      response.writeHead(503, { 'retry-after': '60' }).end();
      setTimeout(() => controller.abort(), 10);
    });
    await expect(fromUrl({ baseURL, model: 'm' })(request, controller.signal)).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  it('says which address does not answer', async () => {
    const { baseURL } = await serve(() => {});
    await new Promise((resolve) => server?.close(resolve));
    const model = fromUrl({ baseURL, model: 'm', retries: 0 });
    await expect(model(request, signal())).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(/could not reach it: .*ECONNREFUSED/),
    });
  });

  it('says of each address of a host why it does not answer', async () => {
    const cause = new AggregateError([new Error('connect ECONNREFUSED ::1:1'), new Error('127.0.0.1:1 too')]);
    const fetch = async () => Promise.reject(new TypeError('fetch failed', { cause }));
    const model = fromUrl({ baseURL: 'http://localhost:1/v1', model: 'm', retries: 0, fetch });
    await expect(model(request, signal())).rejects.toThrow(/reach it: connect ECONNREFUSED ::1:1; 127.0.0.1:1 too/);
  });

  it.each([
    ['a stream', 'data: {"choices":[{"delta":{"content":"I w"}}]}\n\n', { onText: () => {} }],
    ['JSON', '{"choices":', {}],
  ])('says that a connection ended in the middle of %s', async (_what, begin, more) => {
    const { baseURL } = await serve((response) => response.write(begin, () => response.destroy()));
    await expect(fromUrl({ baseURL, model: 'm' })({ ...request, ...more }, signal())).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('the connection ended'),
    });
  });

  it('takes an answer in one piece of a server that does not stream', async () => {
    const { baseURL } = await serve((response) => {
      response.setHeader('content-type', 'Application/JSON; charset=utf-8');
      response.end(said);
    });
    const reply = await fromUrl({ baseURL, model: 'm' })({ ...request, onText: () => {} }, signal());
    expect(reply.text).toBe('Yes.');
  });

  it('hears a refusal that comes in the place of a stream', async () => {
    const { baseURL } = await serve((response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"error":{"message":"prompt is too long"}}');
    });
    const error = await fromUrl({ baseURL, model: 'm' })({ ...request, onText: () => {} }, signal()).catch((e) => e);
    expect(isOverflow(error)).toBe(true);
  });

  it('says what it found in place of JSON', async () => {
    const { baseURL } = await serve((response) => response.end('<html>proxy</html>'));
    await expect(fromUrl({ baseURL, model: 'm' })(request, signal())).rejects.toThrow(/found: <html>proxy/);
  });

  it('reads a stream however it is cut into pieces', async () => {
    const events = [
      ': keep-alive',
      'data: {"choices":[{"delta":{"content":"Grüß "}}]}',
      'data: not json',
      'data: {"choices":[{"delta":{"content":"dich 🌍"},"finish_reason":"stop"}]}',
      'data: [DONE]',
    ].join('\r\n\r\n');
    const { baseURL } = await serve((response) => {
      for (const byte of Buffer.from(events)) response.write(Buffer.of(byte));
      response.end();
    });
    const heard: string[] = [];
    const model = fromUrl({ baseURL, model: 'm' });
    const reply = await model({ ...request, onText: (text) => heard.push(text) }, signal());
    expect(reply.text).toBe('Grüß dich 🌍');
    expect(heard).toEqual(['Grüß ', 'dich 🌍']);
  });

  it.each([
    ['a URL that is none', { baseURL: 'localhost', model: 'm' }],
    ['no model', { baseURL: 'http://localhost/v1', model: '' }],
    ['a misspelt option', { baseURL: 'http://localhost/v1', model: 'm', apikey: 'x' }],
  ])('refuses %s', (_what, options) => {
    expect(() => fromUrl(options as never)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });
});
