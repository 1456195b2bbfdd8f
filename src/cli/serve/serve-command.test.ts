import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { palimpsest, type Ran } from '../../../test/support/memory-io.ts';
import { providerNames } from '../../gateway/wire/providers.ts';
import { agents } from '../agents/agents.ts';
import type { Io } from '../io.ts';

const TOKEN = 'a-token-for-tests-only';
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-serve-'));
const received: string[] = [];
let lastBody = '';
const upstream: Server = createServer((request, response) => {
  received.push(request.url ?? '');
  lastBody = '';
  request.on('data', (chunk) => (lastBody += chunk)).on('end', () => response.end('{}'));
});
let upstreamUrl = '';

beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

interface Serving {
  readonly url: string;
  stdout(): string;
  stderr(): string;
  stop(): Promise<Ran>;
}

let stores = 0;

/** Serves in this process, with what its files say, until it is stopped. */
async function serve(args: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<Serving> {
  const said = { stdout: '', stderr: '' };
  let stop = (): void => {};
  const io: Partial<Io> = {
    env: { PALIMPSEST_TOKEN: TOKEN, XDG_CONFIG_HOME: '/users-own' },
    readFile: async (path) => files[path] ?? Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' })),
    stdout: (text) => (said.stdout += text),
    stderr: (text) => (said.stderr += text),
    interrupted: () => new Promise((resolve) => (stop = resolve)),
  };
  const own = args.includes('--store') ? [] : ['--store', join(folder, `store-${++stores}`)];
  const running = palimpsest(['serve', '--port', '0', '--quiet', ...own, ...args], io);
  while (!said.stdout.includes('Ctrl-C')) {
    await Promise.race([
      new Promise((resolve) => setTimeout(resolve, 5)),
      running.then((ran) => Promise.reject(new Error(said.stderr || ran.stderr))),
    ]);
  }
  const url = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/m.exec(said.stdout)?.[1] ?? '';
  return {
    url,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    stop: () => {
      stop();
      return running;
    },
  };
}

const settingsOf = async (url: string): Promise<Record<string, unknown>> => {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const status = (await (await fetch(`${url}/_palimpsest/api/status`, { headers })).json()) as {
    settings: Record<string, unknown>;
  };
  return status.settings;
};

describe('palimpsest serve', () => {
  it('says where it listens, what to type next and where to watch', async () => {
    const { url, stdout, stop } = await serve([]);
    expect(stdout().split('\n')[0]).toBe(`listening on ${url}`);
    expect(stdout()).toContain(`export ANTHROPIC_BASE_URL=${url} `);
    expect(stdout()).toContain(`export OPENAI_BASE_URL=${url}/v1 `);
    expect(stdout()).toContain(`${url}/_palimpsest/#token=${TOKEN}`);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await stop()).code).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  it.each(agents.map((agent) => [agent.name, agent] as const))(
    'prints the lines of %s for --for',
    async (name, agent) => {
      const { url, stdout, stop } = await serve(['--for', name]);
      const steps = agent.steps({ base: url, mcp: `${url}/_palimpsest/mcp`, token: TOKEN });
      for (const { about, lines } of steps) {
        expect(stdout()).toContain(`${about}:\n`);
        for (const line of lines.split('\n').filter(Boolean)) expect(stdout()).toContain(`  ${line}\n`);
      }
      expect(stdout()).toContain(`export PALIMPSEST_TOKEN=${TOKEN}\n`);
      expect((await stop()).code).toBe(0);
    },
  );

  it('prints a word in the place of the token where others may read along', async () => {
    const { url, stdout, stop } = await serve(['--for', 'claude-code', '--host', '0.0.0.0']);
    expect(url).toBe('');
    expect(stdout()).toMatch(/export ANTHROPIC_BASE_URL=http:\/\/\S+\/as\/TOKEN\n/);
    expect(stdout()).toContain('(TOKEN is the one in the link below, or that of a tenant)');
    expect((await stop()).code).toBe(0);
  });

  it.each([
    ['claud-code', 'did you mean claude-code?'],
    ['gemini', 'did you mean gemini-cli?'],
    ['emacs', "claude-code, codex, gemini-cli, qwen-code, opencode, pi but found 'emacs'"],
  ])('refuses --for %s', async (name, said) => {
    const { code, stderr } = await palimpsest(['serve', '--for', name, '--port', '0'], {
      env: { PALIMPSEST_TOKEN: TOKEN },
    });
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });

  it('names its store in the commands that read it', async () => {
    const path = join(folder, 'named-store');
    const { stdout, stop } = await serve(['--store', path]);
    expect(stdout()).toContain(`npx palimpsest recall <handle> --store ${path}`);
    expect(stdout()).toContain(`npx palimpsest mcp --whole-store --store ${path}`);
    await stop();
  });

  it('says what is sent unchanged', async () => {
    const shadow = await serve(['--shadow']);
    expect(shadow.stdout()).toContain('Shadow: every request is sent unchanged, and no text is kept.\n');
    expect(shadow.stdout()).not.toContain('Masked texts');
    await shadow.stop();
    const holdout = await serve(['--holdout', '10%']);
    expect(holdout.stdout()).toMatch(/Masked texts are kept in .*10 % of new sessions are held out: sent unchanged/s);
    await holdout.stop();
  });

  it('--for does not send an agent to a demo', async () => {
    const demo = await serve(['--demo']);
    const { port } = new URL(demo.url);
    const env = { PALIMPSEST_TOKEN: TOKEN };
    const { code, stderr } = await palimpsest(['serve', '--for', 'codex', '--port', port], { env });
    await demo.stop();
    expect([code, stderr]).toEqual([1, expect.stringContaining(`The gateway at ${demo.url} is a demo`)]);
  });

  it('--for prints the lines of a gateway that already runs, and starts no other', async () => {
    const first = await serve([]);
    const { port } = new URL(first.url);
    const env = { PALIMPSEST_TOKEN: TOKEN };
    const { code, stdout } = await palimpsest(['serve', '--for', 'codex', '--port', port], { env });
    expect(code).toBe(0);
    expect(first.stdout()).toContain(`npx palimpsest serve --for <agent> --port ${port}\n`);
    expect(stdout).toContain(`A gateway already runs at ${first.url}\n`);
    expect(stdout).toContain(`openai_base_url = "${first.url}/v1"`);
    await first.stop();
  });

  it('forwards to the upstreams of its flags', async () => {
    const { url, stop } = await serve([
      '--upstream',
      `openai=${upstreamUrl}`,
      '--policy',
      'never',
      '--max-tokens',
      '1000',
      '--prices',
      'gpt-5',
    ]);
    await fetch(`${url}/v1/models`);
    expect(received.at(-1)).toBe('/v1/models');
    expect(await settingsOf(url)).toMatchObject({
      openai: upstreamUrl,
      policy: 'never',
      maxTokens: 1000,
      prices: 'gpt-5',
    });
    await stop();
  });

  it.each<[string, readonly string[], string, 'same as lines' | 'kept first' | 'nothing']>([
    ['shapes results by default', [], '', 'same as lines'],
    ['takes the options of --policy', ['--policy', 'break-even:clean=false,references=false'], '', 'nothing'],
    ['and those of the file', [], 'policy: { name: break-even, references: false, clean: false }', 'nothing'],
    [
      'cuts shell output where it is asked to',
      ['--policy', 'break-even:references=false,shell-output=200'],
      '',
      'kept first',
    ],
    ['also in the file', [], 'policy: { name: break-even, references: false, shell_output: 200 }', 'kept first'],
  ])('%s when they first go out', async (_name, args, yaml, shown) => {
    const files = yaml ? { 'palimpsest.yaml': yaml } : {};
    const { url, stop } = await serve(['--upstream', `openai=${upstreamUrl}`, ...args], files);
    const output = Array.from({ length: 100 }, (_, i) => `test ${i} took ${(i * 7919) % 1000} ms`).join('\n');
    const turn = (id: string) => [
      {
        role: 'assistant',
        tool_calls: [{ id, type: 'function', function: { name: 'bash', arguments: '{"command":"npm test"}' } }],
      },
      { role: 'tool', tool_call_id: id, content: output },
    ];
    const messages = [{ role: 'user', content: 'Fix it.' }, ...turn('a'), ...turn('b')];
    const body = JSON.stringify({ model: 'gpt-5', messages });
    await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })).arrayBuffer();
    if (shown === 'nothing') expect(lastBody).toBe(body);
    else expect(lastBody).toContain(shown);
    await stop();
  });

  it('reads the file of --config, over which flags go', async () => {
    const yaml = `gateway: { upstreams: { openai: "${upstreamUrl}", gemini: "${upstreamUrl}" }, max_tokens: 5000 }\npolicy: { name: polling }`;
    const { url, stderr, stop } = await serve(['--config', 'mine.yaml', '--max-tokens', '6000'], { 'mine.yaml': yaml });
    expect(await settingsOf(url)).toMatchObject({
      openai: upstreamUrl,
      gemini: upstreamUrl,
      maxTokens: 6000,
      policy: 'polling',
    });
    expect(stderr()).toBe('');
    await stop();
  });

  it('reads no other file than that of --config', async () => {
    const { url, stderr, stop } = await serve(['--config', 'mine.yaml'], {
      'mine.yaml': 'gateway: { max_tokens: 5000 }',
      'palimpsest.yaml': 'policy: { name: polling }\ngateway: { port: 1, prices: gpt-5 }',
      '/users-own/palimpsest/palimpsest.yaml': 'policy: { name: never }',
    });
    expect(await settingsOf(url)).toMatchObject({ policy: 'break-even', maxTokens: 5000 });
    expect((await settingsOf(url)).prices).not.toBe('gpt-5');
    expect(stderr()).toBe('');
    await stop();
  });

  it('reads own prices of models from --price-file, or from gateway.price_file', async () => {
    const files = {
      'prices.json': '{ "my-model": { "input": 3, "output": 15 } }',
      'other.yaml': 'claude-*: subscription\nmy-model: { input: 1, output: 2, cache_read: 0.1 }',
      'mine.yaml': 'gateway: { price_file: other.yaml }',
    };
    const ownPrices = async (...args: string[]): Promise<unknown> => {
      const { url, stop } = await serve(args, files);
      const { modelPrices } = await settingsOf(url);
      await stop();
      return modelPrices;
    };
    expect(await ownPrices()).toBe('list prices');
    expect(await ownPrices('--price-file', 'prices.json')).toBe('1 own, then list prices');
    expect(await ownPrices('--config', 'mine.yaml')).toBe('2 own, then list prices');
    expect(await ownPrices('--config', 'mine.yaml', '--price-file', 'prices.json')).toBe('1 own, then list prices');
  });

  it('keeps what requests without a tenant of their own hide in the store of store.tenant', async () => {
    const store = join(folder, 'of-acme');
    const files = { 'mine.yaml': 'store: { tenant: acme }\ngateway: { tokens: { bob: a-token-for-bob-only } }' };
    const { stdout, stop } = await serve(['--config', 'mine.yaml', '--store', store], files);
    expect(readdirSync(store)).toEqual(['acme']);
    expect(stdout()).toMatch(/palimpsest recall <handle> --store \S+ --tenant acme /);
    await stop();
  });

  it("reads the user's own file", async () => {
    const files = { '/users-own/palimpsest/palimpsest.yaml': `gateway: { upstreams: { openai: "${upstreamUrl}" } }` };
    const { url, stop } = await serve([], files);
    expect(await settingsOf(url)).toMatchObject({ openai: upstreamUrl });
    await stop();
  });

  it('lets no file of the working folder redirect it, and says so', async () => {
    const yaml = `
gateway:
  upstreams: { openai: "${upstreamUrl}" }
  host: 0.0.0.0
  port: 1
  tokens: { evil: a-token-that-is-known }
  allowed_hosts: [evil.example]
  allowed_origins: ['https://evil.example']
  price_file: /etc/passwd
  max_tokens: 5000
store: { path: /elsewhere }
policy: { name: polling }
`;
    const { url, stderr, stop } = await serve([], { 'palimpsest.yaml': yaml });
    expect(await settingsOf(url)).toMatchObject({
      openai: 'https://api.openai.com',
      maxTokens: 5000,
      policy: 'polling',
    });
    for (const key of [
      'gateway.upstreams',
      'gateway.host',
      'gateway.port',
      'gateway.tokens',
      'gateway.allowed_hosts',
      'gateway.allowed_origins',
      'gateway.price_file',
      'store',
    ])
      expect(stderr()).toContain(key);
    const headers = { authorization: 'Bearer a-token-that-is-known' };
    expect((await fetch(`${url}/_palimpsest/api/status`, { headers })).status).toBe(401);
    await stop();
  });

  it('says at once that an upstream does not answer', async () => {
    const { stderr, stop } = await serve(['--upstream', 'anthropic=http://127.0.0.1:1']);
    while (stderr() === '') await new Promise((resolve) => setTimeout(resolve, 5));
    expect(stderr()).toContain(
      'nothing answers at http://127.0.0.1:1 (ECONNREFUSED). Requests for anthropic get a 502',
    );
    await stop();
  });

  it('serves MCP beside the API, with the same token', async () => {
    const { url, stop } = await serve([]);
    const call = (headers: Record<string, string>) =>
      fetch(`${url}/_palimpsest/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
        }),
      });
    expect((await call({})).status).toBe(401);
    expect(await (await call({ authorization: `Bearer ${TOKEN}` })).text()).toContain('"name":"palimpsest"');
    await stop();
  });

  it('plays a demo that masks, with nothing but itself', async () => {
    const { url, stdout, stop } = await serve(['--demo']);
    const ask = async <T>(path: string): Promise<T> =>
      (await (
        await fetch(`${url}/_palimpsest/api/${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
      ).json()) as T;
    const masked = async () => (await ask<{ totals: { masked: number } }>('status')).totals.masked;
    while ((await masked()) === 0) await new Promise((resolve) => setTimeout(resolve, 100));
    const { conversations } = await ask<{ conversations: { id: string; title: string }[] }>('conversations');
    expect(conversations.map(({ title }) => title).join()).toContain('The nightly import loses orders');
    expect(stdout()).toContain('no key is needed');
    expect((await stop()).code).toBe(0);
  });

  it.each([
    ['GET', '/favicon.ico', undefined],
    ['POST', '/v1/messages', 'not JSON'],
    ['POST', '/v1/messages', '{"messages":[null]}'],
  ])('keeps the demo running after %s %s with the body %s', async (method, path, body) => {
    const { url, stop } = await serve(['--demo']);
    const { status } = await fetch(`${url}${path}`, { method, ...(body === undefined ? {} : { body }) });
    expect(status).toBeGreaterThanOrEqual(400);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await stop()).code).toBe(0);
  });
});

