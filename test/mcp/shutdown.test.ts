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

describe('a client that writes its requests, closes its end and reads', () => {
  const call = (id: number, name: string, args: object) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const recall = (id: number) => call(id, 'recall', { handle: 'p_aaaaaaaaaaaaaaaaaaaaaaaaaa' });

  async function piped(messages: readonly object[]) {
    const child = spawn(process.execPath, [MAIN, 'mcp', '--store', path, '--whole-store']);
    const [output, exit] = [text(child.stdout), once(child, 'exit')];
    child.stdin.end(messages.map((message) => JSON.stringify(message)).join('\n'));
    const [code] = await exit;
    const lines = (await output).trim().split('\n');
    return { code, ids: lines.map((line) => JSON.parse(line).id).sort((a, b) => a - b) };
  }

  it('gets all answers, also to a last line without an end, then the process ends', { timeout: 30_000 }, async () => {
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const requests = Array.from({ length: 20 }, (_, index) => recall(index + 2));
    const { code, ids } = await piped([HELLO, initialized, ...requests]);
    expect(code).toBe(0);
    expect(ids).toEqual([HELLO, ...requests].map(({ id }) => id));
  });

  it('gets an answer to each of two requests with one id', { timeout: 30_000 }, async () => {
    expect(await piped([HELLO, recall(2), recall(2)])).toEqual({ code: 0, ids: [1, 2, 2] });
  });

  it('does not wait for a cancelled request', { timeout: 30_000 }, async () => {
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } };
    const { code, ids } = await piped([HELLO, recall(2), cancel, recall(3)]);
    expect(code).toBe(0);
    expect(ids.filter((id) => id !== 2)).toEqual([1, 3]);
  });

  it('does not wait for a subscription', { timeout: 30_000 }, async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const { code } = await piped([
      { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } },
      { jsonrpc: '2.0', id: 2, method: 'subscriptions/listen', params: { notifications: {}, _meta: meta } },
    ]);
    expect(code).toBe(0);
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
