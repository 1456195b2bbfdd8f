import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Agent, type AgentMessage, type AgentOptions, agentLoop } from '@earendil-works/pi-agent-core';
import { type AssistantMessage, fauxAssistantMessage, type Message, type Model } from '@earendil-works/pi-ai';
import { streamSimple } from '@earendil-works/pi-ai/api/anthropic-messages';
import { ANTHROPIC_MODELS } from '@earendil-works/pi-ai/providers/anthropic.models';
import { describe, expect, it, vi } from 'vitest';
import { palimpsest } from '../../src/adapters/pi/index.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { ScriptedReply, SentRequest } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { scriptedModel } from './pi-driver.ts';

const policy = slidingWindow({ turns: 2 });

/** Six turns with a long result each. */
const historyOf = (reply: Partial<AssistantMessage> = {}): AgentMessage[] => [
  { role: 'user', content: 'Go.', timestamp: 1 },
  ...[1, 2, 3, 4, 5, 6].flatMap((turn): AgentMessage[] => [
    {
      ...fauxAssistantMessage([
        { type: 'thinking', thinking: `Thought ${turn}.`, thinkingSignature: `signature ${turn}` },
        { type: 'toolCall', id: `call_${turn}`, name: 'read', arguments: {} },
      ]),
      ...{ stopReason: 'toolUse', timestamp: turn },
      ...reply,
    },
    {
      role: 'toolResult',
      toolCallId: `call_${turn}`,
      toolName: 'read',
      content: [{ type: 'text', text: `line of ${turn}\n`.repeat(100) }],
      isError: false,
      timestamp: turn,
    },
  ]),
];

interface Started {
  readonly agent: Agent;
  readonly requests: SentRequest[];
}

type Settings = Partial<Omit<AgentOptions, 'initialState'>> & Partial<NonNullable<AgentOptions['initialState']>>;

/** An agent with a scripted model, and the requests that the model got. */
function start({ systemPrompt, tools, messages, ...settings }: Settings, replies: ScriptedReply[] = []): Started {
  const requests: SentRequest[] = [];
  const { models, model } = scriptedModel({
    model: (request) => {
      requests.push(request);
      return replies.shift() ?? { text: 'Done.' };
    },
  });
  const initialState = { model, ...(systemPrompt && { systemPrompt }), ...(tools && { tools }) };
  const agent = new Agent({
    initialState: { ...initialState, ...(messages && { messages }) },
    streamFn: models.streamSimple.bind(models),
    ...settings,
  });
  return { agent, requests };
}

const maskedIn = (request: unknown): number => JSON.stringify(request).match(/100 lines/g)?.length ?? 0;

describe('an agent of pi', () => {
  it('ends the run with an error if the store fails, and goes on when it works again', async () => {
    const store = createMemoryStore();
    const { putMany } = store;
    store.putMany = () => Promise.reject(new Error('disk full'));
    const { agent, requests } = start({ messages: historyOf(), transformContext: palimpsest({ store, policy }) });
    await agent.prompt('Go on.');
    expect(requests).toEqual([]);
    expect(agent.state.errorMessage).toBe('disk full');
    expect(agent.state.messages.at(-1)).toMatchObject({ role: 'assistant', stopReason: 'error' });
    store.putMany = putMany;
    await agent.prompt('Go on.');
    expect(maskedIn(requests[0]?.messages)).toBeGreaterThan(3);
  });

  it('of the loop goes on with the whole messages, where a rejection is caught', async () => {
    const store = Object.assign(createMemoryStore(), { putMany: () => Promise.reject(new Error('disk full')) });
    const transform = palimpsest({ store, policy });
    const { agent, requests } = start({});
    const stream = agentLoop(
      [{ role: 'user', content: 'Go on.', timestamp: 9 }],
      { messages: historyOf() },
      {
        model: agent.state.model,
        convertToLlm: agent.convertToLlm,
        transformContext: (messages, signal) => transform(messages, signal).catch(() => messages),
      },
      undefined,
      agent.streamFunction,
    );
    await stream.result();
    expect(requests).toHaveLength(1);
    expect(maskedIn(requests[0])).toBe(0);
  });

  it('has its system prompt and its tools counted once', async () => {
    const sizeWith = async (words: string, door: 'systemPrompt' | 'tools'): Promise<number> => {
      const reports: Report[] = [];
      const [tool] = palimpsest.tools({ store: createMemoryStore() });
      if (!tool) throw new Error('No tool.');
      const told = door === 'tools' ? { tools: [{ ...tool, description: words }] } : { systemPrompt: words };
      const onReport = (report: Report) => void reports.push(report);
      const { agent } = start({ ...told, transformContext: palimpsest({ onReport }) });
      await agent.prompt('Go.');
      return reports[0]?.tokens.before ?? 0;
    };
    for (const door of ['systemPrompt', 'tools'] as const) {
      const more = (await sizeWith('word '.repeat(1001), door)) - (await sizeWith('word', door));
      expect(more).toBeGreaterThan(900);
      expect(more).toBeLessThan(1500);
    }
  });

  it('is fitted into the window of the model that gave the last reply', async () => {
    const tokens: number[] = [];
    const onReport = (report: Report) => void tokens.push(report.tokens.after);
    const long = { content: [{ type: 'text' as const, text: 'word '.repeat(30_000) }] };
    const history = (model: string): AgentMessage[] =>
      historyOf({ model }).map((message) => (message.role === 'toolResult' ? { ...message, ...long } : message));
    for (const model of ['gpt-5', 'gpt-4o']) {
      const { agent } = start({ messages: history(model), transformContext: palimpsest({ onReport }) });
      await agent.prompt('Go on.');
    }
    const [large = 0, small = 0] = tokens;
    expect([large > 128_000, small > 0 && small <= 128_000]).toEqual([true, true]);
  });

  it('keeps its own kinds of messages', async () => {
    const note = { role: 'note', label: 'only for the screen', timestamp: 5 } as unknown as AgentMessage;
    const seen: AgentMessage[][] = [];
    const { agent } = start({
      messages: [...historyOf(), note],
      transformContext: palimpsest({ store: createMemoryStore(), policy }),
      convertToLlm: (messages) => {
        seen.push(messages);
        return messages.filter(({ role }) => (role as string) !== 'note') as Message[];
      },
    });
    await agent.prompt('Go on.');
    expect(maskedIn(seen[0])).toBe(4);
    expect(seen[0]).toContain(note);
  });

  it('goes on where most of its messages are of its own kind and cannot be read, with one warning', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const note = { role: 'note', data: { shown: 'words for the screen only\n'.repeat(2000) }, timestamp: 5 };
    const { agent } = start({
      messages: [note as unknown as AgentMessage],
      transformContext: palimpsest({ store: createMemoryStore() }),
      convertToLlm: (messages) => messages.filter(({ role }) => (role as string) !== 'note') as Message[],
    });
    await agent.prompt('Go.');
    await agent.prompt('Go on.');
    expect(agent.state.errorMessage).toBeUndefined();
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^palimpsest: a request was sent unchanged. .*role note/)],
    ]);
    warn.mockRestore();
  });

  it('shares a transformContext with another, whose session a function finds', async () => {
    const sessions: (string | undefined)[] = [];
    const transformContext = palimpsest({
      session: ({ messages }) => /chat-\d/.exec(JSON.stringify(messages))?.[0],
      onReport: (_report, { session }) => void sessions.push(session),
    });
    for (const chat of ['chat-1', 'chat-2']) await start({ systemPrompt: chat, transformContext }).agent.prompt('Go.');
    expect(sessions).toEqual(['chat-1', 'chat-2']);
  });
});

