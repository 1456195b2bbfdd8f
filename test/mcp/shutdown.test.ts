import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { MAIN, overHttp, startHttp } from '../support/mcp-clients.ts';
import { ensureBuilt } from '../support/modules.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-mcp-stop-'));
beforeAll(async () => {
  await ensureBuilt();
  await (await openStore({ path, mode: 'write' })).close();
}, 120_000);
afterAll(() => rmSync(path, { recursive: true, force: true }));

const HELLO = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

/** Starts the server over stdio, waits for its first answer, and lets the caller end it. */
async function started(end: (child: ReturnType<typeof spawn>) => void) {
  const child = spawn(process.execPath, [MAIN, 'mcp', '--store', path]);
  child.stdin.write(`${JSON.stringify(HELLO)}\n`);
  const [answer] = await once(child.stdout, 'data');
  const [exit, stderr] = [once(child, 'exit'), text(child.stderr)];
  end(child);
  const [code, signal] = await exit;
  return { answer: JSON.parse(String(answer)), code, signal, stderr: await stderr };
}

describe('palimpsest mcp over stdio', () => {
  it.each<[string, (child: ReturnType<typeof spawn>) => void]>([
    ['the client closes its end', (child) => child.stdin?.end()],
    ['a user types Ctrl-C', (child) => child.kill('SIGINT')],
    ['the system asks', (child) => child.kill('SIGTERM')],
  ])('stops cleanly when %s', { timeout: 30_000 }, async (_, end) => {
    const { answer, code, signal, stderr } = await started(end);
    expect(answer.result.serverInfo.name).toBe('palimpsest');
    expect([code, signal, stderr]).toEqual([0, null, '']);
  });

  it('does not fall over lines that are no messages', async () => {
    const child = spawn(process.execPath, [MAIN, 'mcp', '--store', path]);
    const output = text(child.stdout);
    child.stdin.write('not json\n{"jsonrpc":"2.0"}\n[]\n\n');
    child.stdin.write(`${JSON.stringify(HELLO)}\n`);
    setTimeout(() => child.stdin.end(), 1500);
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(await output).toContain('"palimpsest"');
  });
});

describe('palimpsest mcp over HTTP', () => {
  it('stops cleanly at Ctrl-C, with a client connected', async () => {
    const server = await startHttp(['--store', path]);
    const client = await overHttp(server.url, 'legacy');
    expect(await server.stop()).toBe(0);
    await expect(client.listTools()).rejects.toThrow();
    await client.close();
  });

  it('asks for the token of the environment', async () => {
    const server = await startHttp(['--store', path], { PALIMPSEST_TOKEN: 'sesame' });
    await expect(overHttp(server.url, 'legacy')).rejects.toThrow();
    const authorized = await fetch(server.url, {
      method: 'POST',
      headers: {
        authorization: 'Bearer sesame',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(HELLO),
    });
    expect(authorized.status).toBe(200);
    expect(await server.stop()).toBe(0);
  });
});
