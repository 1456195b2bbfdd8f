import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { slidingWindow } from '../../src/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import { claudeCode } from '../support/gateway/agent-requests.ts';
import { startGateway } from '../support/gateway/gateway.ts';
import { startUpstream } from '../support/gateway/upstream.ts';
import { palimpsest } from '../support/memory-io.ts';

const path = mkdtempSync(join(tmpdir(), 'palimpsest-gateway-session-'));
/** As the log of the gateway shows it. */
let session = '';

beforeAll(async () => {
  const usage = { input_tokens: 1000, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 7 };
  const upstream = await startUpstream((_request, response) => response.end(JSON.stringify({ usage })));
  const store = await openStore({ path, mode: 'write' });
  const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 1 }), store });
  for (const turns of [1, 2, 3, 4]) {
    const { path: to, headers, body } = claudeCode({ session: 'one', task: 'Fix it.', turns });
    await (await fetch(`${gateway.url}${to}`, { method: 'POST', headers, body: JSON.stringify(body) })).arrayBuffer();
  }
  await gateway.close();
  session = String(gateway.logged.find(({ message }) => message === 'request')?.session);
  await store.close();
  await upstream.close();
});
afterAll(() => rmSync(path, { recursive: true, force: true }));

describe('the id of a session, as a gateway shows it,', () => {
  it('is found by recall', async () => {
    const { code, stderr } = await palimpsest(['recall', '--session', session, '--store', path]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('found only its 3 hidden texts')]);
  });

  it('opens its texts for an MCP client', async () => {
    let stop = (): void => {};
    let stdout = '';
    const running = palimpsest(['mcp', '--http', '0', '--store', path, '--session', session], {
      interrupted: () => new Promise<void>((resolve) => (stop = resolve)),
      stdout: (text) => (stdout += text),
    });
    while (!stdout) await new Promise((resolve) => setTimeout(resolve, 5));
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_masked', arguments: {} } };
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const url = stdout.trim().slice('listening on '.length);
    const answer = await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) })).text();
    expect(answer.match(/p_[a-z2-7]{26}/g)?.length).toBeGreaterThanOrEqual(3);
    stop();
    await running;
  });

  it('deletes its texts and its records', async () => {
    const remove = (...more: string[]) =>
      palimpsest(['store', 'delete', '--session', session, '--store', path, ...more]);
    const expected = /1 session with 3 texts and 0 turns, 4 records of requests/;
    expect((await remove('--dry-run')).stdout).toMatch(expected);
    expect((await remove()).stdout).toMatch(expected);
  });
});
