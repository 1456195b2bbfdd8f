import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Anthropic } from 'anthropic-sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { type AnthropicOptions, palimpsest } from '../../src/adapters/anthropic/index.ts';
import { never } from '../../src/plan/policies/never.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { PNG } from '../../src/testing/png.ts';
import type { Fields } from '../support/provider/json.ts';
import type { Ask, Reply } from '../support/provider/script.ts';
import { type Provider, type ProviderOptions, startProvider } from '../support/provider/start-provider.ts';
import { MODEL } from './anthropic-driver.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(options: Partial<ProviderOptions> = {}): Promise<Provider> {
  const provider = await startProvider({ script: [], ...options });
  closers.push(provider.close);
  return provider;
}

const policy = slidingWindow({ turns: 2 });
const connect = ({ url }: Provider, options: AnthropicOptions = { store: createMemoryStore(), policy }) =>
  new Anthropic({ apiKey: 'none', baseURL: url, middleware: [palimpsest(options)], maxRetries: 0 });
const plain = ({ url }: Provider) => new Anthropic({ apiKey: 'none', baseURL: url, maxRetries: 0 });

const TURNS = [1, 2, 3, 4, 5, 6];
const result = (turn: number): string => `line of ${turn}\n`.repeat(100);
const history: Anthropic.MessageParam[] = [
  { role: 'user', content: 'Go. ✓' },
  ...TURNS.flatMap((turn): Anthropic.MessageParam[] => [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: `call_${turn}`, name: 'read', input: { path: `${turn}` } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `call_${turn}`, content: result(turn) }] },
  ]),
];
const ask = { model: MODEL, max_tokens: 100, messages: history };

const textOf = (provider: Provider, index: number): string => provider.requests[index]?.bytes.toString() ?? '';
const bodyOf = (provider: Provider, index: number): Fields => JSON.parse(textOf(provider, index));
const MASKED = /\[read \d: 100 lines, [^"]*p_[a-z2-7]{26}\]/g;
const masksIn = (sent: string): number => sent.match(MASKED)?.length ?? 0;

/** A conversation in which the provider has signed a thought in every turn. */
async function thoughtful(
  provider: Provider,
  thinking: Anthropic.ThinkingConfigParam,
): Promise<Anthropic.MessageParam[]> {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go.' }];
  for (const turn of TURNS) {
    const { content } = await plain(provider).messages.create({ ...ask, messages, thinking });
    const [, call] = content as [unknown, Anthropic.ToolUseBlock];
    messages.push({ role: 'assistant', content });
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: result(turn) }] });
  }
  return messages;
}

const thinker = ({ turn }: Ask): Reply => ({
  thinking: `Thought ${turn}.`,
  calls: [{ name: 'read', input: { path: `${turn + 1}` } }],
});

