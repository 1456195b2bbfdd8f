import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayProcess, startProcess } from '../support/gateway/processes.ts';
import { anthropicBody, anthropicMessages, maskedIn } from '../support/gateway/requests.ts';
import { startUpstream, type Upstream } from '../support/gateway/upstream.ts';
import { ensureBuilt } from '../support/modules.ts';

const BUN = fileURLToPath(new URL('node_modules/.bin/bun', import.meta.url));

const EVENTS = ['message_start', 'content_block_delta', 'message_stop'].map(
  (type) => `event: ${type}\ndata: {"type":"${type}"}\n\n`,
);

describe('the gateway on Bun', () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bun-'));
  let gateway: GatewayProcess;
  let upstream: Upstream;

  beforeAll(async () => {
    await ensureBuilt();
    upstream = await startUpstream((_request, response, body) => {
      if (!body.includes('"stream":true')) {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end('{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of EVENTS) response.write(event);
      response.end();
    });
    const policy = ['--policy', 'sliding-window:turns=2'];
    gateway = await startProcess(['--port', '0', '--upstream', `anthropic=${upstream.url}`, ...policy], folder, BUN);
  }, 120_000);

  afterAll(async () => {
    await gateway?.stop();
    await upstream?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (more: object = {}): Promise<Response> =>
    fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'k' },
      body: JSON.stringify({ ...anthropicBody(anthropicMessages(8)), ...more }),
    });

  it('masks old results on the way to the upstream, and answers what that answers', async () => {
    const response = await send();
    expect([response.status, await response.json()]).toMatchObject([200, { usage: { input_tokens: 5 } }]);
    const sent = upstream.received.at(-1)?.body as Buffer;
    expect(maskedIn(sent).filter(Boolean).length).toBeGreaterThan(3);
  });

  it('passes a stream on', async () => {
    const response = await send({ stream: true });
    expect([response.status, await response.text()]).toEqual([200, EVENTS.join('')]);
  });

  it('ends by itself when it is told to', async () => {
    expect(await gateway.stop()).toBe(0);
  });
});
