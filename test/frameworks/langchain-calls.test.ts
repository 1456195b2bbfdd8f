import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { createDeepAgent } from 'deepagents';
import { createAgent, initChatModel, toolStrategy } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { type LangChainOptions, palimpsest } from '../../src/adapters/langchain/index.ts';
import { OPT_IN } from '../../src/laws/bound-reasoning.ts';
import { hybrid } from '../../src/plan/policies/hybrid.ts';
import { never } from '../../src/plan/policies/never.ts';
import { polling, slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Policy } from '../../src/plan/policy.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { ScriptedReply, SentRequest } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { ScriptedModel } from './langchain-driver.ts';

const usage = { input_tokens: 1, output_tokens: 1 };
const ANSWER = JSON.stringify({
  ...{ type: 'message', id: 'msg_1', role: 'assistant', model: 'claude-opus-5-5', usage },
  ...{ content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', stop_sequence: null },
});
const OPENAI_ANSWER = JSON.stringify({
  ...{ object: 'response', id: 'resp_1', status: 'completed', model: 'gpt-5', error: null, usage },
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
    },
  ],
});

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server that answers every request alike, while some work is done. */
async function withServer(work: (url: string) => Promise<void>, answer = ANSWER): Promise<Received[]> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: JSON.parse(await text(request)) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
  return received;
}

interface Turn {
  readonly thinking?: boolean;
  readonly name?: string;
  readonly input?: Record<string, unknown>;
  readonly result?: object;
}

/** Six turns, each with a call and a result of 100 lines. */
function historyOf({ thinking = false, name = 'read', input = {}, result = {} }: Turn = {}, turns = 6): BaseMessage[] {
  return [
    new HumanMessage('Go.'),
    ...Array.from({ length: turns }, (_, i) => i + 1).flatMap((turn): BaseMessage[] => {
      const thought = { type: 'thinking', thinking: `Thought ${turn}.`, signature: `signature ${turn}` };
      const call = { id: `call_${turn}`, name };
      return [
        new AIMessage({
          content: [...(thinking ? [thought] : []), { type: 'tool_use', ...call, input }],
          tool_calls: [{ type: 'tool_call', ...call, args: input }],
        }),
        new ToolMessage({ tool_call_id: call.id, name, content: `line of ${turn}\n`.repeat(100), ...result }),
      ];
    }),
  ];
}

