import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createAnthropic } from '@ai-sdk/anthropic';
import { Agent, type AgentConfig, MessageList } from '@mastra/core/agent';
import { ModelRouterLanguageModel } from '@mastra/core/llm';
import type { MockMemory } from '@mastra/core/memory';
import { TokenLimiterProcessor, ToolCallFilter } from '@mastra/core/processors';
import { RequestContext } from '@mastra/core/request-context';
import { createTool } from '@mastra/core/tools';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { palimpsest } from '../../src/adapters/mastra/index.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { ScriptedReply, SentRequest } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { scriptedModel } from './ai-sdk-driver.ts';
import { createMemory } from './mastra-driver.ts';

const policy = slidingWindow({ turns: 2 });
const done = (): ScriptedReply => ({ text: 'Done.' });

/** Reads a file of so many turns, then is done. */
const reading =
  (turns: number) =>
  (turn: number): ScriptedReply =>
    turn < turns ? { calls: [{ id: `call_${turn}`, tool: 'read', input: { path: `file ${turn}` } }] } : done();

const read = createTool({
  id: 'read',
  description: 'Reads a file.',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => `line of ${path}\n`.repeat(100),
});

interface Started {
  readonly agent: Agent;
  readonly requests: SentRequest[];
}

/** An agent with a scripted model, and the requests that the model got. */
function start(settings: Partial<AgentConfig>, reply: (turn: number) => ScriptedReply): Started {
  const requests: SentRequest[] = [];
  const model = scriptedModel(7, { model: (request) => reply(requests.push(request) - 1) });
  const agent = new Agent({
    id: 'agent',
    name: 'Agent',
    instructions: 'You work on files.',
    model: model as unknown as AgentConfig['model'],
    tools: { read },
    ...settings,
  } as AgentConfig);
  return { agent, requests };
}

const run = { maxSteps: 100, modelSettings: { maxRetries: 0 } };
const inThread = (thread: string) => ({ ...run, memory: { thread, resource: 'user' } });
const masksIn = (value: unknown): number => JSON.stringify(value).match(/\b100 lines\b/g)?.length ?? 0;
const stored = async (memory: MockMemory, threadId: string) =>
  (await memory.recall({ threadId, resourceId: 'user', perPage: false })).messages;

describe('an agent of Mastra with a memory', () => {
  it('is masked alike by another process, and its memory has the originals', async () => {
    const [memory, store] = [createMemory(), createMemoryStore()];
    const started = () => start({ memory, inputProcessors: [palimpsest({ store, policy })] }, reading(6));
    const [first, second] = [started(), started()];
    await first.agent.generate('Go.', inThread('t'));
    const messages = await stored(memory, 't');
    expect(masksIn(messages)).toBe(0);
    for (let turn = 0; turn < 6; turn++) expect(JSON.stringify(messages)).toContain(`line of file ${turn}\\n`);

    await second.agent.generate('Go on.', inThread('t'));
    const [before = [], after = []] = [first.requests.at(-1), second.requests[0]].map((request) => request?.messages);
    expect(masksIn(before)).toBe(4);
    expect(masksIn(after)).toBeGreaterThan(3);
    const results = (prompt: readonly unknown[]) => prompt.filter((message) => masksIn(message) > 0);
    expect(results(after).slice(0, 4)).toEqual(results(before));
  });

  it('is known by its thread, whatever the id looks like', async () => {
    const sessions = new Set<string | undefined>();
    const store = createMemoryStore();
    const onReport = (_report: Report, { session }: { session?: string }) => void sessions.add(session);
    const inputProcessors = [palimpsest({ store, policy, onReport })];
    for (const thread of ['chat-1', 'user:42', 'user/42'])
      await start({ memory: createMemory(), inputProcessors }, reading(6)).agent.generate('Go.', inThread(thread));
    expect(sessions.size).toBe(3);
    expect([...sessions][0]).toBe('chat-1');
    for (const session of sessions) {
      const texts: string[] = [];
      for await (const { text: found } of store.list(session ?? '')) texts.push(found);
      expect(texts.length).toBeGreaterThan(3);
    }
  });

  it('ends the run with an error if the store fails, and goes on when it works again', async () => {
    const [memory, store] = [createMemory(), createMemoryStore()];
    const { putMany } = store;
    store.putMany = () => Promise.reject(new Error('disk full'));
    const { agent, requests } = start({ memory, inputProcessors: [palimpsest({ store, policy })] }, reading(6));
    await expect(agent.generate('Go.', inThread('t'))).rejects.toThrow('disk full');
    expect(requests.length).toBeGreaterThan(1);
    expect(masksIn(requests)).toBe(0);
    store.putMany = putMany;
    await agent.generate('Go on.', inThread('t'));
    expect(masksIn(requests.at(-1))).toBeGreaterThan(0);
  });
});

