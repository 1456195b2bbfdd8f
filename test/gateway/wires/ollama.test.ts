import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/gateway/exchange/route.ts';
import { priceLists } from '../../../src/plan/prices.ts';
import { countTokens } from '../../../src/tokens/count-tokens.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { type Json, output } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';
import { describeWire } from '../../support/gateway/wire-suite.ts';

const COUNTS = { total_duration: 5e9, prompt_eval_count: 1000, prompt_eval_duration: 1e9, eval_count: 7 };

/** As Ollama's own libraries write it: calls without ids, results that name their tool. */
function body(turns: number, text: (turn: number) => string): Json {
  const messages: Json[] = [
    { role: 'system', content: 'You are a careful programmer.' },
    { role: 'user', content: 'Fix the failing test in src/app.ts' },
  ];
  for (let turn = 1; turn <= turns; turn++)
    messages.push(
      {
        role: 'assistant',
        content: '',
        thinking: `I think ${turn}`,
        tool_calls: [{ function: { index: 0, name: 'read_file', arguments: { path: `src/${turn}.ts` } } }],
      },
      { role: 'tool', tool_name: 'read_file', content: text(turn) },
    );
  return { model: 'qwen3:8b', messages, tools: [], stream: false, options: { num_ctx: 32_768 } };
}

const chunk = (more: Json): string =>
  `${JSON.stringify({ model: 'qwen3:8b', created_at: '2026-11-17T10:00:00Z', ...more })}\n`;

describeWire({
  api: 'ollama',
  path: { sent: '/api/chat', got: '/api/chat' },
  streamedPath: { sent: '/ollama/api/chat', got: '/api/chat' },
  model: 'qwen3:8b',
  prices: 'local',
  body,
  streamed: { stream: true },
  messages: 'messages',
  results: ({ messages }) =>
    (messages as Json[]).flatMap(({ role, content }) => (role === 'tool' ? [`${content}`] : [])),
  answer: {
    type: 'application/json; charset=utf-8',
    text: JSON.stringify({ model: 'qwen3:8b', message: { role: 'assistant', content: 'ok' }, done: true, ...COUNTS }),
  },
  stream: {
    type: 'application/x-ndjson',
    text: [
      chunk({ message: { role: 'assistant', content: 'o' }, done: false }),
      chunk({ message: { role: 'assistant', content: 'the word eval_count in an answer' }, done: false }),
      chunk({ message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', ...COUNTS }),
    ].join(''),
  },
  usage: { tokens: 1000, cached: 0, completionTokens: 7 },
});

describe('Ollama', () => {
  const post = (url: string, headers = {}) => routeOf({ method: 'POST', url, headers });

  it('is served at its own paths, and with its prefix at those of others that it speaks', () => {
    expect(post('/api/chat')).toMatchObject({ provider: 'ollama', api: 'ollama', target: '/api/chat' });
    expect(post('/api/generate')).toMatchObject({ provider: 'ollama', api: undefined });
    expect(post('/ollama/api/chat')).toMatchObject({ provider: 'ollama', api: 'ollama', target: '/api/chat' });
    expect(post('/ollama/v1/chat/completions')).toMatchObject({ provider: 'ollama', api: 'openai-chat' });
    expect(post('/ollama/v1/messages')).toMatchObject({ provider: 'ollama', api: 'anthropic' });
    expect(post('/openai/api/chat')).toMatchObject({ provider: 'openai', api: undefined });
  });

  it('streams where a request does not say otherwise', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(chunk({ done: true, ...COUNTS }));
    });
    const gateway = await startGateway(upstream.url);
    const { stream: _, ...silent } = body(2, output);
    await fetch(`${gateway.url}/api/chat`, { method: 'POST', body: JSON.stringify(silent) });
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]).toMatchObject({ streamed: true, sent: { tokens: 1000 } });
    await gateway.close();
    await upstream.close();
  });

  it('is reckoned with at the price of a local cache, whatever its model is called', async () => {
    const upstream = await startUpstream((_request, response) => void response.end(JSON.stringify(COUNTS)));
    const gateway = await startGateway(upstream.url);
    await fetch(`${gateway.url}/api/chat`, {
      method: 'POST',
      body: JSON.stringify({ ...body(3, output), model: 'hf.co/someone/claude-distill' }),
    });
    await fetch(`${gateway.url}/ollama/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-5-like', messages: [{ role: 'user', content: 'Hi '.repeat(500) }] }),
    });
    const { conversations } = await gateway.ask<{ conversations: { prices: string }[] }>('conversations');
    expect(conversations.map(({ prices }) => prices)).toEqual(['local', 'local']);
    expect(priceLists).not.toHaveProperty('local');
    await gateway.close();
    await upstream.close();
  });

  it('is within --max-tokens also after it has cut prompts and counted what was left', async () => {
    const upstream = await startUpstream((_request, response) => {
      response.end(JSON.stringify({ message: { role: 'assistant', content: 'ok' }, done: true, ...COUNTS }));
    });
    const gateway = await startGateway(upstream.url, { maxTokens: 6000 });
    const ask = (turns: number) =>
      fetch(`${gateway.url}/api/chat`, {
        method: 'POST',
        body: JSON.stringify(body(turns, (turn) => output(turn, 20))),
      });
    for (let turns = 10; turns < 34; turns++) await ask(turns);
    const { receipts } = await recordsOf(gateway, 24);
    expect(receipts.filter(({ act }) => act === 'over-limit').length).toBeGreaterThan(0);
    const sizes = upstream.received.map((request) => countTokens(request.body.toString()));
    expect(Math.max(...sizes)).toBeLessThan(8000);
    await gateway.close();
    await upstream.close();
  });

  it('tells no count of a prompt that it had in its cache: then the receipt is an estimate', async () => {
    const upstream = await startUpstream((_request, response) => void response.end('{"done":true,"eval_count":7}'));
    const gateway = await startGateway(upstream.url);
    await fetch(`${gateway.url}/api/chat`, { method: 'POST', body: JSON.stringify(body(3, output)) });
    const { receipts } = await recordsOf(gateway, 1);
    expect(receipts[0]?.estimated).toBe(true);
    expect(receipts[0]?.sent.tokens).toBeGreaterThan(1000);
    await gateway.close();
    await upstream.close();
  });
});
