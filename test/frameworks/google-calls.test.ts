import { type GenerateContentParameters, GoogleGenAI, mcpToTool } from '@google/genai';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, it } from 'vitest';
import { type GenAiOptions, palimpsest } from '../../src/adapters/google/index.ts';
import { isPlaceholder } from '../../src/laws/idempotent.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { createJob } from '../../src/testing/adapter-job.ts';
import type { ScriptedReply } from '../../src/testing/index.ts';
import { PNG } from '../../src/testing/png.ts';
import { toCallable } from './google-driver.ts';
import { type Received, withGemini } from './google-server.ts';

const model = 'gemini-3-pro';
const done: ScriptedReply = { text: 'Done.' };
const automaticFunctionCalling = { maximumRemoteCalls: 100 };
const job = createJob('job');

/** The requests that the server gets while a client works; the replies are given in order, and then "Done.". */
async function requestsOf(
  replies: readonly (ScriptedReply | number)[],
  work: (ai: GoogleGenAI) => Promise<unknown>,
  { vertexai = false, inChunks = false, ...options }: GenAiOptions & { vertexai?: boolean; inChunks?: boolean } = {},
): Promise<Received[]> {
  const requests: Received[] = [];
  const answer = (request: Received) => replies[requests.push(request) - 1] ?? done;
  const start = (baseUrl: string) => {
    const httpOptions = { baseUrl, fetch: palimpsest.fetch(options) };
    return work(new GoogleGenAI({ apiKey: 'none', vertexai, httpOptions }));
  };
  await withGemini(answer, start, { inChunks });
  return requests;
}

const ask =
  (params: Partial<GenerateContentParameters> = {}) =>
  (ai: GoogleGenAI) =>
    ai.models.generateContent({ model, contents: 'Go.', ...params });

/** The results that a request holds, by the id of their call or else by name. */
const resultsIn = (request: Received | undefined) =>
  (request?.body.contents ?? []).flatMap(({ parts = [] }) =>
    parts.flatMap(({ functionResponse: answer }) => (answer ? [[answer.id ?? answer.name, answer] as const] : [])),
  );

const textIn = (response: unknown): string => String(Object.values(response as object)[0]);

const maskedIn = (request: Received | undefined): number =>
  resultsIn(request).filter(([, { response }]) => isPlaceholder(textIn(response))).length;

describe('requests of @google/genai', () => {
  const sizeOf = async (params: Partial<GenerateContentParameters>): Promise<number> => {
    const reports: Report[] = [];
    await requestsOf([], ask(params), { onReport: (report) => void reports.push(report) });
    return reports[0]?.tokens.before ?? 0;
  };

  it('count with their system instruction', async () => {
    const small = await sizeOf({ config: { systemInstruction: 'word' } });
    expect((await sizeOf({ config: { systemInstruction: 'word '.repeat(1001) } })) - small).toBeGreaterThan(900);
  });

  it('name their session in a header', async () => {
    const sessions: unknown[] = [];
    const options = { onReport: (_report: Report, { session }: { session?: string }) => void sessions.push(session) };
    const config = { httpOptions: { headers: { 'x-session-id': 'chat-1' } } };
    await requestsOf([], ask({ config }), options);
    expect(sessions).toEqual(['chat-1']);
  });

  it('give their headers to a function that finds the session', async () => {
    const sessions: unknown[] = [];
    const config = { httpOptions: { headers: { 'x-chat': 'chat-2' } } };
    await requestsOf([], ask({ config }), {
      session: ({ headers }) => headers.get('x-chat') ?? undefined,
      onReport: (_report, { session }) => void sessions.push(session),
    });
    expect(sessions).toEqual(['chat-2']);
  });

  it('to Vertex AI are fitted too', async () => {
    const models: string[] = [];
    const [request] = await requestsOf([], ask(), { vertexai: true, onReport: () => void models.push('fitted') });
    expect(request?.url).toContain('/publishers/google/models/gemini-3-pro:generateContent');
    expect(models).toEqual(['fitted']);
  });

  it('that generate nothing pass untouched', async () => {
    const reports: Report[] = [];
    const work = (ai: GoogleGenAI) => ai.models.countTokens({ model, contents: 'Go.' });
    const [request] = await requestsOf([], work, { onReport: (report) => void reports.push(report) });
    expect(request?.url).toContain(':countTokens');
    expect(reports).toEqual([]);
  });

  it('are sent again as they were where the SDK tries again', async () => {
    const policy = slidingWindow({ turns: 1 });
    const replies = [0, 1, 2].map(job.reply);
    const httpOptions = { retryOptions: { attempts: 2, initialDelay: 0.001, jitter: 0 } };
    const config = { tools: [toCallable(job.tools)], automaticFunctionCalling, httpOptions };
    const requests = await requestsOf([...replies, 503], ask({ config }), { policy });
    expect(requests).toHaveLength(5);
    expect(requests[4]?.body).toEqual(requests[3]?.body);
    expect(maskedIn(requests[4])).toBe(2);
  });

  it('wait for an answer longer than the 300 s of Node, as the SDK does on its own', async () => {
    const key = Symbol.for('undici.globalDispatcher.1');
    const globals = globalThis as unknown as Record<symbol, { dispatch(options: object, handler: unknown): boolean }>;
    const before = globals[key];
    const timeouts: unknown[] = [];
    globals[key] = {
      dispatch(options, handler) {
        const { headersTimeout, bodyTimeout } = options as Record<string, unknown>;
        timeouts.push([headersTimeout, bodyTimeout]);
        return before?.dispatch(options, handler) ?? false;
      },
    };
    try {
      await requestsOf([], ask());
    } finally {
      if (before) globals[key] = before;
    }
    expect(timeouts).toEqual([[0, 0]]);
  });

  it('go out with a fetch of your own', async () => {
    const urls: string[] = [];
    const own: typeof fetch = async (input) => {
      urls.push(String(input));
      return new Response(JSON.stringify({ candidates: [] }));
    };
    await ask()(new GoogleGenAI({ apiKey: 'none', httpOptions: { fetch: palimpsest.fetch({ fetch: own }) } }));
    expect(urls).toEqual([expect.stringContaining('/models/gemini-3-pro:generateContent')]);
  });
});

