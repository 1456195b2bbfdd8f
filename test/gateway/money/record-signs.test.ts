import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../src/report/request-record.ts';
import { createMemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { type Started, startGateway } from '../../support/gateway/gateway.ts';
import { startUpstream, type Upstream } from '../../support/gateway/upstream.ts';
import { collect } from '../../support/store/stores.ts';

/** A tool call in a story, and its result. */
interface Step {
  readonly tool: string;
  readonly args: object;
  readonly result: string;
  /** As the API tells it, where it can. */
  readonly isError?: boolean;
}

/** How one API writes a story, and its answers. */
interface Style {
  readonly path: string;
  body(steps: readonly Step[]): object;
  /** The answer with the model's last word, and the one with a call, as documents and as streams. */
  readonly answers: Readonly<
    Record<'final' | 'call' | 'cut', { readonly document: object; readonly events: readonly object[] }>
  >;
  /** It has a flag for a failed result. */
  readonly hasErrors: boolean;
}

const TASK = 'Fix the failing test';
const USAGE = { prompt_tokens: 100, completion_tokens: 5 };

const anthropicAnswer = (stop_reason: string) => ({
  document: { content: [], stop_reason, usage: { input_tokens: 100, output_tokens: 5 } },
  events: [
    { type: 'message_start', message: { stop_reason: null, usage: { input_tokens: 100, output_tokens: 1 } } },
    { type: 'content_block_delta', delta: { type: 'text_delta', text: 'usage' } },
    { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 5 } },
  ],
});

const chatCall = { id: 'c', type: 'function', function: { name: 'shell', arguments: '{}' } };
const chatAnswer = (finish_reason: string, tool_calls?: readonly object[]) => ({
  document: { choices: [{ message: { role: 'assistant', content: 'x', tool_calls }, finish_reason }], usage: USAGE },
  events: [
    { choices: [{ delta: { content: 'x' }, finish_reason: null }] },
    ...(tool_calls ? [{ choices: [{ delta: { tool_calls }, finish_reason: null }] }] : []),
    { choices: [{ delta: {}, finish_reason }] },
    { choices: [], usage: USAGE },
  ],
});

const responsesAnswer = (status: string, ...output: readonly object[]) => {
  const response = { id: 'r', status, output, usage: { input_tokens: 100, output_tokens: 5 } };
  return {
    document: response,
    events: [
      { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [], usage: null } },
      ...output.map((item) => ({ type: 'response.output_item.done', item })),
      // Some servers do not repeat the items here.
      { type: `response.${status}`, response: { ...response, output: [] } },
    ],
  };
};

const geminiAnswer = (finishReason: string, ...parts: readonly object[]) => {
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 5 };
  return {
    document: { candidates: [{ content: { parts }, finishReason }], usageMetadata },
    events: [
      ...parts.map((part) => ({ candidates: [{ content: { parts: [part] } }], usageMetadata })),
      { candidates: [{ content: { parts: [{ text: '' }] }, finishReason }], usageMetadata },
    ],
  };
};

const ollamaAnswer = (done_reason: string, tool_calls?: readonly object[]) => {
  const counts = { prompt_eval_count: 100, eval_count: 5 };
  const message = { role: 'assistant', content: 'x', ...(tool_calls ? { tool_calls } : {}) };
  return {
    document: { message, done: true, done_reason, ...counts },
    events: [
      { message, done: false },
      { message: { role: 'assistant', content: '' }, done: true, done_reason, ...counts },
    ],
  };
};