describe('an agent of Mastra', () => {
  it('needs no memory: a function finds the session', async () => {
    const sessions = new Set<string | undefined>();
    const processor = palimpsest({
      session: ({ requestContext }) => requestContext?.get('chat') as string,
      onReport: (_report, { session }) => void sessions.add(session),
    });
    const { agent } = start({ inputProcessors: [processor] }, done);
    const requestContext = new RequestContext([['chat', 'c1']]);
    await agent.generate('Go.', { ...run, requestContext });
    expect([...sessions]).toEqual(['c1']);
  });

  it('has its instructions and its active tools counted, with schemas as they are sent', async () => {
    const sizeWith = async (words: string, door: 'instructions' | 'schema' | 'inactive'): Promise<number> => {
      const sizes: number[] = [];
      const inputSchema = z.object({ path: z.string().describe(door === 'instructions' ? '' : words) });
      const other = createTool({ id: 'other', description: 'Another.', inputSchema, execute: async () => '' });
      const onReport = ({ tokens }: Report) => void sizes.push(tokens.before);
      const { agent } = start(
        {
          ...(door === 'instructions' ? { instructions: words } : {}),
          tools: { read, other },
          inputProcessors: [palimpsest({ onReport })],
        },
        done,
      );
      await agent.generate('Go.', { ...run, ...(door === 'inactive' ? { activeTools: ['read'] } : {}) });
      return sizes[0] ?? 0;
    };
    const [long, short] = ['word '.repeat(1001), 'word'];
    for (const door of ['instructions', 'schema'] as const) {
      const more = (await sizeWith(long, door)) - (await sizeWith(short, door));
      expect(more).toBeGreaterThan(900);
      expect(more).toBeLessThan(1500);
    }
    expect(await sizeWith(long, 'inactive')).toBe(await sizeWith(short, 'inactive'));
  });

  it('counts what processors before it leave, and those after it get the fitted prompt', async () => {
    const sizes: number[] = [];
    const onReport = ({ tokens }: Report) => void sizes.push(tokens.before);
    const filtered = start({ inputProcessors: [new ToolCallFilter(), palimpsest({ onReport })] }, reading(0));
    const history = new MessageList().add(
      Array.from({ length: 6 }, (_, i) => [
        {
          role: 'assistant' as const,
          content: [{ type: 'tool-call' as const, toolCallId: `old_${i}`, toolName: 'read', input: { path: 'x' } }],
        },
        {
          role: 'tool' as const,
          content: [
            {
              type: 'tool-result' as const,
              toolCallId: `old_${i}`,
              toolName: 'read',
              output: { type: 'text' as const, value: 'line of x\n'.repeat(100) },
            },
          ],
        },
      ]).flat(),
      'memory',
    );
    const messages = history.get.all.aiV5.model();
    await filtered.agent.generate([...messages, { role: 'user', content: 'Go.' }], run);
    expect(masksIn(filtered.requests)).toBe(0);
    expect(JSON.stringify(filtered.requests)).not.toContain('line of x');
    expect(sizes[0]).toBeLessThan(300);

    const limit = new TokenLimiterProcessor(2500);
    const processor = palimpsest({ store: createMemoryStore(), policy });
    const limited = start({ inputProcessors: [processor, limit] }, reading(20));
    await limited.agent.generate('Go.', run);
    expect(limited.requests).toHaveLength(21);
    expect(masksIn(limited.requests.at(-1))).toBe(18);
  });
});

