import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { priceLists } from '../../../src/plan/prices.ts';
import { type Fields, fieldsOf } from '../../support/provider/json.ts';
import {
  ANTHROPIC,
  type Answer,
  CHAT,
  GEMINI,
  HEADERS,
  PATHS,
  post,
  RESPONSES,
} from '../../support/provider/requests.ts';
import type { Ask, Reply } from '../../support/provider/script.ts';
import { type Provider, type ProviderOptions, startProvider } from '../../support/provider/start-provider.ts';

let provider: Provider;
afterEach(async () => {
  await provider.close();
  expect(provider.sockets()).toBe(0);
});

async function start(options: Partial<ProviderOptions> = {}): Promise<void> {
  provider = await startProvider({ script: [{ text: 'one' }, { text: 'two' }, { text: 'three' }], ...options });
}

const words = (count: number, word = 'word'): string => `${word} `.repeat(count);
const user = (content: unknown): Fields => ({ role: 'user', content });
const assistant = (content: unknown): Fields => ({ role: 'assistant', content });
const marked = (text: string, ttl?: '5m' | '1h'): Fields => ({
  type: 'text',
  text,
  cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) },
});
const usageOf = ({ body }: Answer): Fields => body.usage as Fields;

describe('the marked cache of Anthropic', () => {
  const ask = async (messages: readonly Fields[], more: Fields = {}): Promise<Fields> => {
    const body = { model: 'claude-sonnet-4-5', max_tokens: 100, messages, ...more };
    const answer = await post(provider.url + PATHS.anthropic, body);
    expect(answer.status, answer.text).toBe(200);
    const {
      input_tokens: fresh,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
    } = usageOf(answer);
    return { fresh, read, written };
  };

  it('writes at a marker, reads there again, and bills the rest as it is', async () => {
    await start();
    const first = await ask([user([marked(words(2000))]), assistant('a'), user('short')]);
    expect(first).toMatchObject({ read: 0, written: expect.any(Number) });
    expect(first.written).toBeGreaterThan(2000);
    const second = await ask([user([marked(words(2000))]), assistant('a'), user('short')]);
    expect(second).toEqual({ read: first.written, written: 0, fresh: first.fresh });
    const { read, write } = priceLists['anthropic-5m'];
    const cost = Number(first.written) * (read + write) + 2 * Number(first.fresh);
    expect(provider.bill.cost).toBeCloseTo(cost, 6);
    expect([provider.bill.requests, provider.bill.prompt]).toEqual([
      2,
      2 * (Number(first.written) + Number(first.fresh)),
    ]);
    expect(provider.bill.costAt({ read, write })).toBeCloseTo(
      read * provider.bill.read + write * (provider.bill.prompt - provider.bill.read),
      6,
    );
  });

  it('reads nothing without markers, and nothing below the least size', async () => {
    await start();
    for (let i = 0; i < 2; i++) expect(await ask([user(words(2000))])).toMatchObject({ read: 0, written: 0 });
    for (let i = 0; i < 2; i++) expect(await ask([user([marked(words(300))])])).toMatchObject({ read: 0, written: 0 });
  });

  it('needs more for some models', async () => {
    await start();
    const model = { model: 'claude-haiku-4-5' };
    expect(await ask([user([marked(words(2000))])], model)).toMatchObject({ written: 0 });
    expect((await ask([user([marked(words(5000))])], model)).written).toBeGreaterThan(5000);
  });

  it('finds what was written at most 20 blocks before a marker', async () => {
    await start();
    const blocks = (count: number): Fields[] =>
      Array.from({ length: count }, (_, i) => ({ type: 'text', text: `b${i}` }));
    const request = (between: number): Fields[] => [
      user([marked(words(2000))]),
      assistant('a'),
      user([...blocks(between), { ...marked('end') }]),
    ];
    const { written } = await ask([user([marked(words(2000))])]);
    // Without the marker on the first block, only the last one looks back.
    const plain = (between: number): Fields[] =>
      request(between).map((message, i) => (i === 0 ? user([{ type: 'text', text: words(2000) }]) : message));
    expect((await ask(plain(18))).read).toBe(0);
    expect((await ask(plain(17))).read).toBe(written);
  });

  it('reads only up to the first change', async () => {
    await start();
    const request = (middle: string): Fields[] => [
      user([marked(words(1500))]),
      assistant('a'),
      user([marked(words(1500, middle))]),
    ];
    const { written } = await ask(request('old'));
    const again = await ask(request('new'));
    expect(again.read).toBeGreaterThan(1500);
    expect(Number(again.read) + Number(again.written)).toBeCloseTo(Number(written), -1);
  });

  it('does not take a moved marker or the form of a text for a change', async () => {
    await start();
    const { written } = await ask([user([marked(words(2000))])]);
    const moved = await ask([user(words(2000)), assistant('a'), user([marked('b')])]);
    expect(moved.read).toBe(written);
  });

  it('forgets after five minutes without use, or after an hour', async () => {
    let now = 0;
    await start({ now: () => now });
    const short = [user([marked(words(2000))])];
    const long = [user([marked(words(2000, 'hour'), '1h')])];
    await ask(short);
    await ask(long);
    now += 4 * 60_000;
    expect((await ask(short)).read).toBeGreaterThan(0);
    now += 4 * 60_000;
    expect((await ask(short)).read).toBeGreaterThan(0);
    now += 5 * 60_000 + 1;
    expect(await ask(short)).toMatchObject({ read: 0 });
    expect((await ask(long)).read).toBeGreaterThan(0);
    now += 60 * 60_000 + 1;
    expect(await ask(long)).toMatchObject({ read: 0 });
  });

  it('keeps alive what a longer prefix that is read begins with', async () => {
    let now = 0;
    await start({ now: () => now });
    const first = [user([marked(words(2000))])];
    const { written } = await ask(first);
    const longer = [user([{ type: 'text', text: words(2000) }]), assistant('a'), user([marked(words(500))])];
    for (let i = 0; i < 4; i++) {
      now += 3 * 60_000;
      await ask(longer);
    }
    expect((await ask(first)).read).toBe(written);
  });

  it('has two prices for two lifetimes', async () => {
    await start();
    const body = {
      model: 'claude-sonnet-4-5',
      max_tokens: 9,
      messages: [user([marked(words(2000), '1h'), marked(words(900))])],
    };
    const { cache_creation: created } = usageOf(await post(provider.url + PATHS.anthropic, body));
    const { ephemeral_1h_input_tokens: long, ephemeral_5m_input_tokens: short } = created as Fields;
    expect(Number(long)).toBeGreaterThan(Number(short));
    expect(provider.bill.cost).toBeCloseTo(2 * Number(long) + 1.25 * Number(short), 6);
  });

  it('marks the end by itself where the request as a whole is marked', async () => {
    await start();
    await ask([user(words(2000))], { cache_control: { type: 'ephemeral' } });
    const next = [user(words(2000)), assistant('a'), user('b')];
    expect((await ask(next, { cache_control: { type: 'ephemeral' } })).read).toBeGreaterThan(2000);
  });
});

