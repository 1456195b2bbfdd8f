import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt, ROOT } from '../../support/modules.ts';

beforeAll(ensureBuilt, 120_000);

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The program itself, with little memory. */
async function serve(): Promise<{ child: ChildProcess; url: string }> {
  const upstream = await startUpstream((_request, response) => void response.end('{}'));
  upstream.server.keepAliveTimeout = 120_000;
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'));
  const flags = [
    'serve',
    '--port',
    '0',
    '--upstream',
    `anthropic=${upstream.url}`,
    '--store',
    join(folder, 'store'),
    '--quiet',
  ];
  const child = spawn(process.execPath, ['--max-old-space-size=600', join(ROOT, 'dist/cli/main.js'), ...flags], {
    env: { ...process.env, HOME: folder, PALIMPSEST_TOKEN: 'a-token-for-tests-only' },
    cwd: folder,
  });
  closers.push(
    () => rmSync(folder, { recursive: true, force: true }),
    upstream.close,
    async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  );
  let said = '';
  for await (const chunk of child.stdout) {
    said += chunk;
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
    if (url) return { child, url };
  }
  throw new Error(`palimpsest serve said: ${said}`);
}

async function post(url: string, body: string): Promise<number> {
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body });
  await response.arrayBuffer();
  return response.status;
}

it.each([
  [
    'model names',
    48,
    (i: number) => `{"model":"${i}${'m'.repeat(16e6)}","messages":[{"role":"user","content":"${i}"}]}`,
  ],
  ['first lines', 48, (i: number) => `{"model":"m","messages":[{"role":"user","content":"${i}${'t'.repeat(16e6)}"}]}`],
  [
    'blocks without a text',
    16,
    (i: number) =>
      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"${i}"}${',{}'.repeat(99_000)}]}]}`,
  ],
])(
  'a heap of 600 MB survives hundreds of megabytes of %s',
  async (_what, count, body) => {
    const { child, url } = await serve();
    for (let i = 0; i < count; i++) expect(await post(url, body(i))).toBe(200);
    expect(child.exitCode ?? child.signalCode).toBeNull();
  },
  240_000,
);
