import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { get, request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { keepToken } from '../../../src/gateway/page/token.ts';
import { slidingWindow } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { startGateway, TOKEN } from '../../support/gateway/gateway.ts';
import { sendRaw, startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(options: GatewayOptions = {}) {
  const upstream = await startUpstream((_request, response) =>
    response.end('{"usage":{"prompt_tokens":5,"completion_tokens":1}}'),
  );
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, options);
  closers.push(() => gateway.close({ graceMs: 0 }));
  return { ...gateway, upstream };
}

/** With a Host of one's own, which `fetch` does not allow. */
async function statusOf(port: number, path: string, headers: Record<string, string>): Promise<number> {
  const request = get({ host: '127.0.0.1', port, path, headers, agent: false });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}

describe('a client cannot choose the upstream', () => {
  it.each([
    'GET //evil.example/v1/messages HTTP/1.1',
    'GET http://evil.example/v1/messages HTTP/1.1',
    'POST /openai//evil.example/v1/messages HTTP/1.1',
    'POST /\\evil.example/v1/messages HTTP/1.1',
    'GET /v1/../../admin HTTP/1.1',
    'GET /v1/%2e%2e/admin HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'CONNECT evil.example:443 HTTP/1.1',
  ])('with %s', async (line) => {
    const { port, upstream } = await start();
    const answer = await sendRaw(port, `${line}\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(upstream.received).toEqual([]);
  });

  it('with a Host or a forwarding header of its own', async () => {
    const { port, upstream } = await start({ hosts: ['gateway.example'] });
    const headers = [
      'host: gateway.example',
      'x-forwarded-host: evil.example',
      'x-upstream: http://evil.example',
      'forwarded: host=evil.example',
    ];
    await sendRaw(port, `GET /v1/models HTTP/1.1\r\n${headers.join('\r\n')}\r\nconnection: close\r\n\r\n`);
    expect(upstream.received[0]?.headers.host).toBe(upstream.url.slice('http://'.length));
  });
});

describe('a client cannot smuggle a request', () => {
  const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n';
  it.each([
    ['two lengths', 'content-length: 5\r\ncontent-length: 6\r\n\r\nhello1'],
    ['a length and chunks', `content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`],
    ['chunks that are none', `transfer-encoding: xchunked\r\n\r\n${smuggled}`],
    ['a length with a sign', `content-length: +0\r\n\r\n${smuggled}`],
    ['a space before the colon', `content-length : 0\r\n\r\n${smuggled}`],
    ['a folded header', `x: 1\r\n content-length: 40\r\n\r\n${smuggled}`],
    ['a bare line feed', `x: 1\ncontent-length: 40\r\n\r\n${smuggled}`],
    ['a bad chunk size', `transfer-encoding: chunked\r\n\r\n-1\r\n${smuggled}`],
  ])('by %s', async (_what, rest) => {
    const { port, upstream } = await start();
    const answer = await sendRaw(port, `POST /v1/files HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${rest}`);
    expect(upstream.received.map(({ url }) => url)).not.toContain('/smuggled');
    expect(answer).not.toMatch(/HTTP\/1\.1 200[\s\S]*HTTP\/1\.1 200/);
  });

  it('in a header that the upstream would read as two', async () => {
    const { port, upstream } = await start();
    await sendRaw(port, 'GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-a: 1\rx-b: 2\r\nconnection: close\r\n\r\n');
    for (const { headers } of upstream.received) expect(headers).not.toHaveProperty('x-b');
  });
});

/** A POST of a script with `mode: 'no-cors'`, or of a form: neither asks before it sends. */
async function postAs(port: number, path: string, headers: Record<string, string>): Promise<[number, string]> {
  const sending = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers, agent: false });
  sending.end('{"model":"m","messages":[{"role":"user","content":"hello"}]}');
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of answer) text += chunk;
  return [answer.statusCode ?? 0, text];
}

const PROVIDER_PATHS = ['/v1/messages', '/v1/chat/completions', '/v1/responses', '/v1/files', '/openai/api/pull'];

describe('a foreign web page reaches no provider', () => {
  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '0.0.0.0',
    '10.0.0.1',
    'host.docker.internal',
  ])('by the name %s, and is told the setting', async (name) => {
    const { port, upstream } = await start();
    for (const path of PROVIDER_PATHS) {
      const [status, text] = await postAs(port, path, { host: `${name}:${port}` });
      expect([status, text]).toEqual([403, expect.stringContaining(`--allow-host ${name} `)]);
      expect(text).toContain(`'${name}' to gateway.allowed_hosts`);
    }
    expect(await statusOf(port, '/v1/models', { host: `${name}:${port}` })).toBe(403);
    expect(upstream.received).toEqual([]);
  });

  it.each(['https://evil.example', 'http://localhost:1', 'null', 'file://', 'chrome-extension://abc'])(
    'from the origin %s, and is told the setting',
    async (origin) => {
      const { port, upstream, ask } = await start();
      for (const path of PROVIDER_PATHS) {
        const [status, text] = await postAs(port, path, {
          host: `127.0.0.1:${port}`,
          origin,
          'content-type': 'text/plain',
        });
        expect([status, text]).toEqual([403, expect.stringContaining(`'${origin}' to gateway.allowed_origins`)]);
      }
      expect(upstream.received).toEqual([]);
      expect((await ask<Answered>('status')).totals.requests).toBe(0);
    },
  );

  it.each(['cross-site', 'same-site'])('with an image, of which a browser says %s', async (site) => {
    const { port, upstream } = await start();
    expect(await statusOf(port, '/v1/models', { host: `127.0.0.1:${port}`, 'sec-fetch-site': site })).toBe(403);
    expect(upstream.received).toEqual([]);
  });
});

describe('a provider is reached', () => {
  it('by the names of this machine and by those that are allowed, in a container too', async () => {
    const { port, upstream } = await start({ hosts: ['host.docker.internal', 'Gateway.Example:443'] });
    const names = ['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST', 'host.docker.internal', 'gateway.example'];
    for (const name of names) expect((await postAs(port, '/v1/messages', { host: `${name}:${port}` }))[0]).toBe(200);
    expect(upstream.received).toHaveLength(names.length);
  });

  it('by a client without an Origin, from our own page, and from origins that are allowed', async () => {
    const { port, url } = await start({ origins: ['https://app.example', 'app://obsidian.md'] });
    const host = `127.0.0.1:${port}`;
    for (const origin of [url, 'https://app.example', 'HTTPS://APP.EXAMPLE', 'app://obsidian.md'])
      expect((await postAs(port, '/v1/messages', { host, origin }))[0]).toBe(200);
    expect((await postAs(port, '/v1/messages', { host }))[0]).toBe(200);
    expect((await postAs(port, '/v1/messages', { host, origin: 'https://app.example.evil' }))[0]).toBe(403);
  });

  it('by any name with a token, which no page knows, but from no foreign origin', async () => {
    const { port } = await start();
    const host = `host.docker.internal:${port}`;
    expect((await postAs(port, `/as/${TOKEN}/v1/messages`, { host }))[0]).toBe(200);
    expect((await postAs(port, '/v1/messages', { host, 'x-palimpsest-token': TOKEN }))[0]).toBe(200);
    expect((await postAs(port, '/v1/messages', { host, 'x-palimpsest-token': 'wrong' }))[0]).toBe(401);
    expect((await postAs(port, `/as/${TOKEN}/v1/messages`, { host, origin: 'https://evil.example' }))[0]).toBe(403);
  });
});

describe("the page's API", () => {
  it('needs the token, on this machine too', async () => {
    const { url, api } = await start();
    for (const path of [
      'status',
      'conversations',
      'conversations/x',
      'masked/p_x',
      'search?q=x',
      'events',
      'nothing',
    ]) {
      expect((await fetch(`${url}/_palimpsest/api/${path}`)).status).toBe(401);
      expect((await api(path, { authorization: 'Bearer wrong' })).status).toBe(401);
      expect((await api(path, { authorization: TOKEN })).status).toBe(401);
      expect((await fetch(`${url}/_palimpsest/api/${path}?token=${TOKEN}`)).status).toBe(401);
    }
    expect((await api('status')).status).toBe(200);
  });

  it('is closed where there is no token at all', async () => {
    const { url } = await start({ token: undefined as never });
    for (const authorization of ['', 'Bearer ', 'Bearer undefined', `Bearer ${TOKEN}`])
      expect((await fetch(`${url}/_palimpsest/api/status`, { headers: { authorization } })).status).toBe(401);
  });

  it('refuses names that are not this machine, to which a foreign page could bind one', async () => {
    const { port } = await start({ hosts: ['gateway.example'] });
    const asked = (host: string, path = '/_palimpsest/api/status') =>
      statusOf(port, path, { host, authorization: `Bearer ${TOKEN}` });
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, 'localhost', 'gateway.example'])
      expect(await asked(host)).toBe(200);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
    ]) {
      expect(await asked(host)).toBe(403);
      expect(await asked(host, '/_palimpsest/')).toBe(403);
      expect(await asked(host, '/metrics')).toBe(403);
    }
  });

  it('refuses foreign origins', async () => {
    const { port, url, api } = await start();
    expect((await api('status', { origin: url })).status).toBe(200);
    for (const origin of [
      'https://evil.example',
      'null',
      `http://localhost:${port + 1}`,
      `http://127.0.0.1.evil.example:${port}`,
      `file://127.0.0.1:${port}`,
      '',
    ])
      expect(await statusOf(port, '/_palimpsest/api/status', { origin, authorization: `Bearer ${TOKEN}` })).toBe(403);
  });

  it('allows no other origin to read it, and no store of the browser to keep it', async () => {
    const { api } = await start();
    const { headers } = await api('status');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('takes nothing but GET, and a mount nothing but JSON', async () => {
    const { url } = await start({
      mounts: { '/_palimpsest/mcp': (_request, response, tenant) => response.end(tenant) },
    });
    const authorization = `Bearer ${TOKEN}`;
    const call = (path: string, method: string, type = 'application/json') =>
      fetch(`${url}/_palimpsest/${path}`, { method, headers: { authorization, 'content-type': type }, body: '{}' });
    expect((await call('api/status', 'POST')).status).toBe(405);
    expect((await call('api/status', 'DELETE')).status).toBe(405);
    expect((await call('mcp', 'POST', 'text/plain')).status).toBe(415);
    expect((await call('mcp', 'POST', 'application/x-www-form-urlencoded')).status).toBe(415);
    expect(await (await call('mcp', 'POST')).text()).toBe('default');
    expect((await fetch(`${url}/_palimpsest/mcp`, { method: 'POST', body: '{}' })).status).toBe(401);
  });

  it('takes no address for a path of its API', async () => {
    const { port } = await start();
    for (const path of ['http://own/status', 'http://[', '/[', '//own/status']) {
      const lines = [`GET /_palimpsest/api/${path} HTTP/1.1`, 'host: localhost', `authorization: Bearer ${TOKEN}`];
      expect(await sendRaw(port, `${lines.join('\r\n')}\r\nconnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 404 /);
    }
  });

  it('reads no file but its own', async () => {
    const { port } = await start();
    for (const path of [
      '/_palimpsest/../package.json',
      '/_palimpsest/%2e%2e/package.json',
      '/_palimpsest/..%2f..%2fpackage.json',
      '/_palimpsest/app.js/../../../package.json',
      '/_palimpsest/constructor',
      '/_palimpsest/__proto__',
    ]) {
      const answer = await sendRaw(port, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    }
  });

  it('has a page that may run no script but its own', async () => {
    const { url } = await start();
    const answer = await fetch(`${url}/_palimpsest/`);
    // Where the page was not built there is nothing to run.
    if (answer.status === 503) return;
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
  });
});

describe('secrets', () => {
  const secrets = { key: 'sk-ant-secret-key', query: 'query-secret', body: 'body-secret', header: 'header-secret' };

  it('are forwarded, and never logged, stored, shown or counted', async () => {
    const store = createMemoryStore();
    const { url, ask, logged, upstream } = await start({ store });
    const headers = { authorization: `Bearer ${secrets.key}`, 'x-api-key': secrets.key, 'x-custom': secrets.header };
    const body = JSON.stringify({ model: secrets.body, messages: [{ role: 'user', content: secrets.body }] });
    for (const path of [
      '/v1/messages',
      '/v1/chat/completions',
      '/v1/responses',
      '/v1beta/models/m:generateContent',
      '/v1/other',
    ])
      await (await fetch(`${url}${path}?key=${secrets.query}`, { method: 'POST', headers, body })).text();
    expect(upstream.received).toHaveLength(5);
    for (const got of upstream.received) {
      expect(got.headers).toMatchObject({ authorization: `Bearer ${secrets.key}`, 'x-custom': secrets.header });
      expect(got.url).toContain(`key=${secrets.query}`);
    }
    const kept: object[] = [];
    for await (const record of store.export()) kept.push(record);
    const seen = JSON.stringify([logged, kept]) + (await (await fetch(`${url}/metrics`)).text());
    for (const secret of Object.values(secrets)) expect(seen).not.toContain(secret);
    const shown = JSON.stringify([await ask('conversations'), await ask('status')]);
    for (const secret of [secrets.key, secrets.query, secrets.header]) expect(shown).not.toContain(secret);
  });

  it('are not in the words about an upstream that fails', async () => {
    const gateway = await startGateway('http://127.0.0.1:1');
    closers.push(() => gateway.close());
    const headers = { 'x-api-key': secrets.key };
    const answer = await fetch(`${gateway.url}/v1/messages?key=${secrets.query}`, {
      method: 'POST',
      headers,
      body: secrets.body,
    });
    const seen = (await answer.text()) + JSON.stringify(gateway.logged);
    for (const secret of Object.values(secrets)) expect(seen).not.toContain(secret);
  });

  it('that a provider quotes in its refusal are neither stored nor shown; the client gets the bytes', async () => {
    const key = 'a/key+of="no"-known-kind';
    const known = 'sk-ant-api03-AbCdEfGh1234567890';
    const refusal = JSON.stringify({
      error: { message: `bad key ${key} or ${encodeURIComponent(key)}, ${known}, query-secret` },
    });
    const upstream = await startUpstream((_request, response, body) => {
      const isEdited = !body.toString().includes('result 0 result 0');
      response.writeHead(isEdited ? 400 : 200).end(isEdited || body.includes('always') ? refusal : '{}');
    });
    closers.push(upstream.close);
    const store = createMemoryStore();
    const options = { store, policy: slidingWindow({ turns: 1 }) };
    const gateway = await startGateway(upstream.url, options);
    closers.push(() => gateway.close({ graceMs: 0 }));
    const messages = [{ role: 'user', content: 'Go on' }, ...[0, 1, 2].flatMap(chatTurn)];
    const send = (extra: object) =>
      fetch(`${gateway.url}/v1/chat/completions?key=query-secret`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'x-goog-api-key': key },
        body: JSON.stringify({ model: 'gpt-5', messages, ...extra }),
      });
    expect(await (await send({ user: 'always' })).text()).toBe(refusal);
    expect(await (await send({})).text()).toBe('{}');
    const { conversations } = await gateway.ask<{ conversations: { id: string }[] }>('conversations');
    const shown = JSON.stringify(await gateway.ask(`conversations/${conversations[0]?.id}`));
    const kept: object[] = [];
    for await (const record of store.export()) kept.push(record);
    const stored = JSON.stringify(kept);
    expect(shown).toContain('bad key (redacted) or (redacted), (redacted), (redacted)');
    expect(stored).toContain('hands-off');
    for (const secret of [key, JSON.stringify(key).slice(1, -1), known, 'query-secret', 'known-kind'])
      for (const seen of [shown, stored, JSON.stringify(gateway.logged)]) expect(seen).not.toContain(secret);
  });

  it('of ours do not reach the upstream', async () => {
    const { url, upstream } = await start();
    await fetch(`${url}/v1/models`, { headers: { 'x-palimpsest-token': TOKEN } });
    await fetch(`${url}/as/${TOKEN}/v1/models`);
    expect(upstream.received).toHaveLength(2);
    expect(JSON.stringify(upstream.received)).not.toContain(TOKEN);
  });
});

const chatTurn = (turn: number): object[] => [
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `c${turn}`, type: 'function', function: { name: 'read', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: `c${turn}`, content: `result ${turn} `.repeat(1000) },
];

describe('metrics', () => {
  const metrics = async (url: string, token?: string): Promise<number> =>
    (await fetch(`${url}/metrics`, token ? { headers: { authorization: `Bearer ${token}` } } : {})).status;

  it("need the gateway's own token where there are tenants, or other machines can ask", async () => {
    const tenants = { 'token-of-tenant-aaaa': 'a' };
    for (const options of [{ tenants }, { tenants, isPublic: true }, { isPublic: true }]) {
      const { url } = await start(options);
      expect(await metrics(url)).toBe(401);
      expect(await metrics(url, 'wrong')).toBe(401);
      // They count the requests of all tenants.
      expect(await metrics(url, 'token-of-tenant-aaaa')).toBe(401);
      expect(await metrics(url, TOKEN)).toBe(200);
    }
  });

  it('are open on this machine where there is one user', async () => {
    expect(await metrics((await start()).url)).toBe(200);
  });
});

describe('a gateway that is its own upstream', () => {
  const post = { method: 'POST', body: '{"model":"m","messages":[]}' };

  it.each(['/v1/chat/completions', '/v1/models'])('answers %s with 508 and names the setting', async (path) => {
    const upstream = await startUpstream();
    closers.push(upstream.close);
    const gateway = await startGateway(upstream.url);
    closers.push(() => gateway.close({ graceMs: 0 }));
    let passes = 0;
    // What comes to the upstream goes back to the gateway.
    upstream.server.removeAllListeners('request');
    upstream.server.on('request', (request, response) => {
      passes++;
      const { method = 'GET', url = '', headers } = request;
      const again = httpRequest(
        `${gateway.url}${url}`,
        { method, headers: { ...headers, host: 'localhost' } },
        (answer) => {
          response.writeHead(answer.statusCode ?? 0, answer.headers);
          answer.pipe(response);
        },
      );
      if (passes > 50) response.destroy();
      else request.pipe(again);
    });
    const answer = await fetch(`${gateway.url}${path}`, path === '/v1/models' ? {} : post);
    const text = await answer.text();
    expect([answer.status, text]).toEqual([508, expect.stringContaining('--upstream openai=')]);
    expect(text).toContain('gateway.upstreams.openai');
    expect(text).toContain(upstream.url);
    expect(passes).toBe(1);
  });

  it('of its upstream is found too, and a row of two is none', async () => {
    const upstream = await startUpstream();
    closers.push(upstream.close);
    const last = await startGateway(upstream.url);
    const first = await startGateway(last.url);
    closers.push(
      () => last.close({ graceMs: 0 }),
      () => first.close({ graceMs: 0 }),
    );
    expect((await fetch(`${first.url}/v1/chat/completions`, post)).status).toBe(200);
    expect(upstream.received[0]?.headers['x-palimpsest-via']).toMatch(/^[0-9a-f]{16}, [0-9a-f]{16}$/);
    const many = Array.from({ length: 8 }, (_, i) => `gateway-${i}`).join(',');
    const answer = await fetch(`${first.url}/v1/models`, { headers: { 'x-palimpsest-via': many } });
    expect(answer.status).toBe(508);
    expect(upstream.received).toHaveLength(1);
  });
});

describe('labels of metrics', () => {
  it('are bounded, whatever clients send', async () => {
    const { url } = await start();
    for (let i = 0; i < 50; i++)
      await (await fetch(`${url}/v1/x${i}?y=${i}`, { method: 'POST', body: `{"model":"m${i}"}` })).text();
    const lines = (await (await fetch(`${url}/metrics`)).text())
      .split('\n')
      .filter((line) => line.startsWith('palimpsest_responses'));
    expect(lines).toEqual(['palimpsest_responses_total{provider="openai",status="2xx"} 50']);
  });
});

describe('off this machine, and where there are tenants', () => {
  const tenants = { 'token-of-tenant-aaaa': 'a', 'token-of-tenant-bbbb': 'b' };

  it.each([{ isPublic: true }, {}, { isPublic: false }])('every request needs a token: %o', async (options) => {
    const { url, upstream } = await start({ ...options, tenants });
    expect((await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect((await fetch(`${url}/v1/models`, { headers: { 'x-palimpsest-token': 'wrong' } })).status).toBe(401);
    expect((await fetch(`${url}/as/wrong/v1/models`)).status).toBe(401);
    expect(upstream.received).toEqual([]);
    expect((await fetch(`${url}/as/token-of-tenant-aaaa/v1/models`)).status).toBe(200);
    expect(
      (await fetch(`${url}/v1/models`, { headers: { 'x-palimpsest-token': 'token-of-tenant-bbbb' } })).status,
    ).toBe(200);
    expect(upstream.received.map((got) => got.url)).toEqual(['/v1/models', '/v1/models']);
  });

  it('a tenant sees only what is its own', async () => {
    const stores = { a: createMemoryStore(), b: createMemoryStore() };
    const handle = await stores.a.put('the secret of a', { session: 'g-1' });
    const { url } = await start({ isPublic: true, tenants, store: (tenant) => stores[tenant as 'a'] });
    await (await fetch(`${url}/as/token-of-tenant-aaaa/v1/chat/completions`, { method: 'POST', body: '{}' })).text();
    const ask = async (token: string, path: string): Promise<Answered> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await (await fetch(`${url}/_palimpsest/api/${path}`, { headers })).json()) as Answered;
    };
    expect(await ask('token-of-tenant-aaaa', `masked/${handle}`)).toMatchObject({ text: 'the secret of a' });
    expect(await ask('token-of-tenant-bbbb', `masked/${handle}`)).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect((await ask('token-of-tenant-aaaa', 'search?q=secret')).matches).toHaveLength(1);
    expect((await ask('token-of-tenant-bbbb', 'search?q=secret')).matches).toEqual([]);
    expect((await ask('token-of-tenant-aaaa', 'conversations')).conversations).toHaveLength(1);
    expect((await ask('token-of-tenant-bbbb', 'conversations')).conversations).toEqual([]);
    expect((await ask('token-of-tenant-bbbb', 'status')).totals.requests).toBe(0);
  });
});

interface Answered {
  readonly matches: readonly unknown[];
  readonly conversations: readonly unknown[];
  readonly totals: { readonly requests: number };
}

describe('the token file', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'palimpsest-token-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is made once, for the user alone', () => {
    const path = join(folder, 'new', 'token');
    const token = keepToken(path);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700);
    expect(keepToken(path)).toBe(token);
  });

  it('that others could read is replaced', () => {
    const path = join(folder, 'open');
    writeFileSync(path, `${'a'.repeat(43)}\n`, { mode: 0o644 });
    expect(keepToken(path)).not.toBe('a'.repeat(43));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('that is a link, or holds no token, is replaced and not written through', () => {
    const target = join(folder, 'target');
    writeFileSync(target, 'b'.repeat(43), { mode: 0o600 });
    symlinkSync(target, join(folder, 'link'));
    expect(keepToken(join(folder, 'link'))).not.toBe('b'.repeat(43));
    expect(readFileSync(target, 'utf8')).toBe('b'.repeat(43));
    mkdirSync(join(folder, 'x'));
    writeFileSync(join(folder, 'x', 'short'), 'x', { mode: 0o600 });
    expect(keepToken(join(folder, 'x', 'short'))).toHaveLength(43);
  });
});