describe('the automatic cache', () => {
  it('of OpenAI reads whole steps of 128 from 1024 on, for five minutes', async () => {
    let now = 0;
    await start({ now: () => now });
    const ask = async (...messages: Fields[]): Promise<number> => {
      const usage = usageOf(await post(provider.url + PATHS.chat, { model: 'gpt-5', messages }));
      return Number((usage.prompt_tokens_details as Fields).cached_tokens);
    };
    expect(await ask(user(words(2000)))).toBe(0);
    const cached = await ask(user(words(2000)), assistant('a'), user('b'));
    expect([cached % 128, cached > 1800]).toEqual([0, true]);
    expect(await ask(user(words(1999)), assistant('a'), user('b'))).toBe(0);
    expect(await ask(user(words(700)))).toBe(0);
    expect(await ask(user(words(700)))).toBe(0);
    now += 5 * 60_000 + 1;
    expect(await ask(user(words(2000)))).toBe(0);
    expect(provider.bill.read).toBe(cached);
  });

  it('is the same for Responses, which bills writes where the model does', async () => {
    await start();
    const ask = async (): Promise<Fields> => {
      const body = { model: 'gpt-5.6', input: words(3000), store: false };
      return usageOf(await post(provider.url + PATHS.responses, body)).input_tokens_details as Fields;
    };
    expect(await ask()).toEqual({ cached_tokens: 0, cache_write_tokens: 3072 });
    expect(await ask()).toEqual({ cached_tokens: 3072, cache_write_tokens: 0 });
    expect(provider.bill.cost).toBeCloseTo(3072 * 1.25 + 3072 * 0.1 + 2 * (provider.bill.prompt / 2 - 3072), 6);
  });

  it('of Gemini is told only where something was read', async () => {
    await start();
    const ask = async (): Promise<Fields> => {
      const body = { contents: [{ role: 'user', parts: [{ text: words(4000) }] }] };
      return (await post(provider.url + PATHS.gemini, body)).body.usageMetadata as Fields;
    };
    expect(await ask()).not.toHaveProperty('cachedContentTokenCount');
    expect((await ask()).cachedContentTokenCount).toBeGreaterThan(3900);
  });
});