const styles: Readonly<Record<string, Style>> = {
  anthropic: {
    path: '/v1/messages',
    body: (steps) => ({
      model: 'claude-sonnet-5',
      max_tokens: 100,
      messages: [
        { role: 'user', content: TASK },
        ...steps.flatMap(({ tool, args, result, isError }, i) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: tool, input: args }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: `t${i}`, content: result, is_error: isError }],
          },
        ]),
      ],
    }),
    answers: {
      final: anthropicAnswer('end_turn'),
      call: anthropicAnswer('tool_use'),
      cut: anthropicAnswer('max_tokens'),
    },
    hasErrors: true,
  },
  'openai-chat': {
    path: '/v1/chat/completions',
    body: (steps) => ({
      model: 'gpt-5',
      messages: [
        { role: 'user', content: TASK },
        ...steps.flatMap(({ tool, args, result }, i) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: `t${i}`, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } }],
          },
          { role: 'tool', tool_call_id: `t${i}`, content: result },
        ]),
      ],
    }),
    // Some servers say `stop` where there are calls.
    answers: { final: chatAnswer('stop'), call: chatAnswer('stop', [chatCall]), cut: chatAnswer('length') },
    hasErrors: false,
  },
  'openai-responses': {
    path: '/v1/responses',
    body: (steps) => ({
      model: 'gpt-5',
      input: [
        { role: 'user', content: TASK },
        ...steps.flatMap(({ tool, args, result, isError }, i) => [
          { type: 'function_call', call_id: `t${i}`, name: tool, arguments: JSON.stringify(args) },
          {
            type: 'function_call_output',
            call_id: `t${i}`,
            output: result,
            ...(isError ? { status: 'incomplete' } : {}),
          },
        ]),
      ],
    }),
    answers: {
      final: responsesAnswer('completed', { type: 'web_search_call', id: 'w' }, { type: 'message', content: [] }),
      call: responsesAnswer('completed', { type: 'function_call', call_id: 'c', name: 'shell', arguments: '{}' }),
      cut: responsesAnswer('incomplete', { type: 'message', content: [] }),
    },
    hasErrors: true,
  },
  gemini: {
    path: '/v1beta/models/gemini-3-pro:generateContent',
    body: (steps) => ({
      contents: [
        { role: 'user', parts: [{ text: TASK }] },
        ...steps.flatMap(({ tool, args, result, isError }) => [
          { role: 'model', parts: [{ functionCall: { name: tool, args } }] },
          {
            role: 'user',
            parts: [{ functionResponse: { name: tool, response: isError ? { error: result } : { output: result } } }],
          },
        ]),
      ],
    }),
    answers: {
      final: geminiAnswer('STOP', { text: 'Done.' }),
      call: geminiAnswer('STOP', { functionCall: { name: 'shell', args: {} } }),
      cut: geminiAnswer('MAX_TOKENS', { text: 'Do' }),
    },
    hasErrors: true,
  },
  ollama: {
    path: '/api/chat',
    body: (steps) => ({
      model: 'llama',
      messages: [
        { role: 'user', content: TASK },
        ...steps.flatMap(({ tool, args, result }) => [
          { role: 'assistant', content: '', tool_calls: [{ function: { name: tool, arguments: args } }] },
          { role: 'tool', tool_name: tool, content: result },
        ]),
      ],
    }),
    answers: {
      final: ollamaAnswer('stop'),
      call: ollamaAnswer('stop', [{ function: { name: 'shell', arguments: {} } }]),
      cut: ollamaAnswer('length'),
    },
    hasErrors: false,
  },
};

const shell = (command: string, result = 'fine', more: Partial<Step> = {}): Step => ({
  ...{ tool: 'shell', args: { command }, result },
  ...more,
});

/** What the upstream answers next, as JSON or as a stream. */
let answer: { readonly status?: number; readonly type: string; readonly body: string };
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream((_request, response) => {
    response.writeHead(answer.status ?? 200, { 'content-type': answer.type }).end(answer.body);
  });
});
afterAll(async () => {
  await upstream.close();
});

const asDocument = (value: object): typeof answer => ({ type: 'application/json', body: JSON.stringify(value) });
const asStream = (style: Style, events: readonly object[]): typeof answer =>
  style === styles.ollama
    ? { type: 'application/x-ndjson', body: events.map((event) => `${JSON.stringify(event)}\n`).join('') }
    : {
        type: 'text/event-stream',
        body: events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join(''),
      };

async function post(gateway: Pick<Started, 'url'>, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-one' };
  await (await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).arrayBuffer();
}

/** Sends requests through a gateway of their own, and gives their records in order. */
async function recordsOf(
  send: (gateway: Started) => Promise<void>,
  options: Parameters<typeof startGateway>[1] = {},
): Promise<RequestRecord[]> {
  const store = createMemoryStore();
  const gateway = await startGateway(upstream.url, { store, ...options });
  await send(gateway);
  await gateway.close();
  return allIn(store);
}

async function allIn(store: Store): Promise<RequestRecord[]> {
  const all = await collect(store.records?.() as AsyncIterable<RequestRecord>);
  return all.sort((a, b) => Number(a.id.split('-').at(-1)) - Number(b.id.split('-').at(-1)));
}

const signsIn = (records: readonly RequestRecord[]) =>
  records.map(({ signs: { results, failed, repeated, recalls } }) => [results, failed, repeated, recalls]);

