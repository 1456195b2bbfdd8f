import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConversationSummary, Receipt, Totals } from '../../../src/gateway/receipts/receipt.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(
  answer?: Parameters<typeof startUpstream>[0],
  options: Parameters<typeof startGateway>[1] = {},
): Promise<{ gateway: Started; upstream: Upstream }> {
  const upstream = await startUpstream(answer);
  const gateway = await startGateway(upstream.url, options);
  closers.push(upstream.close, () => gateway.close({ graceMs: 0 }));
  return { gateway, upstream };
}

const post = (gateway: Started, body: string | Buffer): Promise<Response> =>
  fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });

const receiptsOf = async (gateway: Started, conversation = 'unread'): Promise<Receipt[]> =>
  (await gateway.ask<{ receipts: Receipt[] }>(`conversations/${conversation}`)).receipts;

/** A request whose one tool result has this content, as JSON. */
const withResult = (content: string): string =>
  `{"model":"claude-x","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":${content}}]}]}`;

const listOf = (unit: string, bytes: number): string =>
  `[${`${unit},`.repeat(bytes / (unit.length + 1)).slice(0, -1)}]`;

const MiB = 1024 * 1024;

describe('a request with very many JSON values', () => {
  it.each([
    ['numbers', '0'],
    ['lists', '[]'],
    ['objects', '{}'],
  ])(
    'passes through unread and unchanged, and an honest one is answered meanwhile: %s',
    async (_what, unit) => {
      const { gateway, upstream } = await start();
      const body = withResult(listOf(unit, 40 * MiB));
      const answered = post(gateway, body);
      const honest = await post(gateway, '{"model":"claude-x","messages":[{"role":"user","content":"hello"}]}');
      expect(honest.status).toBe(200);
      expect((await answered).status).toBe(200);
      expect(upstream.received.some((one) => one.body.equals(Buffer.from(body)))).toBe(true);
      expect(await receiptsOf(gateway)).toMatchObject([
        { act: 'pass-through', because: 'more than 100,000 JSON values (gateway.limits.json_values)' },
      ]);
    },
    120_000,
  );

  it('is bounded wherever they are: in messages, keys, tools, other fields and below the depth that is kept', async () => {
    const { gateway } = await start(undefined, { limits: { jsonValues: 1000 } });
    const zeros = listOf('0', 4000);
    const keys = Array.from({ length: 1100 }, (_, i) => `"k${i}":0`).join();
    const deep = `${'['.repeat(20)}${zeros}${']'.repeat(20)}`;
    const said = '"messages":[{"role":"user","content":"a"}]';
    const bodies = [
      `{"messages":[${'{"role":"user","content":"a"},'.repeat(400)}{"role":"user","content":"b"}]}`,
      `{"tools":${zeros},${said}}`,
      `{"metadata":${zeros},${said}}`,
      `{${keys},${said}}`,
      `{"metadata":{${keys}},${said}}`,
      withResult(deep),
    ];
    // Longer than what is taken for small talk.
    for (const body of bodies) await (await post(gateway, body.padEnd(20_000))).text();
    const receipts = await receiptsOf(gateway);
    expect(receipts.map(({ because }) => because)).toEqual(
      bodies.map(() => 'more than 1,000 JSON values (gateway.limits.json_values)'),
    );
  });

  it('passes through unread where it takes longer to read than is allowed', async () => {
    const { gateway } = await start(undefined, { limits: { scanMs: 1 } });
    const turns = Array.from({ length: 20_000 }, (_, i) => `{"role":"user","content":"a ${i}"}`);
    await (await post(gateway, `{"messages":[${turns.join()}]}`)).text();
    expect(await receiptsOf(gateway)).toMatchObject([
      { act: 'pass-through', because: 'it took more than 1 ms to read (gateway.limits.scan_ms)' },
    ]);
  });
});

describe('a name that a client sends', () => {
  it('of a model passes through unread where it is longer than any name, and is kept nowhere', async () => {
    const { gateway, upstream } = await start();
    const body = `{"model":"${'m'.repeat(20_000)}","messages":[{"role":"user","content":"hello"}]}`;
    const small = `{"model":"${'m'.repeat(300)}","messages":[{"role":"user","content":"hello"}]}`;
    for (const one of [body, small]) expect((await post(gateway, one)).status).toBe(200);
    expect(upstream.received.map((one) => one.body.length)).toEqual([body.length, small.length]);
    const receipts = await receiptsOf(gateway);
    const because = 'the model name has more than 256 characters';
    expect(receipts).toMatchObject([{ because }, { because }]);
    expect(JSON.stringify(receipts).length).toBeLessThan(3000);
  });

  it('in a path is cut in receipts', async () => {
    const { gateway } = await start();
    const path = `/v1beta/models/${'m'.repeat(5000)}:generateContent`;
    await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      body: '{"contents":[{"role":"user","parts":[{"text":"a"}]}]}',
    });
    const [receipt] = await receiptsOf(gateway);
    expect(receipt?.path.length).toBe(512);
  });
});