describe('thinking', () => {
  const BETA = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
  const DROP = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  const script = ({ turn }: { turn: number }): Reply => ({ thinking: `thought ${turn}`, text: `said ${turn}` });
  const request = (messages: readonly Fields[], more: Fields = {}): Fields => ({
    model: 'claude-opus-5-5',
    max_tokens: 4096,
    thinking: { type: 'adaptive' },
    system: 'You think.',
    messages,
    ...more,
  });
  const send = (body: Fields, headers: Record<string, string> = {}): Promise<Answer> =>
    post(provider.url + PATHS.anthropic, body, headers);

  /** A conversation of some turns, as it was sent and answered. */
  async function hold(turns: number, more: Fields = {}): Promise<Fields[]> {
    const messages: Fields[] = [];
    for (let turn = 0; turn < turns; turn++) {
      messages.push(user(`question ${turn} ${words(20)}`));
      const { body, text, status } = await send(request(messages, more));
      expect(status, text).toBe(200);
      messages.push(assistant(body.content));
    }
    return [...messages, user('and now?')];
  }

  const edited = (messages: readonly Fields[], at: number): Fields[] =>
    messages.map((message, i) => (i === at ? user('[masked]') : message));
  const errorOf = ({ body }: Answer): unknown => (body.error as Fields | undefined)?.message;
  const BOUND =
    'Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set ' +
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
  const NEEDS =
    ' That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.';

  it('comes back unchanged, however cache markers and forms change', async () => {
    await start({ script });
    const messages = await hold(3);
    expect((await send(request(messages))).status).toBe(200);
    const other = messages.map((m) => (typeof m.content === 'string' ? user([marked(m.content)]) : m));
    expect((await send(request(other.map((m, i) => (i === 0 ? m : (messages[i] as Fields)))))).status).toBe(200);
    expect((await send(request(messages, { max_tokens: 9000, temperature: 1 }))).status).toBe(200);
  });

  it('is rejected after an edit before it, with the header to send', async () => {
    await start({ script });
    const messages = await hold(3);
    const answer = await send(request(edited(messages, 2)));
    expect([answer.status, errorOf(answer)]).toEqual([400, `messages.3.content.0: ${BOUND}${NEEDS}`]);
    const counted = request(edited(messages, 2), { max_tokens: undefined });
    expect((await post(provider.url + PATHS.count, counted)).status).toBe(400);
    expect(provider.bill.requests).toBe(3);
  });

  it.each([
    [
      'system',
      { system: 'You think otherwise.' },
      'The `system` prompt differs from the one this block was created with.',
    ],
    [
      'tools',
      { tools: [{ name: 'bash', input_schema: { type: 'object' } }] },
      'The `tools` list differs from the one this block was created with.',
    ],
  ])('is rejected under another %s, which is named', async (_name, change, sentence) => {
    await start({ script });
    const answer = await send(request(await hold(2), change), BETA);
    expect([answer.status, errorOf(answer)]).toEqual([400, `messages.1.content.0: ${BOUND} ${sentence}`]);
  });

  it('is dropped with the opt-in and the beta: what is bound to the edit, and no more', async () => {
    await start({ script });
    const messages = await hold(3);
    const answer = await send(request(edited(messages, 2), { thinking: DROP }), BETA);
    expect(answer.body.input_transformations).toEqual(
      [3, 5].map((i) => ({
        type: 'thinking_dropped',
        path: `messages.${i}.content.0`,
        reason: 'prefix_binding_mismatch',
      })),
    );
    const whole = await send(request(messages, { thinking: DROP }), BETA);
    expect(whole.body.input_transformations).toEqual([]);
  });

  it('is not billed when it is dropped', async () => {
    await start({ script: ({ turn }) => ({ thinking: words(500, `t${turn}`), text: 'x' }) });
    const messages = await hold(2);
    const before = provider.bill.prompt;
    await send(request(messages));
    const kept = provider.bill.prompt - before;
    await send(request(edited(messages, 0), { thinking: DROP }), BETA);
    expect(provider.bill.prompt - before - kept).toBeLessThan(kept - 900);
  });

  it('made after an edit is bound to the edited conversation', async () => {
    await start({ script });
    const masked = edited(await hold(2), 0);
    const answer = await send(request(masked, { thinking: DROP }), BETA);
    const later = [...masked, assistant(answer.body.content), user('more')];
    const next = await send(request(later, { thinking: DROP }), BETA);
    expect(fieldsOf(next.body.input_transformations).map(({ path }) => path)).toEqual([
      'messages.1.content.0',
      'messages.3.content.0',
    ]);
    const original = [...(await hold(2)), assistant(answer.body.content), user('more')];
    expect(
      fieldsOf((await send(request(original, { thinking: DROP }), BETA)).body.input_transformations),
    ).toMatchObject([{ path: 'messages.5.content.0' }]);
  });

  it('may be left out from the start on, but not from the middle', async () => {
    await start({ script });
    const messages = await hold(3);
    const without = (at: number): Fields[] =>
      messages.map((m, i) => (i === at ? assistant(fieldsOf(m.content).filter(({ type }) => type !== 'thinking')) : m));
    expect((await send(request(without(1)))).status).toBe(200);
    expect(errorOf(await send(request(without(3)), BETA))).toBe(
      `messages.5.content.0: ${BOUND} The \`thinking\` block that preceded this one when it was created is missing from this request.`,
    );
  });

  it('cannot be modified in the latest reply, and has no valid signature where it was in an older one', async () => {
    await start({ script });
    const messages = await hold(2);
    const changed = (at: number): Fields[] =>
      messages.map((m, i) =>
        i === at ? assistant(fieldsOf(m.content).map((b) => (b.type === 'thinking' ? { ...b, thinking: '' } : b))) : m,
      );
    expect(errorOf(await send(request(changed(3))))).toBe(
      'messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. ' +
        'These blocks must remain as they were in the original response.',
    );
    const drop = await send(request(changed(1), { thinking: DROP }), BETA);
    expect(errorOf(drop)).toBe('messages.1.content.0: Invalid `signature` in `thinking` block');
  });

  it('is not bound on older models, and not read by them if a newer one made it', async () => {
    await start({ script });
    const old = { model: 'claude-opus-5' };
    expect((await send(request(edited(await hold(2, old), 0), old))).status).toBe(200);
    const downgraded = await send(request(await hold(1), old), BETA);
    expect(downgraded.body.input_transformations).toMatchObject([{ reason: 'model_binding_mismatch' }]);
  });

  it('is not shown to who did not ask for it', async () => {
    await start({ script });
    const { body } = await send(request([user('a')], { thinking: { type: 'disabled' } }));
    expect(fieldsOf(body.content).map(({ type }) => type)).toEqual(['text']);
  });
});

