import { afterEach, describe, expect, it } from 'vitest';
import type { GatewayOptions } from '../../../src/gateway/index.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { type Json, output } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Case {
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body: Json;
  readonly answer: string;
  readonly options?: GatewayOptions;
}

async function receiptOf({ path, headers = {}, body, answer, options }: Case) {
  const upstream = await startUpstream((_request, response) => {
    const type = answer.startsWith('data:') ? 'text/event-stream' : 'application/json';
    response.writeHead(200, { 'content-type': type }).end(answer);
  });
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, options);
  closers.push(() => gateway.close({ graceMs: 0 }));
  const sent = { 'content-type': 'application/json', ...headers };
  await fetch(`${gateway.url}${path}`, { method: 'POST', headers: sent, body: JSON.stringify(body) });
  const { receipts } = await recordsOf(gateway, 1);
  expect(receipts[0]?.act).toBe('pass-through');
  return receipts[0];
}

/** The gateway cannot undo it, so it cannot read the body. */
const UNREAD = { 'content-encoding': 'compress' };
const USAGE = { input_tokens: 10_000, output_tokens: 7, input_tokens_details: { cached_tokens: 9000 } };
const CHAT = { prompt_tokens: 10_000, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 9000 } };
const input = [{ role: 'user', content: output(1) }];

describe('a request that passes unread costs what the provider billed', () => {
  it.each<[string, Case, object]>([
    [
      'by the model that its answer names',
      { path: '/v1/responses', headers: UNREAD, body: {}, answer: JSON.stringify({ model: 'gpt-4o', usage: USAGE }) },
      { model: 'gpt-4o', prices: 'gpt-4o', cost: { without: 5500, sent: 5500 } },
    ],
    [
      'by the model that its stream names',
      {
        path: '/v1/responses',
        body: { model: 'gpt-4.1', previous_response_id: 'resp_1', input },
        answer: `data: ${JSON.stringify({ type: 'response.completed', response: { model: 'gpt-4.1-2025-04-14', usage: USAGE } })}\n\n`,
      },
      { model: 'gpt-4.1-2025-04-14', prices: 'gpt-4.1', cost: { without: 3250, sent: 3250 } },
    ],
    [
      'by its API where no model is named',
      { path: '/v1/chat/completions', headers: UNREAD, body: {}, answer: JSON.stringify({ usage: CHAT }) },
      { prices: 'gpt-5', cost: { without: 1900, sent: 1900 } },
    ],
    [
      'by the model in its path',
      {
        path: '/openai/deployments/my-gpt-4o/chat/completions',
        headers: UNREAD,
        body: {},
        answer: JSON.stringify({ usage: CHAT }),
      },
      { model: 'azure/my-gpt-4o', prices: 'gpt-4o', cost: { without: 5500, sent: 5500 } },
    ],
    [
      'by its provider, where that has one list for all models',
      {
        path: '/groq/v1/chat/completions',
        headers: UNREAD,
        body: {},
        answer: JSON.stringify({ model: 'gpt-oss', usage: CHAT }),
      },
      { prices: 'groq', cost: { without: 5500, sent: 5500 } },
    ],
    [
      'by the prices of the operator',
      {
        path: '/v1/responses',
        headers: UNREAD,
        body: {},
        answer: JSON.stringify({ model: 'gpt-5', usage: USAGE }),
        options: { prices: { read: 0.2, write: 1, name: 'mine' } },
      },
      { prices: 'mine', cost: { without: 2800, sent: 2800 } },
    ],
    [
      'with a cache that needs markers, where it was used',
      {
        path: '/v1/messages',
        headers: UNREAD,
        body: {},
        answer: JSON.stringify({
          model: 'claude-sonnet-5',
          usage: { input_tokens: 1000, cache_read_input_tokens: 9000, output_tokens: 7 },
        }),
      },
      { prices: 'anthropic-5m', cost: { without: 2150, sent: 2150 } },
    ],
    [
      'with a cache that needs markers, where it was not used',
      {
        path: '/v1/messages',
        headers: UNREAD,
        body: {},
        answer: JSON.stringify({ model: 'claude-sonnet-5', usage: { input_tokens: 10_000, output_tokens: 7 } }),
      },
      { prices: 'none', cost: { without: 10_000, sent: 10_000 } },
    ],
    [
      'in the events of Gemini',
      {
        path: '/v1beta/models/gemini-3-pro:streamGenerateContent',
        headers: UNREAD,
        body: {},
        answer: `data: ${JSON.stringify({ modelVersion: 'gemini-3-pro-001', usageMetadata: { promptTokenCount: 10_000, cachedContentTokenCount: 9000 } })}\n\n`,
      },
      { model: 'gemini-3-pro-001', prices: 'gemini', cost: { without: 1900, sent: 1900 } },
    ],
  ])('%s', async (_name, given, expected) => {
    expect(await receiptOf(given)).toMatchObject({ estimated: false, ...expected });
  });
});