describe('masks before signed thinking', () => {
  const adaptive = { type: 'adaptive' as const };
  const enabled = { type: 'enabled' as const, budget_tokens: 1024 };
  const binding = { prefix_mismatch_behavior: 'drop_block' };
  const BETA = 'thinking-binding-controls-2026-08-01';

  it.each([adaptive, enabled])(
    'opt into dropping thinking of type $type, and the provider takes it',
    async (thinking) => {
      const provider = await start({ script: thinker });
      const messages = await thoughtful(provider, thinking);
      const { input_transformations: dropped } = (await connect(provider).messages.create({
        ...ask,
        messages,
        thinking,
      })) as {
        input_transformations?: readonly unknown[];
      };
      expect(dropped?.length).toBeGreaterThan(0);
      expect(bodyOf(provider, 6).thinking).toEqual({ ...thinking, block_binding: binding });
      expect(provider.requests[6]?.headers['anthropic-beta']).toBe(BETA);
      expect(masksIn(textOf(provider, 6))).toBe(4);
    },
  );

  it('keep the betas of the caller', async () => {
    const provider = await start({ script: thinker });
    const messages = (await thoughtful(provider, adaptive)) as Anthropic.Beta.BetaMessageParam[];
    const { beta } = connect(provider);
    await beta.messages.create({ ...ask, messages, thinking: adaptive, betas: ['context-1m-2025-08-07'] });
    await beta.messages.create({ ...ask, messages, thinking: adaptive, betas: [BETA, 'x'] });
    expect(provider.requests.slice(6).map(({ headers }) => headers['anthropic-beta'])).toEqual([
      `context-1m-2025-08-07, ${BETA}`,
      `${BETA},x`,
    ]);
  });

  it('are not made where the request cannot opt in, or has chosen otherwise', async () => {
    const provider = await start({ script: thinker });
    const messages = await thoughtful(provider, adaptive);
    const strict = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } };
    const choices = [
      undefined,
      { type: 'disabled' },
      { type: 'between_tools' },
      strict,
    ] as Anthropic.ThinkingConfigParam[];
    for (const thinking of choices)
      await connect(provider).messages.create({ ...ask, messages, thinking }, { headers: { 'anthropic-beta': BETA } });
    expect([6, 7, 8, 9].map((index) => masksIn(textOf(provider, index)))).toEqual([0, 0, 0, 0]);
    expect([6, 7, 8, 9].map((index) => bodyOf(provider, index).thinking)).toEqual(choices);
  });

  it('need nothing in the request where nothing is masked', async () => {
    const provider = await start({ script: thinker });
    const messages = await thoughtful(provider, adaptive);
    await connect(provider, { policy: never() }).messages.create({ ...ask, messages, thinking: adaptive });
    expect(bodyOf(provider, 6).thinking).toEqual(adaptive);
    expect(provider.requests[6]?.headers['anthropic-beta']).toBeUndefined();
  });
});