describe('automatic function calling', () => {
  it('masks in streams that come in chunks, and every result follows its call', async () => {
    const policy = slidingWindow({ turns: 2 });
    const replies = Array.from({ length: 10 }, (_, turn) => job.reply(turn));
    const config = { tools: [toCallable(job.tools)], automaticFunctionCalling };
    const work = async (ai: GoogleGenAI) => {
      const params = { model, contents: 'Go.', config };
      const chunks = [];
      for await (const chunk of await ai.models.generateContentStream(params)) chunks.push(chunk);
      expect(JSON.stringify(params.contents)).not.toContain('omitted');
    };
    const requests = await requestsOf(replies, work, { policy, inChunks: true });
    expect(requests).toHaveLength(11);
    expect(maskedIn(requests[10])).toBe(8);
    const { contents } = (requests[10] as Received).body;
    for (const [i, { parts = [] }] of contents.entries())
      for (const { functionResponse: answer } of parts)
        if (answer) expect(contents[i - 1]?.parts?.map(({ functionCall }) => functionCall?.id)).toContain(answer.id);
  });

  it('lets recall answer its own calls only', async () => {
    const store = createMemoryStore();
    const handle = await store.put('one\ntwo\n', { session: 's' });
    const read = { id: 'call_1', tool: 'read', input: { path: 'a.ts' } };
    const recall = { id: 'call_2', tool: 'recall', input: { handle } };
    const config = { tools: [toCallable(job.tools), ...palimpsest.tools({ store })], automaticFunctionCalling };
    const [, second] = await requestsOf([{ calls: [read, recall] }], ask({ config }), { store });
    expect(resultsIn(second).map(([id]) => id)).toEqual(['call_1', 'call_2']);
    expect(textIn(resultsIn(second)[1]?.[1].response)).toContain('one\ntwo');
  });

  it('tells the model of a wrong argument of recall, and goes on', async () => {
    const calls = [{ id: 'call_1', tool: 'recall', input: { handel: 1 } }];
    const config = { tools: palimpsest.tools({ store: createMemoryStore() }) };
    const [, second] = await requestsOf([{ calls }], ask({ config }));
    expect(resultsIn(second)).toMatchObject([
      ['call_1', { name: 'recall', response: { error: expect.stringContaining('did you mean handle?') } }],
    ]);
  });

  it('gives a recalled image back as an image', async () => {
    const store = createMemoryStore();
    const parts = [{ inlineData: { mimeType: 'image/png', data: PNG } }];
    const original = { id: 'call_0', name: 'show', response: { output: 'Shown.' }, parts };
    const handle = await store.put(JSON.stringify(original), { session: 's' });
    const config = { tools: palimpsest.tools({ store }) };
    const [, second] = await requestsOf(
      [{ calls: [{ id: 'call_1', tool: 'recall', input: { handle } }] }],
      ask({ config }),
    );
    expect(resultsIn(second)).toMatchObject([['call_1', { parts }]]);
  });

  it('offers recall with its whole JSON schema', async () => {
    const config = { tools: palimpsest.tools({ store: createMemoryStore() }) };
    const [request] = await requestsOf([], ask({ config }));
    expect(request?.body.tools).toMatchObject([
      { functionDeclarations: [{ name: 'recall', parametersJsonSchema: { required: ['handle'] } }] },
    ]);
  });

  it('masks results of MCP servers, and an error of theirs stays an error', async () => {
    const server = new McpServer({ name: 'files', version: '1.0.0' });
    const lines = 'a line of the file\n'.repeat(100);
    server.registerTool('read', {}, async () => ({ content: [{ type: 'text', text: lines }] }));
    server.registerTool('fail', {}, async () => ({ isError: true, content: [{ type: 'text', text: lines }] }));
    const [near, far] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: 'test', version: '1.0.0' });
    await Promise.all([server.connect(far), client.connect(near)]);
    const replies = ['read', 'fail', 'read', 'read'].map((tool) => ({ calls: [{ id: '', tool, input: {} }] }));
    const config = { tools: [mcpToTool(client)], automaticFunctionCalling };
    const requests = await requestsOf(replies, ask({ config }), { policy: slidingWindow({ turns: 2 }) });
    const responses = resultsIn(requests[4]).map(([, { response = {} }]) => response);
    expect(responses.map((response) => Object.keys(response)[0])).toEqual(['output', 'error', 'content', 'content']);
    expect(responses.slice(0, 2).map((response) => isPlaceholder(textIn(response)))).toEqual([true, true]);
    await client.close();
  });
});

it('a loop of your own declares recall and answers its calls', async () => {
  const store = createMemoryStore();
  const handle = await store.put('one\n', { session: 's' });
  const [recall] = palimpsest.tools({ store });
  const { functionDeclarations } = await recall.tool();
  const calls = [{ id: 'call_1', tool: 'recall', input: { handle } }];
  await requestsOf([{ calls }], async (ai) => {
    const read = { name: 'read', parametersJsonSchema: { type: 'object' } };
    const config = { tools: [{ functionDeclarations: [read, ...functionDeclarations] }] };
    const { functionCalls = [] } = await ai.models.generateContent({ model, contents: 'Go.', config });
    expect(JSON.stringify(await recall.callTool(functionCalls))).toContain(`recalled ${handle}`);
  });
});