describe('an answer', () => {
  const request = '{"model":"claude-x","messages":[{"role":"user","content":"hello"}]}';

  it.each(['1e308', '2000000000000', '1e-3'])(
    'whose usage is %s leaves the totals finite and right',
    async (tokens) => {
      const { gateway } = await start((_request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end(`{"usage":{"input_tokens":${tokens},"output_tokens":${tokens}}}`);
      });
      for (let i = 0; i < 3; i++) await (await post(gateway, request)).text();
      const { totals } = await gateway.ask<{ totals: Totals }>('status');
      expect(totals.tokensSent).toBeGreaterThan(0);
      expect(totals.tokensSent).toBeLessThan(1000);
      expect(Number.isInteger(totals.tokensSent)).toBe(true);
      const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
      expect(await receiptsOf(gateway, conversations[0]?.id)).toMatchObject([
        { estimated: true, completionTokens: 0 },
        { estimated: true },
        { estimated: true },
      ]);
    },
  );

  it('whose usage is negative takes nothing from the totals', async () => {
    const { gateway } = await start((_request, response) => response.end('{"usage":{"input_tokens":-5}}'));
    await (await post(gateway, request)).text();
    const { totals } = await gateway.ask<{ totals: Totals }>('status');
    expect(Math.min(totals.tokensSent, totals.cost.sent, totals.written)).toBeGreaterThanOrEqual(0);
  });

  const lines = Buffer.alloc(70 * MiB, '\n');

  it.each([
    ['compressed', gzipSync(lines), 'gzip'],
    ['not compressed', lines, 'identity'],
    ['all usage', Buffer.alloc(70 * MiB, 'data: {"usage":{}}\n'), 'identity'],
  ])(
    'with millions of events costs little time, and reaches the client as it came: %s',
    async (_how, body, encoding) => {
      const { gateway } = await start((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding });
        response.end(body);
      });
      const before = process.cpuUsage();
      expect(await bytesOf(gateway, request)).toBe(body.length);
      const [receipt] = await waitForReceipts(gateway);
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1e6).toBeLessThan(6);
      expect(receipt).toMatchObject({ estimated: true });
    },
    120_000,
  );

  it('with one event that is nested deeply ends nothing', async () => {
    const deep = `data: ${'['.repeat(50_000)}"usage"${']'.repeat(50_000)}\n\n`;
    const { gateway } = await start((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
      response.end(gzipSync(deep));
    });
    const answer = await post(gateway, request);
    expect(await answer.text()).toBe(deep);
    expect(await waitForReceipts(gateway)).toMatchObject([{ status: 200, estimated: true }]);
  });

  it('keeps its usage where the events that tell it come in pieces', async () => {
    const { gateway } = await start(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = [
        { message: { input_transformations: [{}], usage: { input_tokens: 9, output_tokens: 1 } } },
        { delta: 'usage' },
        { usage: { output_tokens: 20 } },
      ];
      const text = events.map((event) => `event: e\ndata: ${JSON.stringify(event)}\n\n`).join('');
      for (let i = 0; i < text.length; i += 7) {
        response.write(text.slice(i, i + 7));
        if (i % 70 === 0) await new Promise(setImmediate);
      }
      response.end();
    });
    await (await post(gateway, request)).text();
    expect(await waitForReceipts(gateway)).toMatchObject([
      { estimated: false, completionTokens: 20, sent: { tokens: 9 }, droppedThinking: 1 },
    ]);
  });
});

/** How many bytes of an answer come, as they are on the wire. */
async function bytesOf(gateway: Started, body: string): Promise<number> {
  const sending = httpRequest(`${gateway.url}/v1/messages`, { method: 'POST' });
  sending.end(body);
  const [answer] = (await once(sending, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of answer) bytes += chunk.length;
  return bytes;
}

async function waitForReceipts(gateway: Started): Promise<Receipt[]> {
  for (;;) {
    const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
    if (conversations[0]) return receiptsOf(gateway, conversations[0].id);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
