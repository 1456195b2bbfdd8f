import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createAnthropic } from '@ai-sdk/anthropic';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { palimpsest } from '../../src/adapters/ai-sdk/index.ts';
import { never } from '../../src/plan/policies/never.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Policy } from '../../src/plan/policy.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { ScriptedReply, SentRequest } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { scriptedModel } from './ai-sdk-driver.ts';

const done = (): ScriptedReply => ({ text: 'Done.' });
const usage = { input_tokens: 1, output_tokens: 1 };
const ANSWER = JSON.stringify({
  ...{ type: 'message', id: 'msg_1', role: 'assistant', model: 'claude-opus-5-5', usage },
  ...{ content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', stop_sequence: null },
});

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server that answers every request like Anthropic, while some work is done. */
async function withServer(work: (baseURL: string) => Promise<void>): Promise<Received[]> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: JSON.parse(await text(request)) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  } finally {
    server.close();
  }
  return received;
}

/** Six turns, each with signed thinking. */
const thinkingHistory: ai7.ModelMessage[] = [
  { role: 'user', content: 'Go.' },
  ...[1, 2, 3, 4, 5, 6].flatMap((turn): ai7.ModelMessage[] => {
    const call = { toolCallId: `call_${turn}`, toolName: 'read' };
    const providerOptions = { anthropic: { signature: `signature ${turn}` } };
    const reasoning = { type: 'reasoning' as const, text: `Thought ${turn}.`, providerOptions };
    const output = { type: 'text' as const, value: `line of ${turn}\n`.repeat(100) };
    return [
      { role: 'assistant', content: [reasoning, { type: 'tool-call', ...call, input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', ...call, output }] },
    ];
  }),
];

describe('requests to Anthropic', () => {
  const ask = async (
    thinking: { type: string; budgetTokens?: number },
    policy: Policy,
  ): Promise<Received | undefined> => {
    const [request] = await withServer(async (baseURL) => {
      const model = createAnthropic({ baseURL, apiKey: 'none' })('claude-opus-5-5');
      const prepareStep = palimpsest({ store: createMemoryStore(), policy });
      await ai7.generateText({
        model,
        messages: thinkingHistory,
        providerOptions: { anthropic: { thinking } },
        prepareStep,
      });
    });
    return request;
  };
  const masked = /read: 100 lines, [^"]* p_/;

  it('opt into dropping thinking blocks where a result before them is masked', async () => {
    const request = await ask({ type: 'adaptive' }, slidingWindow({ turns: 2 }));
    expect(request?.body.thinking).toMatchObject({ block_binding: { prefix_mismatch_behavior: 'drop_block' } });
    expect(request?.headers['anthropic-beta']).toContain('thinking-binding-controls-2026-08-01');
    expect(JSON.stringify(request?.body)).toMatch(masked);
  });

  it('opt into nothing where nothing is masked', async () => {
    const request = await ask({ type: 'adaptive' }, never());
    expect(request?.body.thinking).not.toHaveProperty('block_binding');
    expect(request?.headers['anthropic-beta'] ?? '').not.toContain('thinking-binding');
  });

  it('have no masks before signed thinking where the SDK cannot opt in', async () => {
    const request = await ask({ type: 'enabled', budgetTokens: 1024 }, slidingWindow({ turns: 2 }));
    expect(request?.body.thinking).not.toHaveProperty('block_binding');
    expect(JSON.stringify(request?.body)).not.toMatch(masked);
  });
});

describe('with AI SDK 7', () => {
  it('a file that is a text counts', async () => {
    const reports: Report[] = [];
    const onReport = (report: Report) => void reports.push(report);
    const data = { type: 'text' as const, text: 'a line of the file\n'.repeat(1000) };
    const content = [{ type: 'file' as const, mediaType: 'text/plain', data }];
    const model = scriptedModel(7, { model: done });
    await ai7.generateText({ model, messages: [{ role: 'user', content }], prepareStep: palimpsest({ onReport }) });
    expect(reports[0]?.tokens.before).toBeGreaterThan(4000);
  });
});

describe.each([
  [6, ai6 as unknown as typeof ai7],
  [7, ai7],
] as const)('with AI SDK %i', (version, sdk) => {
  it('a schema of zod counts as the JSON schema that is sent', async () => {
    const sizeWith = async (words: string): Promise<number> => {
      const reports: Report[] = [];
      const inputSchema = z.object({ path: z.string().describe(words) });
      const read = sdk.tool({ inputSchema, execute: async ({ path }) => path });
      const onReport = (report: Report) => void reports.push(report);
      const model = scriptedModel(version, { model: done });
      await sdk.generateText({ model, prompt: 'Go.', tools: { read }, prepareStep: palimpsest({ onReport }) });
      return reports[0]?.tokens.before ?? 0;
    };
    expect((await sizeWith('word '.repeat(1001))) - (await sizeWith('word'))).toBeGreaterThan(900);
  });

  it('the system prompt counts', async () => {
    const sizeWith = async (system: string): Promise<number> => {
      const reports: Report[] = [];
      const onReport = (report: Report) => void reports.push(report);
      const model = scriptedModel(version, { model: done });
      await sdk.generateText({ model, system, prompt: 'Go.', prepareStep: palimpsest({ onReport }) });
      return reports[0]?.tokens.before ?? 0;
    };
    expect((await sizeWith('word '.repeat(1001))) - (await sizeWith('word'))).toBeGreaterThan(900);
  });

  it('a function finds the session in the context of the run', async () => {
    const sessions: (string | undefined)[] = [];
    const prepareStep = palimpsest({
      session: ({ context }) => (context as { chat: string }).chat,
      onReport: (_report, { session }) => void sessions.push(session),
    });
    const context = version === 6 ? { experimental_context: { chat: 'c1' } } : { runtimeContext: { chat: 'c1' } };
    await sdk.generateText({ model: scriptedModel(version, { model: done }), prompt: 'Go.', prepareStep, ...context });
    expect(sessions).toEqual(['c1']);
  });

  it('a ToolLoopAgent takes it', async () => {
    const requests: SentRequest[] = [];
    const model = scriptedModel(version, {
      model: (request) => {
        requests.push(request);
        return done();
      },
    });
    const policy = slidingWindow({ turns: 2 });
    const agent = new sdk.ToolLoopAgent({ model, prepareStep: palimpsest({ policy }) });
    await agent.generate({ messages: thinkingHistory });
    expect(JSON.stringify(requests[0]?.messages).match(/omitted/g)).toHaveLength(4);
  });

  it('a recalled image comes back as an image', async () => {
    const store = createMemoryStore();
    const image = { type: 'image-data', data: PNG, mediaType: 'image/png' };
    const handle = await store.put(JSON.stringify({ type: 'content', value: [image] }), { session: 's' });
    const requests: SentRequest[] = [];
    const model = scriptedModel(version, {
      model: (request) => {
        requests.push(request);
        const calls = [{ id: 'call_1', tool: 'recall', input: { handle } }];
        return requests.length === 1 ? { calls } : done();
      },
    });
    const tools = palimpsest.tools({ store });
    await sdk.generateText({ model, prompt: 'Go.', tools, stopWhen: sdk.stepCountIs(5) });
    expect(JSON.stringify(requests[1]?.messages)).toContain(PNG);
  });

  it('a wrong argument of recall is told to the model as an error', async () => {
    const requests: SentRequest[] = [];
    const model = scriptedModel(version, {
      model: (request) => {
        requests.push(request);
        return requests.length === 1 ? { calls: [{ id: 'call_1', tool: 'recall', input: { handel: 1 } }] } : done();
      },
    });
    const tools = palimpsest.tools({ store: createMemoryStore() });
    await sdk.generateText({ model, prompt: 'Go.', tools, stopWhen: sdk.stepCountIs(5) });
    expect(JSON.stringify(requests[1]?.messages)).toMatch(/error-text.*did you mean handle\?/);
  });
});