describe('what agents send by themselves', () => {
  it('takes clear_thinking with its beta, and answers that nothing was cleared', async () => {
    await start();
    const management = { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } };
    const headers = { 'anthropic-beta': 'claude-code-20250219,context-management-2025-06-27' };
    const answer = await post(provider.url + PATHS.anthropic, { ...ANTHROPIC, ...management }, headers);
    expect(answer.body.context_management).toEqual({ applied_edits: [] });
    const { max_tokens: _most, ...counted }: Fields = { ...ANTHROPIC, ...management };
    const count = await post(provider.url + PATHS.count, counted, headers);
    expect(count.body.context_management).toEqual({ original_input_tokens: count.body.input_tokens });
  });

  it('keeps what was stored for previous_response_id and item references', async () => {
    await start({ script: [{ thinking: 'hm', text: 'one' }, { text: 'two' }, { text: 'three' }] });
    const send = (body: Fields): Promise<Answer> => post(provider.url + PATHS.responses, { model: 'gpt-5', ...body });
    const first = await send({ input: 'a' });
    const second = await send({ input: 'b', previous_response_id: first.body.id });
    expect(JSON.stringify(second.body.output)).toContain('two');
    const references = fieldsOf(first.body.output).map(({ id }) => ({ type: 'item_reference', id }));
    const third = await send({ input: [user('a'), ...references, user('b')] });
    expect(JSON.stringify(third.body.output)).toContain('two');
    expect(usageOf(third).input_tokens).toBe(usageOf(second).input_tokens);
  });
});

