import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions, Receipt } from '../../../src/gateway/index.ts';
import { breakEven, never, slidingWindow } from '../../../src/index.ts';
import type { Prices } from '../../../src/plan/prices.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { changedStore, startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { anthropicBody, anthropicMessages, maskedIn } from '../../support/gateway/requests.ts';
import { type Received, startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const USAGE = { input_tokens: 100, cache_read_input_tokens: 900, cache_creation_input_tokens: 0, output_tokens: 7 };

interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body: Buffer | string;
}

const taken: Answer = { status: 200, body: JSON.stringify({ type: 'message', usage: USAGE }) };

/** Taken, without a count: the limit is held against our own estimate. */
const uncounted: Answer = { status: 200, body: JSON.stringify({ type: 'message' }) };

/** A gateway that masks all but the last two turns, and an upstream that answers as it is told. */
async function start(answer: (got: Received, index: number) => Answer = () => taken, options: GatewayOptions = {}) {
  const upstream = await startUpstream((_request, response) => {
    const got = upstream.received.at(-1) as Received;
    const { status, headers = {}, body } = answer(got, upstream.received.length - 1);
    response.writeHead(status, headers).end(body);
  });
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }), ...options });
  closers.push(() => gateway.close({ graceMs: 0 }));
  return { ...gateway, upstream };
}

async function send(
  url: string,
  body: string | Buffer,
  { path = '/v1/messages', headers = {} } = {},
): Promise<Response> {
  const all = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers };
  return fetch(`${url}${path}`, { method: 'POST', headers: all, body });
}

const request = (turns: number): string => JSON.stringify(anthropicBody(anthropicMessages(turns)));
const masksOf = ({ body }: Received): number => maskedIn(body).filter(Boolean).length;

describe('the first request after a start', () => {
  it('belongs to the same conversation as those that follow, though the store is slow to name its user', async () => {
    const store = createMemoryStore();
    const slow = changedStore(store, {
      secret: async () => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return store.secret();
      },
    });
    const { url, ask } = await start(() => taken, { store: slow });
    const headers = { 'x-api-key': 'sk-ant-1' };
    const first = JSON.stringify({ model: 'claude-sonnet-5', messages: anthropicMessages(0) });
    for (const body of [first, request(8)]) await send(url, body, { headers });
    const { conversations } = await ask<{ conversations: { requests: number }[] }>('conversations');
    expect(conversations.map(({ requests }) => requests)).toEqual([2]);
  });
});

describe('an agent behind the gateway', () => {
  const LIMIT = 6_000;
  /** Counts characters / 4, and refuses what is too long for its window. */
  const counting = ({ body }: Received): Answer => {
    const tokens = Math.ceil(body.length / 4);
    if (tokens > LIMIT)
      return { status: 400, body: JSON.stringify({ type: 'error', error: { message: 'prompt is too long' } }) };
    return { status: 200, body: JSON.stringify({ type: 'message', usage: { ...USAGE, input_tokens: tokens } }) };
  };

  it('sees the usage of what was sent, so its own compaction comes later; taken off, its session may no longer fit', async () => {
    const { url, upstream } = await start(counting);
    let turns = 1;
    for (; request(turns).length / 4 <= LIMIT; turns++) await send(url, request(turns));
    const answer = await send(url, request(turns));
    expect(answer.status).toBe(200);
    const { usage } = (await answer.json()) as { usage: { input_tokens: number } };
    expect(usage.input_tokens).toBe(Math.ceil((upstream.received.at(-1) as Received).body.length / 4));
    expect(usage.input_tokens).toBeLessThan(LIMIT / 2);
    const direct = await send(upstream.url, request(turns));
    expect(direct.status).toBe(400);
  });
});

