import { AzureOpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/gateway/exchange/route.ts';
import { createGateway, listen } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { type Json, output } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { describeWire } from '../../support/gateway/wire-suite.ts';

const read = (turn: number) => ({ name: 'read_file', arguments: `{"path":"src/${turn}.ts"}` });
const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`;

function chat(turns: number, text: (turn: number) => string): Json {
  const messages: Json[] = [{ role: 'user', content: 'Fix the failing test in src/app.ts' }];
  for (let turn = 1; turn <= turns; turn++)
    messages.push(
      { role: 'assistant', content: null, tool_calls: [{ id: `c${turn}`, type: 'function', function: read(turn) }] },
      { role: 'tool', tool_call_id: `c${turn}`, content: text(turn) },
    );
  return { messages };
}

const CHAT_USAGE = { prompt_tokens: 1000, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 896 } };
const DEPLOYMENT = '/openai/deployments/gpt-5-mini/chat/completions?api-version=2025-04-01-preview';

describeWire({
  api: 'azure-chat',
  path: { sent: DEPLOYMENT, got: DEPLOYMENT },
  streamedPath: { sent: `/azure${DEPLOYMENT}`, got: DEPLOYMENT },
  model: 'azure/gpt-5-mini',
  prices: 'gpt-5',
  body: chat,
  streamed: { stream: true },
  messages: 'messages',
  results: ({ messages }) =>
    (messages as Json[]).flatMap(({ role, content }) => (role === 'tool' ? [`${content}`] : [])),
  answer: { type: 'application/json', text: JSON.stringify({ choices: [], usage: CHAT_USAGE }) },
  stream: {
    type: 'text/event-stream; charset=utf-8',
    text: `${data({ choices: [{ delta: { content: 'o' } }] })}${data({ choices: [], usage: CHAT_USAGE })}data: [DONE]\n\n`,
  },
  usage: { tokens: 1000, cached: 896, completionTokens: 7 },
});

function responses(turns: number, text: (turn: number) => string): Json {
  const input: Json[] = [{ role: 'user', content: 'Fix the failing test in src/app.ts' }];
  for (let turn = 1; turn <= turns; turn++)
    input.push(
      { type: 'function_call', call_id: `c${turn}`, ...read(turn) },
      { type: 'function_call_output', call_id: `c${turn}`, output: text(turn) },
    );
  return { model: 'gpt-4o', input, store: false };
}

const USAGE = { input_tokens: 1000, output_tokens: 7, input_tokens_details: { cached_tokens: 896 } };

describeWire({
  api: 'azure-responses',
  path: { sent: '/azure/openai/v1/responses', got: '/openai/v1/responses' },
  streamedPath: { sent: '/openai/responses?api-version=preview', got: '/openai/responses?api-version=preview' },
  model: 'azure/gpt-4o',
  prices: 'gpt-4o',
  body: responses,
  streamed: { stream: true },
  messages: 'input',
  results: ({ input }) => (input as Json[]).flatMap(({ output }) => (output ? [`${output}`] : [])),
  answer: { type: 'application/json', text: JSON.stringify({ object: 'response', output: [], usage: USAGE }) },
  stream: {
    type: 'text/event-stream; charset=utf-8',
    text: `${data({ type: 'response.output_text.delta', delta: 'o' })}${data({ type: 'response.completed', response: { usage: USAGE } })}`,
  },
  usage: { tokens: 1000, cached: 896, completionTokens: 7 },
});

describe('Azure', () => {
  const post = (url: string) => routeOf({ method: 'POST', url, headers: {} });

  it('is recognised by its prefix, by a deployment or by an api-version, and keeps its own path', () => {
    expect(post('/azure/openai/v1/chat/completions')).toMatchObject({
      provider: 'azure',
      api: 'azure-chat',
      target: '/openai/v1/chat/completions',
    });
    expect(post('/openai/deployments/my/chat/completions')).toMatchObject({
      provider: 'azure',
      api: 'azure-chat',
      target: '/openai/deployments/my/chat/completions',
    });
    expect(post('/openai/deployments/my/embeddings')).toMatchObject({ provider: 'azure', api: undefined });
    expect(post('/openai/v1/responses?x=1&api-version=preview')).toMatchObject({
      provider: 'azure',
      api: 'azure-responses',
      target: '/openai/v1/responses?x=1&api-version=preview',
    });
    expect(post('/azure/anthropic/v1/messages')).toMatchObject({ provider: 'azure', api: 'anthropic' });
  });

  it("leaves OpenAI's routes below its prefix as they are", () => {
    expect(post('/openai/v1/chat/completions')).toEqual({
      provider: 'openai',
      api: 'openai-chat',
      target: '/v1/chat/completions',
      path: '/v1/chat/completions',
      isCountTokens: false,
    });
    expect(post('/openai/v1/responses')).toMatchObject({ provider: 'openai', api: 'openai-responses' });
    expect(post('/openai/v1/responses?version=api-version')).toMatchObject({ provider: 'openai' });
    expect(post('/openai/v1/files/deployments/')).toMatchObject({
      provider: 'openai',
      target: '/v1/files/deployments/',
    });
  });

  it.each(['/openai/deployments/../../admin', '/openai/deployments//evil/../x', '/azure//evil.example/openai'])(
    'forwards nothing to %s',
    (url) => {
      expect(post(url)).toBeUndefined();
    },
  );

  it.each(['', '/azure'])(
    'takes the calls of its own client, whose endpoint is the gateway with %j',
    async (prefix) => {
      const upstream = await startUpstream((_request, response) => {
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ choices: [], usage: CHAT_USAGE }));
      });
      const gateway = await startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }) });
      const endpoint = `${gateway.url}${prefix}`;
      const client = new AzureOpenAI({
        endpoint,
        apiKey: 'a-key',
        apiVersion: '2025-04-01-preview',
        deployment: 'my-gpt-4o',
      });
      const { messages } = chat(8, output) as { messages: never };
      await client.chat.completions.create({ model: 'my-gpt-4o', messages });
      const { input } = responses(8, output) as { input: never };
      await client.responses.create({ model: 'gpt-4o', input });
      expect(upstream.received.map(({ url }) => url)).toEqual([
        '/openai/deployments/my-gpt-4o/chat/completions?api-version=2025-04-01-preview',
        '/openai/responses?api-version=2025-04-01-preview',
      ]);
      for (const { body, headers } of upstream.received) {
        expect(body.toString().match(/ chars masked · /g)).toHaveLength(6);
        expect(headers['api-key']).toBe('a-key');
      }
      await gateway.close();
      await upstream.close();
    },
  );

  it('answers 502 and names the setting where no resource is configured', async () => {
    const server = await listen(createGateway({}), { port: 0 });
    const answer = await fetch(`${server.url}${DEPLOYMENT}`, { method: 'POST', body: JSON.stringify(chat(1, output)) });
    expect(answer.status).toBe(502);
    const { error } = (await answer.json()) as { error: { message: string } };
    expect(error.message).toContain('--upstream azure=https://…');
    await server.close();
  });
});