describe('palimpsest serve, called wrongly', () => {
  it.each([
    [['--upstream', 'anthropic'], `expected --upstream ${providerNames.join('|')}=<address> but found 'anthropic'`],
    [['--upstream', 'antropic=http://x'], 'did you mean anthropic=…?'],
    [['--upstream', 'openai=ftp://x'], "Expected upstream openai to be an http or https address but found 'ftp://x'"],
    [['--upstream', 'openai=https://user:secret@host'], 'an address without a user name'],
    [['--port', '70000'], 'a port of 0 to 65535'],
    [['--policy', 'brake-even'], 'did you mean break-even?'],
    [['--policy', 'hybrid', '--workers', '2'], 'one that only masks, such as break-even'],
    [['--prices', 'gpt5'], 'did you mean gpt-5?'],
    [
      ['--allow-origin', 'null'],
      "expected --allow-origin to be an origin such as https://app.example but found 'null'",
    ],
    [['--allow-host', 'https://x'], 'Expected --allow-host to be a list of host names such as gateway.example'],
    [['--grace-ms', '100000000'], 'expected --grace-ms to be 0 to 86400000 milliseconds'],
    [['--workers', 'all'], "a whole number of 1 or more, or auto, but found 'all'"],
    [['--workers', '0'], 'a whole number of 1 or more'],
    [['--bound-thinking', 'drop'], "'opt-in', 'keep'"],
    [['extra'], "expected options only but found 'extra'"],
    [['--upstreams', 'x'], 'did you mean --upstream?'],
  ])('%j gets words and exit code 2', async (args, words) => {
    const env = { PALIMPSEST_TOKEN: TOKEN, XDG_CONFIG_HOME: '/users-own' };
    const { code, stderr } = await palimpsest(['serve', '--store', join(folder, 'wrong'), ...args], { env });
    expect(stderr).toContain(words);
    expect(stderr).not.toContain('secret');
    expect(code).toBe(2);
  });

  it.each([
    ['gone.json', 1, 'cannot read the price file gone.json: there is no such file'],
    ['broken.json', 1, 'broken.json: line 1: Expected JSON or YAML but found: '],
    [
      'wrong.json',
      2,
      "wrong.json: Expected the price of my-model option input to be a number of 0 or more but found '3'",
    ],
  ])('says what is wrong with the price file %s', async (file, exitCode, words) => {
    const files: Record<string, string> = {
      'broken.json': '{',
      'wrong.json': '{"my-model":{"input":"3","output":15}}',
    };
    const readFile = async (path: string) =>
      files[path] ?? Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' }));
    const env = { PALIMPSEST_TOKEN: TOKEN, XDG_CONFIG_HOME: '/users-own' };
    const args = ['serve', '--store', join(folder, 'wrong'), '--price-file', file];
    const { code, stderr } = await palimpsest(args, { env, readFile });
    expect(stderr).toContain(words);
    expect(code).toBe(exitCode);
  });

  it('says what to do where the port is taken', async () => {
    const { port } = upstream.address() as AddressInfo;
    const env = { PALIMPSEST_TOKEN: TOKEN };
    const { code, stderr } = await palimpsest(['serve', '--port', String(port), '--store', join(folder, 'taken')], {
      env,
    });
    expect(stderr).toContain(`Could not listen on port ${port} of 127.0.0.1: it is in use; stop what listens there`);
    expect(code).toBe(1);
  });

  it('says who writes to the store where another process does', async () => {
    const store = join(folder, 'locked');
    const { stop } = await serve(['--store', store]);
    const { code, stderr } = await palimpsest(['serve', '--port', '0', '--store', store], {
      env: { PALIMPSEST_TOKEN: TOKEN },
    });
    expect(stderr).toMatch(/process/);
    expect(code).toBe(1);
    await stop();
  });

  it.each([
    ['store: { tenant: ../x }', "1 to 128 letters, digits, _ and - but found '../x'"],
    [
      'gateway: { tokens: { ../../etc: a-token-for-etc-only } }',
      "1 to 128 letters, digits, _ and - but found '../../etc'",
    ],
    [
      'gateway: { tokens: { a: one-token-for-both, b: one-token-for-both } }',
      'gateway.tokens.a: Expected a token of its own but found that of b',
    ],
    [`gateway: { tokens: { a: ${TOKEN} } }`, 'Expected $PALIMPSEST_TOKEN to be another one than those of the tenants'],
    ['gateway: { allowed_origins: ["*"] }', 'Expected an origin such as https://app.example'],
    ['gateway: { shutdown_grace_ms: -1 }', 'Expected 0 to 86400000 milliseconds'],
    ['store: { tenant: acme }\ngateway: { tokens: { default: a-token-for-default } }', 'store.tenant is acme'],
  ])('%j gets words and exit code 2', async (yaml, words) => {
    const { code, stderr } = await palimpsest(['serve', '--config', 'x.yaml', '--store', join(folder, 'wrong')], {
      readFile: async () => yaml,
      env: { PALIMPSEST_TOKEN: TOKEN },
    });
    expect(stderr).toContain(words);
    expect(stderr).not.toContain('one-token-for-both');
    expect(code).toBe(2);
  });

  it('names what is wrong with a file', async () => {
    const readFile = async () => 'gateway: { prot: 1 }';
    const { code, stderr } = await palimpsest(['serve', '--config', 'x.yaml'], {
      readFile,
      env: { PALIMPSEST_TOKEN: TOKEN },
    });
    expect(stderr).toContain('line 1: gateway.prot: Expected a known field but found prot; did you mean port?');
    expect(code).toBe(2);
  });
});