describe('a gateway that is started again with another policy', () => {
  it.each([
    ['at the prices of each request', (prices: Prices) => breakEven({ prices })],
    ['at prices of its own', breakEven()],
    ['with a longer window', slidingWindow({ turns: 9 })],
    ['that never masks', never()],
  ])('%s takes no mask back', async (_name, policy) => {
    const store = createMemoryStore();
    const before = await start(() => taken, { store });
    for (let turns = 1; turns <= 12; turns++) await send(before.url, request(turns));
    const sent = maskedIn((before.upstream.received.at(-1) as Received).body);
    const after = await start(() => taken, { store, policy });
    for (let turns = 13; turns <= 16; turns++) await send(after.url, request(turns));
    expect(sent.filter(Boolean)).toHaveLength(10);
    // The old policy still decides about the turn in which the new one came.
    for (const { body } of after.upstream.received) expect(maskedIn(body).slice(0, 11)).toEqual(Array(11).fill(true));
    expect(masksOf(after.upstream.received.at(-1) as Received)).toBe(11);
  });
});

describe('a request with old results', () => {
  it('is sent with placeholders, after their texts were stored', async () => {
    const store = createMemoryStore();
    const order: string[] = [];
    const watched = changedStore(store, {
      putMany: async (items) => {
        const handles = await store.putMany(items);
        order.push('stored');
        return handles;
      },
    });
    const { url, upstream, ask } = await start(
      () => {
        order.push('sent');
        return taken;
      },
      { store: watched },
    );
    await send(url, request(8));
    expect(masksOf(upstream.received[0] as Received)).toBe(6);
    expect(order.at(-1)).toBe('sent');
    expect(order).toContain('stored');
    const { conversations } = await ask<{ conversations: { id: string }[] }>('conversations');
    const { masks } = await ask<{ masks: Receipt['newMasks'] }>(`conversations/${conversations[0]?.id}`);
    expect(masks).toHaveLength(6);
    for (const { handle, chars, placeholder } of masks) {
      const { text } = await ask<{ text: string }>(`masked/${handle}`);
      expect(text).toHaveLength(chars);
      expect(upstream.received[0]?.body.toString()).toContain(JSON.stringify(placeholder).slice(1, -1));
      expect(request(8)).toContain(JSON.stringify(text).slice(1, -1));
    }
  });

  it('that came compressed is sent as it reads, without its encoding', async () => {
    const { url, upstream } = await start();
    await send(url, gzipSync(request(8)), { headers: { 'content-encoding': 'gzip' } });
    const [got] = upstream.received;
    expect(masksOf(got as Received)).toBe(6);
    expect(got?.headers['content-encoding']).toBeUndefined();
    expect(got?.headers['content-length']).toBe(String(got?.body.length));
  });

  it('that came in pieces is sent as one that came whole', async () => {
    const whole = await start();
    await send(whole.url, request(8));
    const { url, upstream } = await start();
    const headers = { 'anthropic-version': '2023-06-01', 'transfer-encoding': 'chunked' };
    const sent = httpRequest(`${url}/v1/messages`, { method: 'POST', headers });
    const answered = once(sent, 'response');
    const bytes = Buffer.from(request(8));
    for (let from = 0; from < bytes.length; from += 997) sent.write(bytes.subarray(from, from + 997));
    sent.end();
    const [response] = (await answered) as [IncomingMessage];
    response.resume();
    const [got] = upstream.received;
    expect(masksOf(got as Received)).toBe(6);
    expect(got?.body).toEqual(whole.upstream.received[0]?.body);
    expect(got?.headers['content-length']).toBe(String(got?.body.length));
  });

  it('has a receipt with what the provider counted, what was masked and why', async () => {
    const gateway = await start();
    await send(gateway.url, request(8));
    const { receipts, totals } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({
      api: 'anthropic',
      path: '/v1/messages',
      status: 200,
      act: 'mask',
      request: 1,
      masked: 6,
      sent: { tokens: 1000, cached: 900, written: 100 },
      completionTokens: 7,
      estimated: false,
    });
    expect(receipts[0]?.without.tokens).toBeGreaterThan(1000);
    expect(totals).toMatchObject({ requests: 1, masked: 6, tokensSent: 1000, cached: 900, written: 100 });
  });

  it('says that it estimates where the provider counts nothing', async () => {
    const gateway = await start(() => ({ status: 200, body: '{"type":"message"}' }));
    await send(gateway.url, request(8));
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({ estimated: true, status: 200 });
    expect(receipts[0]?.sent.tokens).toBeGreaterThan(0);
  });
});