describe('calls of the Responses API', () => {
  const FOUND = [{ type: 'namespace', name: 'mcp__store', tools: [{ type: 'function', name: 'recall' }] }];
  const OUTPUT = { type: 'tool_search_output', call_id: 'call_1', tools: FOUND };
  const SEARCH = { type: 'tool_search_call', call_id: 'call_1', arguments: { query: 'recall' } };

  const send = (body: Fields): Promise<Answer> => post(provider.url + PATHS.responses, { ...RESPONSES, ...body });
  const callOf = async (name: string, body: Fields): Promise<Fields | undefined> => {
    const { body: answer } = await send({ ...body, metadata: { call: name } });
    return fieldsOf(answer.output)[0];
  };
  const calls = ({ body }: Ask): Reply => ({
    calls: [{ name: String((body.metadata as Fields).call), input: { input: 'x' } }],
  });

  it('have the shape that their tool was declared with', async () => {
    await start({ script: calls });
    const tools = [{ type: 'tool_search' }, { type: 'custom', name: 'exec' }];
    expect(await callOf('tool_search', { tools })).toMatchObject({ type: 'tool_search_call', execution: 'client' });
    expect(await callOf('exec', { tools })).toMatchObject({ type: 'custom_tool_call', name: 'exec', input: 'x' });
    expect(await callOf('bash', { tools })).toMatchObject({ type: 'function_call', arguments: '{"input":"x"}' });
  });

  it('name the namespace of a tool that a search of the client found', async () => {
    await start({ script: calls });
    const call = await callOf('recall', { input: [SEARCH, OUTPUT] });
    expect(call).toMatchObject({ type: 'function_call', name: 'recall', namespace: 'mcp__store' });
  });

  it('are refused where a search has no output', async () => {
    await start();
    expect((await send({ input: [SEARCH] })).status).toBe(400);
  });
});

describe('streams', () => {
  const SCRIPT: Reply[] = [
    { thinking: 'Let me see.', text: 'I look.', calls: [{ name: 'bash', input: { command: 'ls' } }] },
  ];
  const eventsOf = (text: string): string[] => text.split(/\r?\n\r?\n/).filter((part) => part !== '');
  const runs = (types: readonly string[]): string[] => types.filter((type, i) => type !== types[i - 1]);

  it('of Anthropic have the events of the real API, usage at the start and at the end', async () => {
    await start({ script: SCRIPT });
    const body = { ...ANTHROPIC, messages: [user('a')], thinking: { type: 'adaptive' }, stream: true };
    const { text, headers } = await post(provider.url + PATHS.anthropic, body);
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = eventsOf(text).map((part) => /^event: (\w+)\ndata: (.*)$/.exec(part) ?? []);
    expect(runs(events.map(([, name = '']) => name))).toEqual([
      'message_start',
      ...['content_block_start', 'ping', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
      'message_delta',
      'message_stop',
    ]);
    const data = events.map(([, , json = '']) => JSON.parse(json));
    for (const [i, { type }] of data.entries()) expect(type).toBe(events[i]?.[1]);
    const deltas = data.flatMap(({ delta }) => (delta?.type ? [delta.type] : []));
    expect(runs(deltas)).toEqual(['thinking_delta', 'signature_delta', 'text_delta', 'input_json_delta']);
    expect(data[0].message.usage).toMatchObject({ output_tokens: 1, input_tokens: expect.any(Number) });
    expect(data.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use' },
      usage: { output_tokens: expect.any(Number) },
    });
  });

  it('of Chat Completions tell the usage only to who asks for it', async () => {
    await start({ script: SCRIPT });
    const body = { ...CHAT, messages: [user('a')], stream: true };
    const plain = eventsOf((await post(provider.url + PATHS.chat, body)).text);
    expect(plain.at(-1)).toBe('data: [DONE]');
    expect(plain.some((part) => part.includes('"usage"'))).toBe(false);
    const asked = eventsOf(
      (await post(provider.url + PATHS.chat, { ...body, stream_options: { include_usage: true } })).text,
    );
    expect(JSON.parse((asked.at(-2) ?? '').slice(6))).toMatchObject({
      choices: [],
      usage: { prompt_tokens: expect.any(Number) },
    });
    expect(asked.slice(0, -2).every((part) => part.includes('"usage":null'))).toBe(true);
  });

  it('of Responses count their events and end with the whole', async () => {
    await start({ script: SCRIPT });
    const { text } = await post(provider.url + PATHS.responses, { ...RESPONSES, input: 'a', stream: true });
    const data = eventsOf(text).map((part) => JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? ''));
    expect(data.map(({ sequence_number: number }) => number)).toEqual(data.map((_, i) => i));
    expect(data[0].type).toBe('response.created');
    expect(data.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { usage: { total_tokens: expect.any(Number) } },
    });
  });

  it('of Gemini come as events or as one list', async () => {
    await start({ script: SCRIPT });
    const path = '/v1beta/models/gemini-2.5-pro:streamGenerateContent';
    const body = { ...GEMINI, contents: [{ role: 'user', parts: [{ text: 'a' }] }] };
    const events = eventsOf((await post(`${provider.url}${path}?alt=sse`, body)).text);
    const list = (await post(provider.url + path, body)).body as unknown as Fields[];
    expect(events.map((part) => JSON.parse(part.slice(6)))).toEqual(list);
    expect(list.at(-1)).toMatchObject({ candidates: [{ finishReason: 'STOP' }], usageMetadata: {} });
  });
});