describe.each(Object.entries(styles))('the signs of harm in requests to %s', (api, style) => {
  const send = (gateway: Started, steps: readonly Step[]) => post(gateway, style.path, style.body(steps));

  it('count new results, failed ones, repeated calls and recalls, each once', async () => {
    answer = asDocument(style.answers.call.document);
    const recall = { tool: 'mcp__palimpsest__recall', args: { handle: 'p_a' }, result: 'exit code: 2 it said' };
    const steps = [
      shell('ls'),
      shell('npm test', 'FAIL src/app.test.ts\nexit code: 1'),
      shell('npm test', 'FAIL again\nexit code: 1'),
      recall,
      shell('ls -l', 'not there', { isError: true }),
      shell('ls'),
    ];
    const records = await recordsOf(async (gateway) => {
      for (let count = 0; count <= steps.length; count++) await send(gateway, steps.slice(0, count));
    });
    expect(records.map(({ api: name, status, session }) => [name, status, session.length > 10])).toEqual(
      Array(7).fill([api, 200, true]),
    );
    expect(new Set(records.map(({ conversation }) => conversation)).size).toBe(1);
    expect(signsIn(records)).toEqual([
      [0, 0, 0, 0],
      [1, 0, 0, 0],
      [1, 1, 0, 0],
      [1, 1, 1, 0],
      [1, 0, 0, 1],
      [1, style.hasErrors ? 1 : 0, 0, 0],
      [1, 0, 1, 0],
    ]);
  });

  it('tell from an answer whether it was the last word', async () => {
    const { final, call, cut } = style.answers;
    const records = await recordsOf(async (gateway) => {
      for (const one of [final, call, cut])
        for (const next of [asDocument(one.document), asStream(style, one.events)]) {
          answer = next;
          await send(gateway, [shell('ls')]);
        }
      answer = asStream(style, final.events.slice(0, 1));
      await send(gateway, [shell('ls')]);
      answer = { ...asDocument({ error: { message: 'no' } }), status: 400 };
      await send(gateway, [shell('ls')]);
    });
    expect(records.map(({ signs }) => signs.isFinal)).toEqual([
      ...[true, true, false, false, false, false],
      ...[undefined, undefined],
    ]);
    expect(records.slice(0, 6).map(({ billed }) => billed)).toEqual(
      Array(6).fill({ cached: 0, written: 100, output: 5 }),
    );
    expect(records.slice(6).map(({ status, billed }) => [status, billed?.output])).toEqual([
      [200, api === 'anthropic' ? 1 : api === 'gemini' ? 5 : undefined],
      [400, undefined],
    ]);
  });
});

describe('a result', () => {
  const style = styles.anthropic as Style;
  const steps = [shell('a'), shell('b', 'exit code: 1'), shell('b')];
  const send = (gateway: Started, count: number) => post(gateway, style.path, style.body(steps.slice(0, count)));

  it('is counted once however often a client sends the request again', async () => {
    const records = await recordsOf(async (gateway) => {
      answer = { ...asDocument({}), status: 529 };
      await send(gateway, 2);
      answer = asDocument(style.answers.call.document);
      await send(gateway, 2);
      await send(gateway, 3);
      // Late: a longer request was sent before it.
      await send(gateway, 2);
      await send(gateway, 3);
    });
    expect(signsIn(records)).toEqual([
      [1, 1, 0, 0],
      [0, 0, 0, 0],
      [1, 0, 1, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
  });

  it('of turns that went past this gateway is not counted where others may have counted it', async () => {
    answer = asDocument(style.answers.call.document);
    const skipped = async (gateway: Started): Promise<void> => {
      await send(gateway, 1);
      await send(gateway, 3);
    };
    expect(signsIn(await recordsOf(skipped))[1]).toEqual([2, 1, 1, 0]);
    expect(signsIn(await recordsOf(skipped, { isStoreShared: true }))[1]).toEqual([1, 0, 1, 0]);
  });

  it('of before the first request that a gateway sees is not new', async () => {
    answer = asDocument(style.answers.call.document);
    expect(signsIn(await recordsOf((gateway) => send(gateway, 3)))).toEqual([[1, 0, 1, 0]]);
  });

  it('of several calls in one reply is counted for each of them', async () => {
    answer = asDocument(style.answers.call.document);
    const blocks = (type: 'use' | 'result') =>
      ['x', 'y', 'x'].map((command, i) =>
        type === 'use'
          ? { type: 'tool_use', id: `t${i}`, name: 'shell', input: { command } }
          : { type: 'tool_result', tool_use_id: `t${i}`, content: 'fine', is_error: i === 1 },
      );
    const messages = [
      { role: 'user', content: TASK },
      { role: 'assistant', content: blocks('use') },
      { role: 'user', content: blocks('result') },
    ];
    const records = await recordsOf((gateway) => post(gateway, style.path, { model: 'm', max_tokens: 1, messages }));
    expect(signsIn(records)).toEqual([[3, 1, 1, 0]]);
  });
});

describe('a request that is not read', () => {
  it('has a record with its usage, and no signs', async () => {
    answer = asDocument((styles['openai-responses'] as Style).answers.final.document);
    const records = await recordsOf(async (gateway) => {
      await post(gateway, '/v1/responses', {
        model: 'gpt-5',
        previous_response_id: 'r',
        input: [{ role: 'user', content: 'x' }],
      });
      await post(gateway, '/v1/responses', { model: 'gpt-5', input: 'Hello' });
      await post(gateway, '/v1/responses', { model: 'gpt-5', input: [{ role: 'user', content: 'Hello' }] });
      await post(gateway, '/v1/messages/count_tokens', { model: 'claude', messages: [] });
      await post(gateway, '/v1/models', {});
    });
    expect(records.map(({ act, conversation }) => [act, conversation === 'unread'])).toEqual([
      ['pass-through', true],
      ['pass-through', true],
      ['wait', false],
    ]);
    for (const { billed, signs } of records)
      expect([billed, signs]).toEqual([
        { cached: 0, written: 100, output: 5 },
        { results: 0, failed: 0, repeated: 0, recalls: 0, isFinal: true },
      ]);
  });
});
