import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Receipt } from '../../../src/gateway/index.ts';
import { slidingWindow } from '../../../src/index.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { recordsOf } from '../../support/gateway/held.ts';
import { anthropicBody, anthropicMessages, type Json, output } from '../../support/gateway/requests.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';

let upstream: Upstream;
let gateway: Started;
let store: ReturnType<typeof createMemoryStore>;

const start = (): Promise<Started> => startGateway(upstream.url, { policy: slidingWindow({ turns: 2 }), store });

beforeEach(async () => {
  upstream = await startUpstream();
  store = createMemoryStore();
  gateway = await start();
});
afterEach(async () => {
  await gateway.close({ graceMs: 0 });
  await upstream.close();
});

const post = (path: string, body: Json): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** The items of a coding agent after so many turns, the last result still unanswered. */
function items(turns: number): Json[] {
  const input: Json[] = [{ type: 'message', role: 'user', content: 'Fix the failing test' }];
  for (let turn = 1; turn <= turns; turn++)
    input.push(
      { type: 'function_call', call_id: `c${turn}`, name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: `c${turn}`, output: output(turn) },
    );
  return input;
}

/** Every kind of request by which a client has the provider compact or manage the history, after so many turns. */
const kinds = [
  {
    kind: 'ends in compaction_trigger',
    path: '/v1/responses',
    asking: '/v1/responses',
    reason: /asked to compact/,
    body: (turns: number): Json => ({ model: 'gpt-5', input: items(turns) }),
    ask: (body: Json): Json => ({ ...body, input: [...(body.input as Json[]), { type: 'compaction_trigger' }] }),
  },
  {
    kind: 'goes to /responses/compact',
    path: '/v1/responses',
    asking: '/v1/responses/compact',
    reason: /asked to compact/,
    body: (turns: number): Json => ({ model: 'gpt-5', input: items(turns) }),
    ask: (body: Json): Json => body,
  },
  {
    kind: 'has the field compaction',
    path: '/v1/messages',
    asking: '/v1/messages',
    reason: /asked to compact/,
    body: (turns: number): Json => anthropicBody(anthropicMessages(turns)),
    ask: (body: Json): Json => ({ ...body, compaction: { type: 'summarize' } }),
  },
  {
    kind: 'has context_management',
    path: '/v1/messages',
    asking: '/v1/messages',
    reason: /asked to manage the context/,
    body: (turns: number): Json => anthropicBody(anthropicMessages(turns)),
    ask: (body: Json): Json => ({ ...body, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }),
  },
];

const sent = (): string[] =>
  upstream.received.map(({ body }) => {
    const { input, messages } = JSON.parse(body.toString()) as { input?: unknown; messages?: unknown };
    // Without cache markers, which move from request to request.
    return JSON.stringify(input ?? messages, (key, value) => (key === 'cache_control' ? undefined : value));
  });

const masksIn = (text: string | undefined): number => text?.match(/ chars masked · /g)?.length ?? 0;

async function lastReceipt(requests: number): Promise<Receipt | undefined> {
  const { receipts } = await recordsOf(gateway, requests);
  return receipts.find(({ request }) => request === requests);
}

describe.each(kinds)('a request that $kind', ({ path, asking, reason, body, ask }) => {
  it('keeps the masks that were sent and adds none', async () => {
    await post(path, body(7));
    await post(path, body(8));
    await post(asking, ask(body(9)));
    const [, before, compaction] = sent();
    expect(masksIn(before)).toBe(6);
    expect(masksIn(compaction)).toBe(6);
    expect(compaction?.startsWith(before?.slice(0, -1) ?? '-')).toBe(true);
    const receipt = await lastReceipt(3);
    expect(receipt).toMatchObject({ path: asking, act: 'wait', masked: 6, newMasks: [] });
    expect(receipt?.because).toMatch(reason);
  });

  it('keeps them after a restart', async () => {
    await post(path, body(8));
    await gateway.close();
    gateway = await start();
    await post(asking, ask(body(9)));
    const [before, compaction] = sent();
    expect(masksIn(compaction)).toBe(6);
    expect(compaction?.startsWith(before?.slice(0, -1) ?? '-')).toBe(true);
  });

  it('is not edited where nothing was masked before', async () => {
    const request = ask(body(9));
    await post(asking, request);
    expect(upstream.received[0]?.body.toString()).toBe(JSON.stringify(request));
    expect(await lastReceipt(1)).toMatchObject({ act: 'wait', masked: 0 });
  });

  it('leaves later requests of the conversation as they would be without it', async () => {
    await post(path, body(8));
    await post(asking, ask(body(9)));
    await post(path, body(9));
    expect(masksIn(sent()[2])).toBe(7);
  });
});
