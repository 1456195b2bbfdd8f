import { describe, expect, it } from 'vitest';
import { routeOf } from '../../../src/gateway/exchange/route.ts';
import type { Json } from '../../support/gateway/requests.ts';
import { describeWire } from '../../support/gateway/wire-suite.ts';

const data = (value: Json): string => `data: ${JSON.stringify(value)}\n\n`;

function body(turns: number, text: (turn: number) => string): Json {
  const input: Json[] = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix the test' }] }];
  for (let turn = 1; turn <= turns; turn++)
    input.push(
      { type: 'function_call', call_id: `c${turn}`, name: 'shell', arguments: `{"command":"cat ${turn}"}` },
      { type: 'function_call_output', call_id: `c${turn}`, output: text(turn) },
    );
  return { model: 'gpt-5-codex', input, store: false };
}

const USAGE = { input_tokens: 1000, output_tokens: 7, input_tokens_details: { cached_tokens: 896 } };

describeWire({
  api: 'chatgpt',
  path: { sent: '/backend-api/codex/responses', got: '/backend-api/codex/responses' },
  streamedPath: { sent: '/chatgpt/backend-api/codex/responses', got: '/backend-api/codex/responses' },
  model: 'gpt-5-codex',
  prices: 'gpt-5',
  body,
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

describe('the paths of Codex with a ChatGPT login', () => {
  it.each([
    ['/backend-api/codex/responses/compact', 'chatgpt'],
    ['/backend-api/codex/models', undefined],
    ['/backend-api/wham/accounts/check', undefined],
  ])('%s goes to its host', (url, api) => {
    expect(routeOf({ method: 'POST', url, headers: {} })).toMatchObject({ provider: 'chatgpt', api, target: url });
  });
});
