import { afterEach, describe, expect, it } from 'vitest';
import type { ConversationSummary, GatewayOptions } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { countTokens } from '../../../src/tokens/count-tokens.ts';
import { startGateway } from '../../support/gateway/gateway.ts';
import { anthropicBody, anthropicMessages, type Json, output, parsed } from '../../support/gateway/requests.ts';
import { startUpstream } from '../../support/gateway/upstream.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Schemas are counted in another way than messages, as providers do. */
function countAsProvider({ tools, system, messages }: Json): number {
  const [overhead, said] = [JSON.stringify([tools, system]), JSON.stringify(messages)];
  return Math.round(1.6 * countTokens(overhead) + 1.1 * countTokens(said));
}

const tools = Array.from({ length: 40 }, (_, i) => ({
  name: `tool_${i}`,
  description: `Tool number ${i} does one thing, and does it well. `.repeat(8),
  input_schema: { type: 'object', properties: { path: { type: 'string' } } },
}));

const TURNS = 80;
/** An agent that shortens its own results: at each of these turns, all that are older than ten turns. */
const SHORTENS_AT = [44, 70];

function bodyOf(turns: number): Json {
  const last = SHORTENS_AT.findLast((turn) => turn <= turns) ?? 0;
  const results = (turn: number) =>
    turn <= last - 10 ? `${output(turn).slice(0, 120)} … shortened` : output(turn, 200);
  return anthropicBody(anthropicMessages(turns, { results }), { tools });
}

/** The receipts' sum of tokens without the gateway, as a multiple of the provider's count of the originals. */
async function ratioOf(options: GatewayOptions): Promise<number> {
  const upstream = await startUpstream((_request, response) => {
    const body = parsed(upstream.received.at(-1)?.body ?? Buffer.from('{}'));
    const usage = { input_tokens: countAsProvider(body), output_tokens: 7 };
    response.end(JSON.stringify({ type: 'message', usage }));
  });
  closers.push(upstream.close);
  const gateway = await startGateway(upstream.url, options);
  closers.push(() => gateway.close({ graceMs: 0 }));
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  let truth = 0;
  for (let turns = 1; turns <= TURNS; turns++) {
    const body = bodyOf(turns);
    truth += countAsProvider(body);
    await fetch(`${gateway.url}/v1/messages`, { method: 'POST', headers, body: JSON.stringify(body) });
  }
  const { conversations } = await gateway.ask<{ conversations: ConversationSummary[] }>('conversations');
  expect(conversations[0]).toMatchObject({ requests: TURNS });
  const { tokensIn = 0, tokensSent = 0 } = conversations[0] ?? {};
  expect(tokensSent).toBeLessThan(0.9 * tokensIn);
  return tokensIn / truth;
}

describe('the tokens of a receipt without the gateway', () => {
  it.each([
    ['where an epoch comes now and then', {}],
    ['where every request has new masks', { policy: slidingWindow({ turns: 5 }) }],
  ] as const)(
    'are within 2 percent of the truth %s, also for an agent that shortens its own history',
    async (_name, options) => {
      expect(Math.abs((await ratioOf(options)) - 1)).toBeLessThan(0.02);
    },
  );
});