describe('the tool recall of Mastra', () => {
  const ask = async (input: Readonly<Record<string, unknown>>, store = createMemoryStore()): Promise<string> => {
    const { agent, requests } = start({ tools: palimpsest.tools({ store }) }, (turn) =>
      turn === 0 ? { calls: [{ id: 'call_1', tool: 'recall', input }] } : done(),
    );
    await agent.generate('Go.', run);
    return JSON.stringify(requests[1]?.messages);
  };

  it('gives an image back as an image', async () => {
    const store = createMemoryStore();
    const image = { type: 'media', data: PNG, mediaType: 'image/png' };
    const handle = await store.put(JSON.stringify({ type: 'content', value: [image] }), { session: 's' });
    expect(await ask({ handle }, store)).toMatch(
      /"output":\{"type":"content","value":\[\{"type":"text".*"mediaType":"image\/png"/,
    );
  });

  it('takes an argument that is null for one that is not given', async () => {
    const store = createMemoryStore();
    const handle = await store.put('one\ntwo', { session: 's' });
    expect(await ask({ handle, head: null, grep: null, all: null }, store)).toContain('two');
  });

  it('tells the model of a wrong argument as an error', async () => {
    expect(await ask({ handel: 1 })).toMatch(/error-text.*did you mean handle\?/);
  });
});

describe('requests of Mastra to Anthropic', () => {
  /** Six turns, each with signed thinking. */
  const history = [1, 2, 3, 4, 5, 6].flatMap((turn) => {
    const call = { toolCallId: `call_${turn}`, toolName: 'read' };
    const providerOptions = { anthropic: { signature: `signature ${turn}` } };
    const output = { type: 'text' as const, value: `line of ${turn}\n`.repeat(100) };
    return [
      {
        role: 'assistant' as const,
        content: [
          { type: 'reasoning' as const, text: `Thought ${turn}.`, providerOptions },
          { type: 'tool-call' as const, ...call, input: {} },
        ],
      },
      { role: 'tool' as const, content: [{ type: 'tool-result' as const, ...call, output }] },
    ];
  });

  interface Received {
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
  }

  /** The request that goes out. The answer does not matter here. */
  async function ask(modelAt: (baseURL: string) => unknown, anthropic: object, messages = history): Promise<Received> {
    const received: Received[] = [];
    const server = createServer(async (request, response) => {
      received.push({ headers: request.headers, body: await text(request) });
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"read"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const model = modelAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`) as AgentConfig['model'];
    const inputProcessors = [palimpsest({ store: createMemoryStore(), policy })];
    const { agent } = start({ model, inputProcessors }, done);
    const providerOptions = { anthropic: anthropic as never };
    await agent
      .generate([{ role: 'user', content: 'Go.' }, ...messages], { ...run, providerOptions })
      .catch(() => undefined);
    server.close();
    const [request] = received;
    if (!request) throw new Error('No request.');
    return request;
  }
  const direct = (baseURL: string) => createAnthropic({ baseURL, apiKey: 'none' })('claude-opus-5-5');
  const optIn = 'thinking-binding-controls-2026-08-01';

  it('opt into dropping thinking blocks where there are some, and have masks before them', async () => {
    const { headers, body } = await ask(direct, { thinking: { type: 'adaptive' } });
    expect(JSON.parse(body).thinking).toMatchObject({ block_binding: { prefix_mismatch_behavior: 'drop_block' } });
    expect(headers['anthropic-beta']).toContain(optIn);
    expect(masksIn(body)).toBe(4);
  });

  it('opt into nothing without thinking', async () => {
    const { headers, body } = await ask(direct, { thinking: { type: 'adaptive' } }, []);
    expect(JSON.parse(body).thinking).not.toHaveProperty('block_binding');
    expect(headers['anthropic-beta'] ?? '').not.toContain(optIn);
  });

  it('have no masks before signed thinking where the SDK cannot opt in', async () => {
    const { body } = await ask(direct, { thinking: { type: 'enabled', budgetTokens: 1024 } });
    expect(body).not.toContain('block_binding');
    expect(masksIn(body)).toBe(0);
  });

  it('have no masks before signed thinking with a model by name, whose SDK inside Mastra cannot opt in', async () => {
    const byName = (baseURL: string) => {
      vi.stubEnv('ANTHROPIC_BASE_URL', baseURL);
      vi.stubEnv('ANTHROPIC_API_KEY', 'none');
      return new ModelRouterLanguageModel('anthropic/claude-opus-5-5');
    };
    const { body } = await ask(byName, {});
    vi.unstubAllEnvs();
    expect(body).toContain('Thought 1.');
    expect(body).not.toContain('block_binding');
    expect(masksIn(body)).toBe(0);
  });
});