const masked = /read: 100 lines, [^"]* p_/;
const window = slidingWindow({ turns: 2 });

describe('requests to Anthropic', () => {
  const ask = async (thinking: { type: 'adaptive' } | undefined, policy: Policy): Promise<Received | undefined> => {
    const [request] = await withServer(async (anthropicApiUrl) => {
      const fields = { model: 'claude-opus-5-5', apiKey: 'none', anthropicApiUrl, betas: ['own-beta'] };
      const model = new ChatAnthropic({ ...fields, ...(thinking ? { thinking } : {}) });
      const before = { thinking: { ...model.thinking }, betas: [...(model.betas ?? [])] };
      const agent = createAgent({ model, middleware: [palimpsest({ store: createMemoryStore(), policy })] });
      await agent.invoke({ messages: historyOf({ thinking: true }) });
      expect({ thinking: model.thinking, betas: model.betas }).toEqual(before);
    });
    return request;
  };

  it('opt into dropping thinking blocks where a result before them is masked', async () => {
    const request = await ask({ type: 'adaptive' }, window);
    expect(request?.body.thinking).toEqual({
      type: 'adaptive',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    });
    expect(request?.headers['anthropic-beta']).toBe(`own-beta,${OPT_IN.headerValue}`);
    expect(JSON.stringify(request?.body)).toMatch(masked);
  });

  it('opt into nothing where nothing is masked', async () => {
    const request = await ask({ type: 'adaptive' }, never());
    expect(request?.body.thinking).toEqual({ type: 'adaptive' });
    expect(request?.headers['anthropic-beta']).toBe('own-beta');
  });

  it('have no masks before signed thinking where the model was not asked to think', async () => {
    const request = await ask(undefined, window);
    expect(request?.body).not.toHaveProperty('thinking');
    expect(JSON.stringify(request?.body)).not.toMatch(masked);
  });

  it('opt in where the agent was given a model by its name', async () => {
    const [request] = await withServer(async (anthropicApiUrl) => {
      const settings = { apiKey: 'none', anthropicApiUrl, thinking: { type: 'adaptive' } };
      const model = await initChatModel('anthropic:claude-opus-5-5', settings);
      const middleware = [palimpsest({ store: createMemoryStore(), policy: window })];
      await createAgent({ model, middleware }).invoke({ messages: historyOf({ thinking: true }) });
    });
    expect(request?.body.thinking).toHaveProperty('block_binding');
    expect(request?.headers['anthropic-beta']).toBe(OPT_IN.headerValue);
    expect(JSON.stringify(request?.body)).toMatch(masked);
  });

  it('opt in where settings are bound to the model, and keep those', async () => {
    const [request] = await withServer(async (anthropicApiUrl) => {
      const fields = { model: 'claude-opus-5-5', apiKey: 'none', anthropicApiUrl };
      const model = new ChatAnthropic({ ...fields, thinking: { type: 'adaptive' } }).withConfig({ stop: ['END'] });
      const middleware = [palimpsest({ store: createMemoryStore(), policy: window })];
      await createAgent({ model, middleware }).invoke({ messages: historyOf({ thinking: true }) });
    });
    expect(request?.body).toMatchObject({ stop_sequences: ['END'], thinking: { block_binding: {} } });
    expect(JSON.stringify(request?.body)).toMatch(masked);
  });

  it('of a chain have masks before signed thinking only where the model opts in by itself', async () => {
    const sentWith = async (thinking: object, betas: string[]): Promise<string> => {
      const [request] = await withServer(async (anthropicApiUrl) => {
        const fields = { model: 'claude-opus-5-5', apiKey: 'none', anthropicApiUrl, betas };
        const model = new ChatAnthropic({ ...fields, thinking: thinking as { type: 'adaptive' } });
        const fit = palimpsest.messages({ store: createMemoryStore(), policy: window });
        await model.invoke(await fit(historyOf({ thinking: true }), { model }));
      });
      return JSON.stringify(request?.body);
    };
    const block_binding = { prefix_mismatch_behavior: 'drop_block' };
    expect(await sentWith({ type: 'adaptive' }, [])).not.toMatch(masked);
    expect(await sentWith({ type: 'adaptive', block_binding }, [])).not.toMatch(masked);
    expect(await sentWith({ type: 'adaptive', block_binding }, [OPT_IN.headerValue])).toMatch(masked);
  });
});

describe('a shortened call', () => {
  const oldText = 'const total = sum(values);\n'.repeat(20);
  const input = { path: 'a.ts', old_string: oldText, new_string: 'const total = 0;' };
  const policy = polling({ turns: 1, every: 5, oldTexts: true });
  const shortened = /old_string\\*":\\*"const total = [^"]*\[\d+ chars of old text left out\]/g;
  const invoke = async (model: ChatAnthropic | ChatOpenAI, history: BaseMessage[]) => {
    const agent = createAgent({ model, middleware: [palimpsest({ store: createMemoryStore(), policy })] });
    const { messages } = await agent.invoke({ messages: history });
    expect(JSON.stringify(messages)).not.toMatch(shortened);
  };

  it('is sent to Anthropic, where calls are blocks of the content', async () => {
    const [request] = await withServer((anthropicApiUrl) => {
      const model = new ChatAnthropic({ model: 'claude-sonnet-4-5', apiKey: 'none', anthropicApiUrl });
      return invoke(model, historyOf({ name: 'edit', input }));
    });
    expect(JSON.stringify(request?.body).match(shortened)).toHaveLength(2);
  });

  it('is sent to OpenAI, where calls are in the answer as it came', async () => {
    const history = historyOf({ name: 'edit', input });
    for (const message of history) {
      if (!AIMessage.isInstance(message)) continue;
      const call_id = message.tool_calls?.[0]?.id;
      const call = {
        type: 'function_call',
        id: `fc_${call_id}`,
        call_id,
        name: 'edit',
        arguments: JSON.stringify(input),
      };
      Object.assign(message, { content: '', response_metadata: { model_provider: 'openai', output: [call] } });
    }
    const [request] = await withServer((url) => {
      const fields = { model: 'gpt-5', apiKey: 'none', useResponsesApi: true };
      return invoke(new ChatOpenAI({ ...fields, configuration: { baseURL: url } }), history);
    }, OPENAI_ANSWER);
    expect(JSON.stringify(request?.body).match(shortened)).toHaveLength(2);
  });
});

/** A model that makes these replies, then none; and the requests that it gets. */
function scripted(...replies: ScriptedReply[]) {
  const requests: SentRequest[] = [];
  const model = new ScriptedModel({
    model: (request) => {
      requests.push(request);
      return replies[requests.length - 1] ?? { text: 'Done.' };
    },
  });
  const last = (): readonly BaseMessage[] => requests.at(-1)?.messages as BaseMessage[];
  return { model, requests, last };
}

describe('messages that a model gets', () => {
  it('are instances of the same classes, with all that is beside the content', async () => {
    const { model, last } = scripted();
    const result = {
      ...{ status: 'error', artifact: { rows: 3 }, response_metadata: { a: 1 } },
      ...{ additional_kwargs: { b: 2 }, metadata: { c: 3 } },
    };
    const messages = historyOf({ result });
    for (const [i, message] of messages.entries()) message.id = `m${i}`;
    const middleware = [palimpsest({ store: createMemoryStore(), policy: window })];
    await createAgent({ model, middleware }).invoke({ messages });
    const sent = last().filter((message) => ToolMessage.isInstance(message));
    expect(sent).toHaveLength(6);
    expect(sent[0]).toBeInstanceOf(ToolMessage);
    expect(sent[0]?.text).toMatch(/^\[read failed: /);
    expect(sent[0]).toMatchObject({ ...result, id: 'm2', tool_call_id: 'call_1', name: 'read' });
    expect(sent[0]?.toDict().data).toEqual({ ...messages[2]?.toDict().data, content: sent[0]?.text });
    expect(JSON.stringify(sent[0])).not.toContain('line of 1\\nline of 1');
  });

  it('are instances where a notice is put before a list without words of a user', async () => {
    const fit = palimpsest.messages({ policy: never(), maxTokens: 1000, model: 'gpt-5' });
    const [, ...messages] = historyOf({}, 20);
    const fitted = await fit([new SystemMessage('Be brief.'), ...messages]);
    expect(fitted.filter((message) => HumanMessage.isInstance(message))).toHaveLength(1);
    expect(fitted.every((message) => message instanceof HumanMessage || message.getType() !== 'human')).toBe(true);
    expect(fitted.length).toBeLessThan(messages.length);
  });

  it('do not begin with a result whose call was dropped', async () => {
    const fit = palimpsest.messages({ policy: never(), maxTokens: 1000, model: 'gpt-5' });
    const types = (await fit(historyOf({}, 20))).map((message) => message.getType());
    expect(types.length).toBeLessThan(41);
    for (const [i, type] of types.entries()) if (type === 'tool') expect(types[i - 1]).toBe('ai');
  });

  it('are masked in steps, not one more result with every request', async () => {
    const { model, requests } = scripted(...Array.from({ length: 9 }, (_, i) => callOf(`step_${i}`)));
    const read = tool(() => 'line\n'.repeat(100), { name: 'read', description: 'Reads.', schema: z.object({}) });
    const middleware = [palimpsest({ policy: polling({ turns: 3, every: 5 }) })];
    await createAgent({ model, tools: [read], middleware }).invoke({ messages: historyOf() });
    const counts = requests.map(({ messages }) => JSON.stringify(messages).match(/\[read: /g)?.length ?? 0);
    expect(counts).toHaveLength(10);
    expect(new Set(counts).size).toBeLessThanOrEqual(3);
  });
});

const callOf = (id: string, name = 'read', input = {}): ScriptedReply => ({ calls: [{ id, tool: name, input }] });

describe('sizes', () => {
  const sizeOf = async (options: Partial<Parameters<typeof createAgent>[0]>, messages = historyOf({}, 1)) => {
    const reports: Report[] = [];
    const middleware = [palimpsest({ onReport: (report) => void reports.push(report) })];
    await createAgent({ ...options, model: scripted().model, middleware }).invoke({ messages });
    return reports[0]?.tokens.before ?? 0;
  };
  const words = 'word '.repeat(1000);
  const close = { min: 900, max: 1500 };
  const expectClose = (tokens: number) => expect(tokens > close.min && tokens < close.max).toBe(true);

  it.each([
    ['zod 4', z.object({ path: z.string().describe(words) })],
    ['zod 3', z3.object({ path: z3.string().describe(words) })],
  ])('a schema of %s counts as the JSON schema that is sent', async (_, schema) => {
    const read = tool(() => '', { name: 'read', description: 'Reads.', schema: schema as z.ZodObject });
    expectClose((await sizeOf({ tools: [read] })) - (await sizeOf({})));
  });

  it('the system prompt counts', async () => {
    expectClose((await sizeOf({ systemPrompt: words })) - (await sizeOf({})));
  });

  it('thinking counts, and an image by its pixels', async () => {
    const thinking = [{ type: 'thinking', thinking: words, signature: 's' }];
    const base = historyOf({}, 1);
    expectClose((await sizeOf({}, [...base, new AIMessage({ content: thinking })])) - (await sizeOf({}, base)));
    const image = { type: 'image', source_type: 'base64', mime_type: 'image/png', data: PNG };
    const more =
      (await sizeOf({}, historyOf({ result: { content: [image] } }, 1))) -
      (await sizeOf({}, historyOf({ result: { content: '' } }, 1)));
    expect(more > 100 && more < 900).toBe(true);
  });
});

describe('an agent', () => {
  it('has the tool recall, unless there is no store or recall is off', async () => {
    const toolsWith = async (options: LangChainOptions): Promise<readonly string[] | undefined> => {
      const { model, requests } = scripted();
      await createAgent({ model, middleware: [palimpsest(options)] }).invoke({ messages: historyOf() });
      return requests[0]?.tools;
    };
    const store = createMemoryStore();
    expect(await toolsWith({ store })).toEqual(['recall']);
    expect(await toolsWith({ store, recall: false })).toEqual([]);
    expect(await toolsWith({})).toEqual([]);
  });

  it('keeps its whole state where a summary fails, and no error is sent as one', async () => {
    const { model, requests } = scripted();
    const summarize = () => Promise.reject(new Error('no model'));
    const policy = hybrid({ window: 2, summarizeEvery: 5, summarize });
    const checkpointer = new MemorySaver();
    const agent = createAgent({
      model,
      checkpointer,
      middleware: [palimpsest({ store: createMemoryStore(), policy })],
    });
    const config = { configurable: { thread_id: 't1' } };
    await agent.invoke({ messages: historyOf({}, 12) }, config);
    const sent = JSON.stringify(requests[0]?.messages);
    expect(sent).not.toMatch(/no model|Error generating/);
    expect(requests[0]?.messages.length).toBeLessThan(25);
    const { values } = await agent.graph.getState(config);
    expect(values.messages).toHaveLength(26);
    expect(JSON.stringify(values.messages)).toContain('line of 1\\nline of 1');
  });

  it('with a response format answers in it', async () => {
    const schema = z.object({ files: z.number() });
    const { model, last } = scripted(callOf('call_x', 'extract-1', { files: 6 }));
    const options = { model, responseFormat: toolStrategy(schema), middleware: [palimpsest({ policy: window })] };
    const { structuredResponse } = await createAgent(options).invoke({ messages: historyOf() });
    expect(JSON.stringify(last())).toContain('omitted');
    expect(structuredResponse).toEqual({ files: 6 });
  });

  it('tells the option session of the config and the context of the run', async () => {
    const sessions: unknown[] = [];
    const session: LangChainOptions['session'] = ({ configurable, context }) =>
      `${configurable?.user}-${(context as { chat: string }).chat}`;
    const onReport: LangChainOptions['onReport'] = (_report, about) => void sessions.push(about.session);
    const middleware = [palimpsest({ session, onReport })];
    const contextSchema = z.object({ chat: z.string() });
    const agent = createAgent({ model: scripted().model, contextSchema, middleware });
    await agent.invoke({ messages: historyOf() }, { configurable: { user: 'u1' }, context: { chat: 'c1' } });
    expect(sessions).toEqual(['u1-c1']);
  });

  it('takes a thread with any id', async () => {
    const sessions: unknown[] = [];
    const onReport: LangChainOptions['onReport'] = (_report, about) => void sessions.push(about.session);
    const middleware = [palimpsest({ store: createMemoryStore(), policy: window, onReport })];
    const agent = createAgent({ model: scripted().model, middleware });
    await agent.invoke({ messages: historyOf() }, { configurable: { thread_id: 'user:42' } });
    expect(sessions).toEqual([expect.stringMatching(/^user_42-/)]);
  });

  it('has another session than its sub-agents', async () => {
    const sessions: unknown[] = [];
    const onReport: LangChainOptions['onReport'] = (_report, about) => void sessions.push(about.session);
    const context = () => palimpsest({ onReport });
    const { model } = scripted(callOf('call_1', 'task', { description: 'Look.', subagent_type: 'looker' }));
    const looker = { name: 'looker', description: 'Looks.', systemPrompt: 'Look.', middleware: [context()] };
    const agent = createDeepAgent({ model, middleware: [context()], subagents: [looker] });
    await agent.invoke({ messages: historyOf() }, { configurable: { thread_id: 't1' } });
    expect(sessions).toEqual(['t1', expect.stringMatching(/^t1_[\w-]{36}$/), 't1']);
  });

  it('does not pass the middleware on to its sub-agents', async () => {
    const reports: Report[] = [];
    const { model, requests } = scripted(callOf('call_1', 'task', { description: 'Look.', subagent_type: 'looker' }));
    const looker = { name: 'looker', description: 'Looks.', systemPrompt: 'Look.' };
    const middleware = [palimpsest({ onReport: (report) => void reports.push(report) })];
    const agent = createDeepAgent({ model, middleware, subagents: [looker] });
    await agent.invoke({ messages: historyOf() }, { configurable: { thread_id: 't1' } });
    expect([requests.length, reports.length]).toEqual([3, 2]);
  });
});

describe('recall', () => {
  const answerTo = async (input: Record<string, unknown>, store = createMemoryStore()): Promise<ToolMessage> => {
    const { model, last } = scripted(callOf('call_1', 'recall', input));
    await createAgent({ model, middleware: [palimpsest({ store })] }).invoke({ messages: [new HumanMessage('Go.')] });
    return last().at(-1) as ToolMessage;
  };

  it('gives an image as an image', async () => {
    const store = createMemoryStore();
    const blocks = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }];
    const handle = await store.put(JSON.stringify(blocks), { session: 's' });
    const { content, status } = await answerTo({ handle }, store);
    expect(status).toBe('success');
    expect(content).toEqual([{ type: 'text', text: expect.stringContaining('[image 1: image/png]') }, ...blocks]);
  });

  it('tells the model which argument is wrong', async () => {
    const { text: told, status } = await answerTo({ handel: 1 });
    expect(status).toBe('error');
    expect(told).toMatch(/required property "handle"/);
  });

  it('of an unknown handle is an error that the model reads, also in a deep agent', async () => {
    const handle = `p_${'a'.repeat(26)}`;
    expect(await answerTo({ handle })).toMatchObject({ status: 'error', content: expect.stringContaining(handle) });
    const { model, last } = scripted(callOf('call_1', 'recall', { handle }));
    const agent = createDeepAgent({ model, middleware: [palimpsest({ store: createMemoryStore() })] });
    await agent.invoke({ messages: [new HumanMessage('Go.')] });
    expect(last().at(-1)).toMatchObject({ status: 'error', content: expect.stringContaining(handle) });
  });
});

describe('palimpsest.messages', () => {
  it('is a step of a chain, and finds its thread in the config', async () => {
    const store = createMemoryStore();
    const { model, last } = scripted();
    const fit = palimpsest.messages({ store, policy: window });
    const chain = RunnableLambda.from(fit).pipe(model);
    await chain.invoke(historyOf(), { configurable: { thread_id: 't1' } });
    expect(JSON.stringify(last())).toMatch(masked);
    const stored: string[] = [];
    for await (const { text: original } of store.list('t1')) stored.push(original);
    expect(stored).toHaveLength(4);
  });

  it('stops where the config has an aborted signal', async () => {
    const store = createMemoryStore();
    const fit = palimpsest.messages({ store, policy: window, session: 's' });
    await expect(fit(historyOf(), { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
    for await (const stored of store.list('s')) expect(stored).toBeUndefined();
  });

  it('changes nothing in the list that it is given', async () => {
    const messages = historyOf();
    const before = JSON.stringify(messages);
    const fitted = await palimpsest.messages({ policy: window })(messages);
    expect(JSON.stringify(messages)).toBe(before);
    expect(fitted.map((message, i) => message === messages[i])).toEqual(
      messages.map((_, i) => i % 2 === 1 || i === 0 || i > 8),
    );
  });
});
