import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../src/gateway/index.ts';
import { keepToken } from '../../src/gateway/token.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { startGateway, TOKEN } from './gateway.ts';
import { sendRaw, startUpstream } from './upstream.ts';

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

  it('of ours do not reach the upstream', async () => {
    const { url, upstream } = await start();
    await fetch(`${url}/v1/models`, { headers: { 'x-palimpsest-token': TOKEN } });
    await fetch(`${url}/as/${TOKEN}/v1/models`);
    expect(upstream.received).toHaveLength(2);
    expect(JSON.stringify(upstream.received)).not.toContain(TOKEN);
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

describe('off this machine', () => {
  const tenants = { 'token-of-tenant-aaaa': 'a', 'token-of-tenant-bbbb': 'b' };

  it('every request needs a token', async () => {
    const { url, upstream } = await start({ isPublic: true, tenants });
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