describe('usage', () => {
  const events = (list: readonly object[]): string =>
    list.map((event) => `event: x\r\ndata: ${JSON.stringify(event)}\r\n\r\n`).join('');
  const anthropic = events([
    { type: 'message_start', message: { usage: { ...USAGE, output_tokens: 1 } } },
    { type: 'content_block_delta', delta: { text: 'the word usage in a text' } },
    { type: 'message_delta', usage: { output_tokens: 7 } },
  ]);
  const chat = events([
    { choices: [] },
    {
      choices: [],
      usage: { prompt_tokens: 1000, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 900 } },
    },
  ]);
  const responses = events([
    { type: 'response.created', response: { usage: null } },
    {
      type: 'response.completed',
      response: { usage: { input_tokens: 1000, input_tokens_details: { cached_tokens: 900 }, output_tokens: 7 } },
    },
  ]);
  const gemini = {
    usageMetadata: {
      promptTokenCount: 1000,
      cachedContentTokenCount: 900,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 2,
    },
  };
  const sse = { 'content-type': 'text/event-stream' };

  it.each([
    ['Anthropic, streamed', '/v1/messages', { ...taken, headers: sse, body: anthropic }],
    [
      'Anthropic, streamed and compressed',
      '/v1/messages',
      { ...taken, headers: { ...sse, 'content-encoding': 'gzip' }, body: gzipSync(anthropic) },
    ],
    ['Anthropic, whole', '/v1/messages', taken],
    ['Chat Completions, streamed', '/v1/chat/completions', { ...taken, headers: sse, body: `${chat}data: [DONE]\n\n` }],
    ['Responses, streamed', '/v1/responses', { ...taken, headers: sse, body: responses }],
    [
      'Gemini, streamed',
      '/v1beta/models/m:streamGenerateContent',
      { ...taken, headers: sse, body: events([{ candidates: [] }, gemini]) },
    ],
    [
      'Gemini, streamed as a list',
      '/v1beta/models/m:streamGenerateContent',
      { ...taken, body: JSON.stringify([{ candidates: [] }, gemini]) },
    ],
    ['Gemini, whole', '/v1beta/models/m:generateContent', { ...taken, body: JSON.stringify(gemini) }],
  ])('is read from the answer: %s', async (_how, path, answer) => {
    const gateway = await start(() => answer);
    const got = await send(gateway.url, '{"messages":[],"input":[],"contents":[]}', { path });
    expect(Buffer.from(await got.arrayBuffer()).length).toBeGreaterThan(0);
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({
      sent: { tokens: 1000, cached: 900, written: 100 },
      completionTokens: 7,
      estimated: false,
    });
  });

  it('of a stream that a client left is what was told until then', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, sse);
      response.write(anthropic.slice(0, anthropic.indexOf('event: x', 5)));
    });
    closers.push(upstream.close);
    const gateway = await startGateway(upstream.url);
    closers.push(() => gateway.close({ graceMs: 0 }));
    const abort = new AbortController();
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      body: request(2),
      signal: abort.signal,
    });
    await answer.body?.getReader().read();
    abort.abort();
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({ status: 200, sent: { tokens: 1000, cached: 900 }, estimated: false });
  });
});