describe('a request', () => {
  it('has the very bytes of the SDK where nothing is masked', async () => {
    const provider = await start();
    await plain(provider).messages.create(ask);
    await connect(provider, { policy: never() }).messages.create(ask);
    expect(textOf(provider, 1)).toBe(textOf(provider, 0));
  });

  it('changes in masked results only, and its length is right', async () => {
    const provider = await start();
    await plain(provider).messages.create(ask);
    await connect(provider).messages.create(ask);
    let turn = 0;
    const unmasked = textOf(provider, 1).replace(MASKED, () => JSON.stringify(result(++turn)).slice(1, -1));
    expect([turn, unmasked]).toEqual([4, textOf(provider, 0)]);
    expect(provider.requests[1]?.headers['content-length']).toBe(String(provider.requests[1]?.bytes.length));
  });

  it('keeps cache breakpoints where they were', async () => {
    const provider = await start();
    const cache_control = { type: 'ephemeral' as const };
    const results = (marked: Anthropic.ToolResultBlockParam): Anthropic.MessageParam => ({
      role: 'user',
      content: [marked],
    });
    const messages = history
      .with(2, results({ type: 'tool_result', tool_use_id: 'call_1', content: result(1), cache_control }))
      .with(
        4,
        results({
          type: 'tool_result',
          tool_use_id: 'call_2',
          content: [{ type: 'text', text: result(2), cache_control }],
        }),
      )
      .with(12, results({ type: 'tool_result', tool_use_id: 'call_6', content: result(6), cache_control }));
    const system = [{ type: 'text' as const, text: 'Be brief.', cache_control }];
    await plain(provider).messages.create({ ...ask, system, messages });
    await connect(provider).messages.create({ ...ask, system, messages });
    expect(masksIn(textOf(provider, 1))).toBe(4);
    expect(markersIn(bodyOf(provider, 1))).toEqual(markersIn(bodyOf(provider, 0)));
    expect(markersIn(bodyOf(provider, 1))).toHaveLength(4);
  });

  it('that counts tokens is fitted like the one that asks the model', async () => {
    const provider = await start();
    const client = connect(provider);
    const { input_tokens: all } = await plain(provider).messages.countTokens({ model: MODEL, messages: history });
    const { input_tokens: fitted } = await client.messages.countTokens({ model: MODEL, messages: history });
    await client.beta.messages.countTokens({ model: MODEL, messages: history as Anthropic.Beta.BetaMessageParam[] });
    await client.messages.create(ask);
    expect(fitted).toBeLessThan(all / 2);
    const [counted, countedInBeta, asked] = [1, 2, 3].map((index) => bodyOf(provider, index).messages);
    expect([counted, countedInBeta]).toEqual([asked, asked]);
  });

  it('has the same bytes when the SDK retries', async () => {
    const provider = await start({ faults: [{ kind: 'status', status: 529 }] });
    await connect(provider).messages.create(ask, { maxRetries: 1 });
    expect(provider.requests.map(({ status }) => status)).toEqual([529, 200]);
    expect(masksIn(textOf(provider, 0))).toBe(4);
    expect(textOf(provider, 1)).toBe(textOf(provider, 0));
  });

  it('is not sent where the store fails, and the error is that of the store', async () => {
    const provider = await start();
    const store = Object.assign(createMemoryStore(), { putMany: () => Promise.reject(new Error('disk full')) });
    await expect(connect(provider, { store, policy }).messages.create(ask, { maxRetries: 3 })).rejects.toThrow(
      'disk full',
    );
    expect(provider.requests).toEqual([]);
  });

  it('tells its session by its header, or by whatever a function finds in it', async () => {
    const provider = await start();
    const sessions: (string | undefined)[] = [];
    const onReport: AnthropicOptions['onReport'] = (_report, { session }) => void sessions.push(session);
    await connect(provider, { onReport }).messages.create(ask, { headers: { 'x-session-id': 'a' } });
    const session: AnthropicOptions['session'] = ({ options, body }) =>
      `${(options as { chat: string }).chat}-${body.max_tokens}`;
    await connect(provider, { onReport, session }).messages.create(ask, { chat: 'b' } as object);
    expect(sessions).toEqual(['a', 'b-100']);
  });

  it('that has no messages passes unchanged', async () => {
    const received: { readonly path: string; readonly body: string }[] = [];
    const client = await startAnswering(received, () => ({ data: [] }), [palimpsest({ policy })]);
    const untouched = await startAnswering(received, () => ({ data: [] }), []);
    for (const each of [client, untouched]) {
      await each.models.list();
      await each.messages.batches.create({ requests: [{ custom_id: 'a', params: ask }] });
      await each.post('/v1/messages', { body: 'no JSON', headers: { 'content-type': 'text/plain' } });
    }
    expect(received.slice(0, 3)).toEqual(received.slice(3));
    expect(received.map(({ body }) => body.length > 0)).toEqual([false, true, true, false, true, true]);
  });
});

describe('messages of an unknown format', () => {
  it('pass unchanged, with one warning', async () => {
    const received: { body: string }[] = [];
    const warnings: unknown[] = [];
    const client = await startAnswering(received, () => ({ content: [] }), [palimpsest({ policy })], warnings);
    const odd = [{ role: 'user', body: { blob: 'words of a format that is new '.repeat(500) } }];
    for (let i = 0; i < 2; i++) await client.messages.create({ ...ask, messages: odd as never });
    expect(received.map(({ body }) => JSON.parse(body).messages)).toEqual([odd, odd]);
    expect(warnings).toEqual([expect.stringMatching(/^palimpsest: a request was sent unchanged\. Expected messages/)]);
  });
});

