import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/gateway/exchange/route.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { anthropicMessages, type Json, marked, output } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { describeWire } from '../../support/gateway/wire-suite.ts';

const MODELS = '/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models';
const MODEL = 'claude-sonnet-4-5@20250929';
const USAGE = { input_tokens: 100, cache_read_input_tokens: 900, cache_creation_input_tokens: 0 };

/** As Anthropic's SDK for Vertex writes it: without the model. */
function body(turns: number, text: (turn: number) => string): Json {
  const messages = marked(anthropicMessages(turns, { results: text }));
  return { max_tokens: 4096, messages, anthropic_version: 'vertex-2023-10-16' };
}

const event = (data: Json): string => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

describeWire({
  api: 'anthropic-vertex',
  path: { sent: `${MODELS}/${MODEL}:rawPredict`, got: `${MODELS}/${MODEL}:rawPredict` },
  streamedPath: { sent: `/vertex${MODELS}/${MODEL}:streamRawPredict`, got: `${MODELS}/${MODEL}:streamRawPredict` },
  countPath: { sent: `${MODELS}/count-tokens:rawPredict`, got: `${MODELS}/count-tokens:rawPredict` },
  model: MODEL,
  prices: 'anthropic-5m',
  body,
  streamed: { stream: true },
  messages: 'messages',
  results: ({ messages }) =>
    (messages as { content: Json[] | string }[]).flatMap(({ content }) =>
      typeof content === 'string' ? [] : content.flatMap((block) => (block.content ? [`${block.content}`] : [])),
    ),
  answer: {
    type: 'application/json',
    text: JSON.stringify({ type: 'message', content: [], usage: { ...USAGE, output_tokens: 7 } }),
  },
  stream: {
    type: 'text/event-stream; charset=utf-8',
    text: [
      event({ type: 'message_start', message: { content: [], usage: { ...USAGE, output_tokens: 1 } } }),
      event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }),
      event({ type: 'message_stop' }),
    ].join(''),
  },
  usage: { tokens: 1000, cached: 900, completionTokens: 7 },
});

describe('Anthropic on Vertex', () => {
  const post = (url: string) => routeOf({ method: 'POST', url, headers: { authorization: 'Bearer ya29.x' } });

  it('is recognised by its paths, with or without its prefix', () => {
    expect(post(`${MODELS}/${MODEL}:rawPredict`)).toMatchObject({ provider: 'vertex', api: 'anthropic-vertex' });
    expect(post(`/vertex${MODELS}/${MODEL}:rawPredict`)).toMatchObject({
      provider: 'vertex',
      target: `${MODELS}/${MODEL}:rawPredict`,
    });
    expect(post(`${MODELS}/count-tokens:rawPredict`)).toMatchObject({ provider: 'vertex', isCountTokens: true });
    expect(post('/v1/projects/p/locations/global/endpoints')).toMatchObject({ provider: 'vertex', api: undefined });
  });

  it("reads Google's models below its prefix, and leaves those of other publishers alone", () => {
    const google = MODELS.replace('anthropic', 'google');
    expect(post(`/vertex${google}/gemini-3:streamGenerateContent`)).toMatchObject({
      provider: 'vertex',
      api: 'gemini',
    });
    const other = MODELS.replace('anthropic', 'mistralai');
    expect(post(`/vertex${other}/codestral:rawPredict`)).toMatchObject({ provider: 'vertex', api: undefined });
  });

  it('opts into dropping signed thinking behind a mask, as at Anthropic', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway(upstream.url, { maxTokens: 2000 });
    const messages = marked(anthropicMessages(12, { thinks: true, results: output }));
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    await fetch(`${gateway.url}${MODELS}/claude-sonnet-5-1@20261001:rawPredict`, {
      method: 'POST',
      body: JSON.stringify({ ...body(0, output), thinking, messages }),
    });
    const [got] = upstream.received;
    expect(got?.body.toString()).toContain(' chars masked · ');
    expect(got?.body.toString()).toContain('"prefix_mismatch_behavior"');
    expect(got?.headers['anthropic-beta']).toBeDefined();
    await gateway.close();
    await upstream.close();
  });
});