describe('an edited request that is refused', () => {
  const refusal = (status: number): Answer => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: '{"type":"error","error":{"message":"I do not like it"}}',
  });

  it.each([400, 413, 422])('with %d is followed by the original, once, and left alone from then on', async (status) => {
    const gateway = await start((got) => (masksOf(got) > 0 ? refusal(status) : taken));
    const answer = await send(gateway.url, request(8));
    expect([answer.status, await answer.text()]).toEqual([200, taken.body]);
    expect(gateway.upstream.received.map(masksOf)).toEqual([6, 0]);
    expect(gateway.upstream.received[1]?.body.toString()).toBe(request(8));
    await send(gateway.url, request(9));
    expect(gateway.upstream.received.map(masksOf)).toEqual([6, 0, 0]);
    const { receipts, totals } = await recordsOf(gateway, 2);
    expect(receipts[0]).toMatchObject({
      status: 200,
      masked: 0,
      refused: { status, text: expect.stringContaining('I do not like it') },
    });
    expect(totals.refused).toBe(1);
  });

  it('after an epoch that the limit forced is left alone too: later requests go out once, as they came', async () => {
    const store = createMemoryStore();
    const options = { policy: (prices: Prices) => breakEven({ prices }), maxTokens: 14_000, store };
    let takesEdits = true;
    const answer = (got: Received) => (masksOf(got) > 0 && !takesEdits ? refusal(400) : uncounted);
    const gateway = await start(answer, options);
    await send(gateway.url, request(20));
    expect(masksOf(gateway.upstream.received[0] as Received)).toBeGreaterThan(0);
    takesEdits = false;
    await send(gateway.url, request(21));
    for (const turns of [22, 23, 40]) await send(gateway.url, request(turns));
    const { receipts } = await recordsOf(gateway, 5);
    expect(gateway.upstream.received.slice(2).map(({ body }) => body.toString())).toEqual(
      [21, 22, 23, 40].map(request),
    );
    expect(receipts.slice(2)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ act: 'off', masked: 0 })),
    );
    // A gateway that reads the events from the store does the same; a request from before the refusal keeps its masks.
    takesEdits = true;
    const other = await start(answer, options);
    for (const turns of [41, 20]) await send(other.url, request(turns));
    expect(other.upstream.received.map(({ body }) => body.toString())).toEqual([
      request(41),
      gateway.upstream.received[0]?.body.toString(),
    ]);
  });

  it('with the original too is not the fault of the masks', async () => {
    const gateway = await start((_got, index) => (index < 2 ? refusal(400) : taken));
    const answer = await send(gateway.url, request(8));
    expect([answer.status, await answer.text()]).toEqual([400, refusal(400).body]);
    await send(gateway.url, request(8));
    expect(gateway.upstream.received.map(masksOf)).toEqual([6, 0, 6]);
  });

  it.each([401, 404, 429, 500, 529])('with %d is answered as it was', async (status) => {
    const gateway = await start(() => refusal(status));
    const answer = await send(gateway.url, request(8));
    expect([answer.status, await answer.text()]).toEqual([status, refusal(status).body]);
    expect(gateway.upstream.received).toHaveLength(1);
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]?.sent).toEqual({ tokens: 0, cached: 0, written: 0 });
  });

  it('that was not edited is not sent twice', async () => {
    const gateway = await start(() => refusal(400));
    expect((await send(gateway.url, request(1))).status).toBe(400);
    expect(gateway.upstream.received).toHaveLength(1);
  });
});

describe('count_tokens', () => {
  it('counts what would be sent, and stores and records nothing', async () => {
    const store = createMemoryStore();
    const { url, upstream, ask } = await start(() => ({ status: 200, body: '{"input_tokens":5}' }), { store });
    await send(url, request(8), { path: '/v1/messages/count_tokens' });
    expect(masksOf(upstream.received[0] as Received)).toBe(6);
    expect(await store.stats()).toMatchObject({ texts: 0, sessions: 0 });
    expect(await ask('conversations')).toEqual({ conversations: [] });
  });
});

describe('events of the API', () => {
  it('tell of every receipt as it is written', async () => {
    const gateway = await start();
    const watching = await gateway.api('events');
    const reader = watching.body?.pipeThrough(new TextDecoderStream()).getReader();
    await send(gateway.url, request(8));
    let text = '';
    while (!text.includes('event: receipt')) text += (await reader?.read())?.value ?? '';
    while (!text.endsWith('\n\n')) text += (await reader?.read())?.value ?? '';
    const data = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
    expect(data).toMatchObject({ receipt: { masked: 6 }, conversation: { requests: 1 }, totals: { requests: 1 } });
    await reader?.cancel();
  });
});
