import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConversationSummary, GatewayOptions, Receipt, Totals } from '../../../src/gateway/index.ts';
import { listPrices } from '../../../src/money/price-book.ts';
import { dollarsAt } from '../../../src/report/dollars.ts';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { type Started, startGateway, TOKEN } from '../../support/gateway/gateway.ts';
import { startProcess } from '../../support/gateway/processes.ts';
import { anthropicBody, anthropicMessages, type Json } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { ensureBuilt } from '../../support/modules.ts';
import { collect } from '../../support/store/stores.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const M = 1_000_000;
const USAGE = { input_tokens: 1000, cache_creation_input_tokens: 3000 };

/** A gateway in front of a provider that counts, unless it is told otherwise. */
async function start(options: GatewayOptions = {}): Promise<Started> {
  const upstream = await startUpstream((request, response, body) => {
    const { model } = JSON.parse(body.toString()) as { model?: string };
    if (model === 'refused') response.statusCode = 429;
    response.setHeader('content-type', 'application/json');
    const size = request.headers['x-sized'] ? Math.ceil(body.length / 4) : 20_000;
    response.end(request.headers['x-uncounted'] ? '{}' : answerOf(request.url ?? '', size));
  });
  const gateway = await startGateway(upstream.url, options);
  closers.push(upstream.close, () => gateway.close({ graceMs: 0 }));
  return gateway;
}

const answerOf = (url: string, cached: number): string =>
  url.includes('/openai/')
    ? JSON.stringify({ usage: { prompt_tokens: 24_000, completion_tokens: 500 } })
    : JSON.stringify({ type: 'message', usage: { ...USAGE, cache_read_input_tokens: cached, output_tokens: 500 } });