describe('the tool recall of pi', () => {
  const ask = async (input: Readonly<Record<string, unknown>>, store = createMemoryStore()) => {
    const { agent } = start({ tools: palimpsest.tools({ store }) }, [
      { calls: [{ id: 'call_1', tool: 'recall', input }] },
    ]);
    await agent.prompt('Go.');
    return agent.state.messages.find(({ role }) => role === 'toolResult');
  };

  it('gives an image back as an image', async () => {
    const store = createMemoryStore();
    const image = { type: 'image', data: PNG, mimeType: 'image/png' };
    const handle = await store.put(JSON.stringify([image]), { session: 's' });
    expect(await ask({ handle }, store)).toMatchObject({ isError: false, content: [{ type: 'text' }, image] });
  });

  it('takes an argument that is null for one that is not given', async () => {
    const store = createMemoryStore();
    const handle = await store.put('one\ntwo', { session: 's' });
    const result = await ask({ handle, head: null, grep: null, all: null }, store);
    expect(result).toMatchObject({ isError: false });
    expect(JSON.stringify(result)).toContain('two');
  });

  it('tells the model of a wrong argument as an error', async () => {
    const result = await ask({ handel: 1 });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain('handle');
  });
});

describe('requests of pi to Anthropic', () => {
  const model: Model<'anthropic-messages'> = ANTHROPIC_MODELS['claude-opus-5-5'];
  const reply = { api: model.api, provider: model.provider, model: model.id };

  /** The request that goes out after six turns with signed thinking. */
  const ask = async (reasoning: Partial<AssistantMessage>) => {
    const received: { headers: IncomingHttpHeaders; body: string }[] = [];
    const server = createServer(async (request, response) => {
      received.push({ headers: request.headers, body: await text(request) });
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"read"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { agent } = start({
      messages: historyOf({ ...reply, ...reasoning }),
      transformContext: palimpsest({ store: createMemoryStore(), policy }),
      streamFn: (_model, context, options) =>
        streamSimple({ ...model, baseUrl }, context, { ...options, apiKey: 'none' }),
    });
    await agent.prompt('Go on.');
    server.close();
    return received[0];
  };

  it('have masks before signed thinking where pi opts into dropping it', async () => {
    const request = await ask({ providerThinkingLevel: 'high' });
    expect(JSON.parse(request?.body ?? '{}').thinking).toMatchObject({
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    });
    expect(request?.headers['anthropic-beta']).toContain('thinking-binding-controls-2026-08-01');
    expect(maskedIn(request?.body)).toBe(4);
  });

  it('have no masks before signed thinking of a model for which pi does not', async () => {
    expect(maskedIn((await ask({}))?.body)).toBe(0);
  });
});
