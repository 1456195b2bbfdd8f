import { afterEach, describe, expect, it } from 'vitest';
import type { ConversationSummary, GatewayOptions, Receipt } from '../../../src/gateway/index.ts';
import { listPrices } from '../../../src/money/price-book.ts';
import { inputCost, type PromptTokens } from '../../../src/plan/prices.ts';
import { dollarsAt } from '../../../src/report/dollars.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { anthropicMessages, type Json, marked } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { startProvider } from '../../support/provider/start-provider.ts';
import { collect } from '../../support/store/stores.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Held {
  readonly receipts: readonly Receipt[];
  readonly records: readonly RequestRecord[];
}

/** Sends requests through a gateway, and answers what it wrote down. */
async function hold(upstream: string, bodies: readonly Json[], options: GatewayOptions = {}): Promise<Held> {
  const store = createMemoryStore();
  const gateway = await startGateway(upstream, { store, ...options });
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'k' };
  for (const body of bodies) {
    const answer = await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status, await answer.text()).toBe(200);
  }
  const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
  const { receipts } = await gateway.ask<{ receipts: Receipt[] }>(`conversations/${conversations[0]?.id}`);
  await gateway.close();
  return { receipts, records: await collect(store.records?.() as AsyncIterable<RequestRecord>) };
}

const HOUR = { type: 'ephemeral', ttl: '1h' };
const MINUTES = { type: 'ephemeral' };
const SYSTEM = 'You are a careful programmer who reads before writing. '.repeat(300);
const TOOLS = [{ name: 'read_file', input_schema: { type: 'object' } }];

interface Layout {
  readonly system?: Json;
  readonly last?: Json;
}

function bodyOf(turns: number, { system, last }: Layout, model = 'claude-sonnet-4-5'): Json {
  const messages = anthropicMessages(turns, { lines: 30 });
  return {
    ...{ model, max_tokens: 100, tools: TOOLS },
    system: [{ type: 'text', text: SYSTEM, ...(system ? { cache_control: system } : {}) }],
    messages: last ? marked(messages, last) : messages,
  };
}

describe('tokens that are written to the cache for an hour', () => {
  const USAGE = {
    ...{ input_tokens: 100, cache_read_input_tokens: 10_000, cache_creation_input_tokens: 3000, output_tokens: 0 },
    cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
  };
  const whole = JSON.stringify({ type: 'message', model: 'claude-sonnet-4-5', usage: USAGE });
  const start = { type: 'message_start', message: { model: 'claude-sonnet-4-5', usage: USAGE } };
  const delta = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 0 } };
  const streamed = [start, delta].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

  it.each([
    ['of a whole answer', 'application/json', whole],
    ['of a stream', 'text/event-stream', streamed],
  ])('have the price of their own in the usage %s', async (_, type, answer) => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': type }).end(answer);
    });
    closers.push(upstream.close);
    const { receipts, records } = await hold(upstream.url, [bodyOf(2, { system: HOUR, last: MINUTES })]);
    const cost = 10_000 * 0.1 + 1000 * 1.25 + 2000 * 2 + 100;
    expect(receipts[0]).toMatchObject({
      sent: { tokens: 13_100, cached: 10_000, written: 3100, uncached: 100, hourWritten: 2000 },
      cost: { sent: cost, without: cost },
    });
    expect(receipts[0]?.money).toMatchObject({ sent: expect.closeTo((3 * cost) / 1e6, 12) });
    const [record] = records;
    expect(record?.billed).toEqual({ cached: 10_000, written: 3100, uncached: 100, hourWritten: 2000, output: 0 });
    if (!record?.billed) throw new Error('No bill is recorded');
    expect(inputCost(record.billed, record.prices)).toBeCloseTo(cost, 9);
    expect(dollarsAt(listPrices)(record, record.billed)).toBeCloseTo((3 * cost) / 1e6, 12);
  });
});

describe('the estimate of a request that is not masked', () => {
  const share = (part: number | undefined, { cached, written }: PromptTokens): number =>
    (part ?? 0) / (cached + written);

  it.each([
    ['no marker', {}],
    ['a marker on the system prompt', { system: MINUTES }],
    ['a marker on the system prompt and on the last message', { system: MINUTES, last: MINUTES }],
    [
      'a marker for an hour on the system prompt, and one for minutes on the last message',
      { system: HOUR, last: MINUTES },
    ],
    ['markers for an hour', { system: HOUR, last: HOUR }],
  ] satisfies [string, Layout][])('has the parts of the bill, with %s', async (_, layout) => {
    const provider = await startProvider({ script: () => ({ text: 'Go on.' }) });
    closers.push(provider.close);
    const bodies = [1, 2, 3, 4].map((turns) => bodyOf(turns, layout));
    const { records } = await hold(provider.url, bodies, { shadow: true });
    // The first request of a conversation finds nothing in the cache, whoever wrote the system prompt there.
    for (const { billed, expected, prices } of records) {
      if (!billed) throw new Error('No bill is recorded');
      const { without } = expected;
      expect(share(without.uncached, without)).toBeCloseTo(share(billed.uncached, billed), 1);
      expect(share(without.hourWritten, without)).toBeCloseTo(share(billed.hourWritten, billed), 1);
      const size = (prompt: PromptTokens): number => prompt.cached + prompt.written;
      const [paid, guessed] = [inputCost(billed, prices) / size(billed), inputCost(without, prices) / size(without)];
      expect(Math.abs(guessed / paid - 1)).toBeLessThan(0.15);
    }
  });
});