describe('faults', () => {
  const client = (): Anthropic => new Anthropic({ apiKey: 'k', baseURL: provider.url, maxRetries: 0 });
  const ask = { model: 'claude-sonnet-5', max_tokens: 10, messages: [{ role: 'user' as const, content: 'a' }] };

  it.each([
    ['anthropic', 429, 'rate_limit_error'],
    ['anthropic', 529, 'overloaded_error'],
    ['chat', 429, 'tokens'],
    ['gemini', 503, 'UNAVAILABLE'],
  ] as const)('%s: %i comes with the time to come back and is not billed', async (path, status, type) => {
    await start({ faults: [{ kind: 'status', status, retryAfterSeconds: 7 }] });
    const body = { anthropic: ANTHROPIC, chat: CHAT, gemini: GEMINI }[path];
    const answer = await post(provider.url + PATHS[path], body);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, '7']);
    expect(Object.values(answer.body.error as Fields)).toContain(type);
    expect(provider.bill.requests).toBe(0);
    expect((await post(provider.url + PATHS[path], body)).status).toBe(200);
  });

  it('resets before and after the headers', async () => {
    await start({
      faults: [
        { kind: 'reset', when: 'before-headers' },
        { kind: 'reset', when: 'after-headers' },
        { kind: 'reset', when: 'after-headers' },
      ],
    });
    await expect(post(provider.url + PATHS.anthropic, ANTHROPIC)).rejects.toThrow('fetch failed');
    await expect(client().messages.create(ask)).rejects.toThrow();
    await expect(client().messages.stream(ask).finalMessage()).rejects.toThrow();
    expect(provider.bill.requests).toBe(2);
  });

  it('breaks off in the middle of a stream and of a whole answer', async () => {
    await start({ script: [{ text: words(200) }], faults: [{ kind: 'half-stream' }, { kind: 'half-stream' }] });
    let seen = '';
    const stream = client().messages.stream(ask);
    stream.on('text', (text) => {
      seen += text;
    });
    await expect(stream.finalMessage()).rejects.toThrow();
    expect(seen.length).toBeGreaterThan(100);
    expect(seen.length).toBeLessThan(words(200).length);
    await expect(client().messages.create(ask)).rejects.toThrow();
  });

  it('answers garbage, and something huge', async () => {
    await start({ faults: [{ kind: 'garbage' }, { kind: 'garbage' }, { kind: 'huge', bytes: 3_000_000 }] });
    await expect(client().messages.create(ask)).rejects.toThrow();
    await expect(client().messages.stream(ask).finalMessage()).rejects.toThrow();
    const { content } = await client().messages.create(ask);
    expect(content).toEqual([{ type: 'text', text: 'x'.repeat(3_000_000) }]);
  });

  it('is slow, and sees a client go away in the middle', async () => {
    await start({
      script: [{ text: words(400) }],
      faults: [
        { kind: 'slow-headers', delayMs: 30 },
        { kind: 'slow-stream', delayMs: 5 },
      ],
    });
    expect((await client().messages.create(ask)).content).toHaveLength(1);
    const gone = new AbortController();
    const response = await fetch(provider.url + PATHS.anthropic, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ ...ask, stream: true }),
      signal: gone.signal,
    });
    await response.body?.getReader().read();
    gone.abort();
    await expect.poll(() => provider.requests[1]?.aborted, { timeout: 5000 }).toBe(true);
  });
});