describe('message threads', () => {
  const read = {
    ...{ type: 'custom' as const, name: 'read', input_schema: { type: 'object' as const } },
    parse: () => ({}),
    run: () => result(1),
  };
  /** The model makes five calls. */
  const run = async (received: { body: string }[], warnings: unknown[], thread?: false) => {
    const calls = (index: number) =>
      index < 5
        ? [{ type: 'tool_use', id: `call_${index}`, name: 'read', input: { path: 'a' } }]
        : [{ type: 'text', text: 'Done.' }];
    const answer = (index: number) => ({
      ...{ type: 'message', id: `msg_${index}`, role: 'assistant', model: MODEL, content: calls(index) },
      ...{
        stop_reason: index < 5 ? 'tool_use' : 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    });
    const client = await startAnswering(
      received,
      answer,
      [palimpsest({ store: createMemoryStore(), policy })],
      warnings,
    );
    const messages = [{ role: 'user' as const, content: 'Go.' }];
    const body = { model: MODEL, max_tokens: 100, messages, tools: [read] };
    await client.beta.messages.toolRunner(thread === false ? { ...body, thread } : body).runUntilDone();
  };

  it('pass unchanged, with one warning that says what to do', async () => {
    const received: { body: string }[] = [];
    const warnings: unknown[] = [];
    await run(received, warnings);
    expect(received.map(({ body }) => JSON.parse(body).thread?.type)).toEqual(['create', ...Array(5).fill('continue')]);
    expect(received.filter(({ body }) => /p_[a-z2-7]{26}/.test(body))).toEqual([]);
    expect(warnings).toEqual([
      expect.stringMatching(/^palimpsest: nothing is masked in message threads.*thread: false/),
    ]);
  });

  it('are not used with thread: false, and old results are masked', async () => {
    const received: { body: string }[] = [];
    const warnings: unknown[] = [];
    await run(received, warnings, false);
    expect(received.at(-1)?.body.match(/p_[a-z2-7]{26}/g)).toHaveLength(3);
    expect(warnings).toEqual([]);
  });
});

describe('the tool recall', () => {
  const recalls = (input: Fields) => (asked: Ask) =>
    asked.turn === 0 ? { calls: [{ name: 'recall', input }] } : { text: 'Done.' };
  const run = async (provider: Provider, store = createMemoryStore()) =>
    connect(provider)
      .beta.messages.toolRunner({
        ...{ model: MODEL, max_tokens: 100, messages: [{ role: 'user' as const, content: 'Go.' }] },
        ...{ tools: palimpsest.tools({ store }), thread: false as const },
      })
      .runUntilDone();

  it('gives an image back as an image, and a kind that the API does not take as a note', async () => {
    const store = createMemoryStore();
    const image = (media_type: string) => ({ type: 'image', source: { type: 'base64', media_type, data: PNG } });
    const handle = await store.put(JSON.stringify([image('image/png'), image('image/tiff')]), { session: 's' });
    const provider = await start({ script: recalls({ handle }) });
    await run(provider, store);
    expect(textOf(provider, 1).match(new RegExp(PNG.slice(0, 50).replaceAll('+', '\\+'), 'g'))).toHaveLength(1);
    expect(textOf(provider, 1)).toContain('[image 2: image/tiff]');
  });

  it('tells the model of a wrong argument as an error', async () => {
    const provider = await start({ script: recalls({ handel: 1 }) });
    await run(provider);
    expect(textOf(provider, 1)).toMatch(/did you mean handle\?","is_error":true/);
  });
});

/** Where a body has cache breakpoints. */
function markersIn(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'cache_control' ? [`${path} ${JSON.stringify(inner)}`] : markersIn(inner, `${path}.${key}`),
  );
}

/** A client of a server that gives these answers, and writes down what it receives. */
async function startAnswering(
  received: { readonly path: string; readonly body: string }[] | { readonly body: string }[],
  answer: (index: number) => object,
  middleware: ReturnType<typeof palimpsest>[],
  warnings: unknown[] = [],
): Promise<Anthropic> {
  let index = 0;
  const server = createServer(async (request, response) => {
    received.push({ path: request.url ?? '', body: await text(request) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(index++)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => void server.close(() => resolve())));
  const nothing = () => undefined;
  const logger = {
    debug: nothing,
    info: nothing,
    error: nothing,
    warn: (...said: unknown[]) => void warnings.push(said[0]),
  };
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return new Anthropic({ apiKey: 'none', baseURL, middleware, logger, maxRetries: 0 });
}