async function send(
  gateway: { readonly url: string },
  model: string,
  headers: Record<string, string> = {},
  turns = 2,
): Promise<void> {
  const body = anthropicBody(anthropicMessages(turns, { lines: 120 }), { model });
  const answer = await fetch(`${gateway.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
    body: JSON.stringify(body),
  });
  await answer.arrayBuffer();
}

const totalsOf = async (gateway: Started): Promise<Totals> => (await gateway.ask<{ totals: Totals }>('status')).totals;

async function conversationOf(gateway: Started): Promise<{ summary: ConversationSummary; receipts: Receipt[] }> {
  const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
  const [summary] = conversations;
  if (!summary) throw new Error('No conversation');
  const { receipts } = await gateway.ask<{ receipts: Receipt[] }>(`conversations/${summary.id}`);
  return { summary, receipts };
}

/** 20,000 cached, 3,000 written and 1,000 other tokens, and an answer of 500, at the price of Claude Opus 5. */
const PROMPT = (20_000 * 0.5 + 3000 * 6.25 + 1000 * 5) / M;
const ANSWER = (500 * 25) / M;

describe('money in receipts', () => {
  it('is what the provider counted, at the list price of the model', async () => {
    const gateway = await start();
    await send(gateway, 'claude-opus-5');
    const { summary, receipts } = await conversationOf(gateway);
    expect(receipts[0]?.money).toEqual({ sent: PROMPT, without: PROMPT, output: ANSWER });
    const billed = { requests: 1, sent: PROMPT, without: PROMPT, output: ANSWER };
    expect(summary.money).toMatchObject({ billed, estimated: { requests: 0, sent: 0 }, unpriced: 0, subscription: 0 });
    expect((await totalsOf(gateway)).money).toEqual(summary.money);
  });

  it('has the base price for tokens that were neither read from the cache nor written to it', async () => {
    const usage = { input_tokens: 10_000, cache_creation_input_tokens: 0, cache_read_input_tokens: 5000 };
    const upstream = await startUpstream((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ type: 'message', usage: { ...usage, output_tokens: 0 } }));
    });
    const store = createMemoryStore();
    const gateway = await startGateway(upstream.url, { store });
    closers.push(upstream.close, () => gateway.close({ graceMs: 0 }));
    await send(gateway, 'claude-sonnet-4-5');
    const { receipts } = await conversationOf(gateway);
    expect(receipts[0]).toMatchObject({
      sent: { tokens: 15_000, cached: 5000, written: 10_000, uncached: 10_000 },
      cost: { sent: 10_500, without: 10_500 },
      money: { sent: 0.0315, without: 0.0315 },
    });
    await gateway.close();
    const [record] = await collect(store.records?.() as AsyncIterable<RequestRecord>);
    if (!record?.billed) throw new Error('No bill is recorded');
    expect(record.billed).toEqual({ cached: 5000, written: 10_000, uncached: 10_000, output: 0 });
    expect(dollarsAt(listPrices)(record, record.billed)).toBeCloseTo(0.0315, 12);
  });

  it('says what the same requests would have cost without masks', async () => {
    const gateway = await start();
    for (let turns = 1; turns <= 40; turns++) await send(gateway, 'claude-opus-5', { 'x-sized': '1' }, turns);
    const { receipts } = await conversationOf(gateway);
    const masked = receipts.findLast(({ masked }) => masked > 0);
    if (!masked?.money || 'subscription' in masked.money) throw new Error('Nothing is masked');
    const { sent, without } = masked.money;
    expect(without).toBeGreaterThan(sent);
    const { cached, written, uncached = 0 } = masked.without;
    expect(uncached).toBe(USAGE.input_tokens);
    expect(without).toBeCloseTo((cached * 0.5 + (written - uncached) * 6.25 + uncached * 5) / M, 12);
    const { billed } = (await totalsOf(gateway)).money;
    expect(billed.without).toBeGreaterThan(billed.sent);
  });

  it('that is estimated is never added to money that is billed', async () => {
    const gateway = await start();
    await send(gateway, 'claude-opus-5');
    await send(gateway, 'claude-opus-5', { 'x-uncounted': '1' });
    const { money } = await totalsOf(gateway);
    expect(money.billed).toMatchObject({ requests: 1, sent: PROMPT });
    expect(money.estimated.requests).toBe(1);
    expect(money.estimated.sent).toBeGreaterThan(0);
  });

  it('is not guessed for a model without a price, which is counted', async () => {
    const gateway = await start();
    await send(gateway, 'my-own-model');
    await send(gateway, 'claude-opus-5');
    await send(gateway, 'refused');
    const { receipts } = await conversationOf(gateway);
    expect(receipts[0]?.money).toBeUndefined();
    // A request that was refused costs nothing, whatever its model.
    expect((await totalsOf(gateway)).money).toMatchObject({ billed: { requests: 1 }, unpriced: 1 });
  });

  it('is not guessed for a deployment of Azure, which may be called like a model that it is not', async () => {
    const ask = async (gateway: Started): Promise<Receipt | undefined> => {
      const messages = [{ role: 'user', content: 'Hello' }];
      const path = '/azure/openai/deployments/gpt-4o/chat/completions?api-version=1';
      const body = JSON.stringify({ messages } satisfies Json);
      await fetch(`${gateway.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      return (await conversationOf(gateway)).receipts[0];
    };
    expect(await ask(await start())).toMatchObject({ model: 'azure/gpt-4o', sent: { tokens: 24_000 } });
    expect(await ask(await start())).not.toHaveProperty('money');
    const own = { 'azure/gpt-4o': { input: 1, output: 2 } };
    expect(await ask(await start({ modelPrices: own }))).toMatchObject({ money: { sent: 0.024, output: 0.001 } });
  });

  it('is at own prices where there are any', async () => {
    const gateway = await start({ modelPrices: { 'my-*': { input: 10, output: 20, cacheRead: 0 } } });
    await send(gateway, 'my-own-model');
    const { receipts } = await conversationOf(gateway);
    expect(receipts[0]?.money).toMatchObject({ sent: (3000 * 12.5 + 1000 * 10) / M, output: 0.01 });
    expect(await gateway.ask('status')).toMatchObject({ settings: { modelPrices: '1 own, then list prices' } });
  });

  it('is not made up for a subscription: the receipt tells the window', async () => {
    const gateway = await start({ modelPrices: { 'claude-*': 'subscription' } });
    await send(gateway, 'claude-opus-5');
    const { receipts } = await conversationOf(gateway);
    expect(receipts[0]?.money).toEqual({ subscription: true, window: M });
    expect((await totalsOf(gateway)).money).toMatchObject({ billed: { requests: 0 }, subscription: 1, unpriced: 0 });
    expect((await totalsOf(gateway)).money.window).toEqual({ sent: 0.024, without: 0.024 });
    expect(gateway.logged.find(({ message }) => message === 'request')).toMatchObject({ windowShare: 0.024 });
  });

  it('is in the log', async () => {
    const gateway = await start();
    await send(gateway, 'claude-opus-5');
    await send(gateway, 'my-own-model');
    const [first, second] = gateway.logged.filter(({ message }) => message === 'request');
    expect(first).toMatchObject({ dollars: PROMPT + ANSWER, dollarsSaved: 0, estimated: false });
    expect(second).not.toHaveProperty('dollars');
  });

  it('is in the metrics, billed and estimated apart', async () => {
    const gateway = await start();
    await send(gateway, 'claude-opus-5');
    await send(gateway, 'my-own-model');
    const headers = { authorization: `Bearer ${TOKEN}` };
    const metrics = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
    expect(metrics).toContain(`palimpsest_cost_dollars_total{of="sent",tokens="billed"} ${PROMPT}\n`);
    expect(metrics).toContain(`palimpsest_cost_dollars_total{of="output",tokens="billed"} ${ANSWER}\n`);
    expect(metrics).toContain('palimpsest_cost_dollars_total{of="sent",tokens="estimated"} 0\n');
    expect(metrics).toContain('palimpsest_unpriced_requests_total 1\n');
  });

  it.each(['1', '2'])('is at the prices of --price-file, with %s worker(s)', async (workers) => {
    await ensureBuilt();
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-money-'));
    writeFileSync(join(folder, 'prices.yaml'), 'my-*: { input: 10, output: 20, cache_read: 0 }');
    const upstream = await startUpstream((request, response) => response.end(answerOf(request.url ?? '', 20_000)));
    const args = ['--port', '0', '--upstream', `anthropic=${upstream.url}`, '--price-file', 'prices.yaml'];
    const gateway = await startProcess([...args, '--workers', workers], folder);
    closers.push(
      async () => rmSync(folder, { recursive: true, force: true }),
      upstream.close,
      () => gateway.stop(),
    );
    await send(gateway, 'my-own-model');
    const headers = { authorization: `Bearer ${TOKEN}` };
    const statusOf = async (): Promise<unknown> =>
      (await fetch(`${gateway.url}/_palimpsest/api/status`, { headers })).json();
    // A worker hands its receipts on.
    await expect
      .poll(statusOf)
      .toMatchObject({ totals: { money: { billed: { requests: 1, sent: 0.0475, output: 0.01 } } } });
    await expect.poll(() => gateway.output()).toContain('"dollars":0.0575,');
  });

  it('at a price that no model could have is refused at the start', async () => {
    const modelPrices = { mine: { input: -1, output: 1 } };
    await expect(start({ modelPrices })).rejects.toMatchObject({ code: 'BAD_OPTION' });
  });
});
