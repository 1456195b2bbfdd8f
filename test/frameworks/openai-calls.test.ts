import { OpenAI as OpenAI6 } from 'openai6';
import { AzureOpenAI, OpenAI } from 'openai7';
import { ResponsesToolRunner } from 'openai7/helpers/responses-tool-runner';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type OpenAIFetch, type OpenAIStep, palimpsest } from '../../src/adapters/openai/index.ts';
import { never } from '../../src/plan/policies/never.ts';
import { slidingWindow } from '../../src/plan/policies/sliding-window.ts';
import type { Report } from '../../src/plan/report.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { PNG } from '../../src/testing/png.ts';
import type { Fields } from '../support/provider/json.ts';
import type { Ask, Reply } from '../support/provider/script.ts';
import { type Provider, type ProviderOptions, startProvider } from '../support/provider/start-provider.ts';
import { clientOf, type Version } from './openai-driver.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closers.splice(0)) await close();
});

async function start(options: Partial<ProviderOptions> = {}): Promise<Provider> {
  const provider = await startProvider({ script: [], ...options });
  closers.push(provider.close);
  return provider;
}

const policy = slidingWindow({ turns: 2 });
const masking = () => palimpsest.fetch({ store: createMemoryStore(), policy });
const TURNS = [1, 2, 3, 4, 5, 6];
const result = (turn: number): string => `line of ${turn}\n`.repeat(100);

const chatHistory: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'system', content: 'Be brief. ✓' },
  { role: 'user', content: 'Go.' },
  ...TURNS.flatMap((turn): OpenAI.ChatCompletionMessageParam[] => {
    const called = { name: 'read', arguments: `{"path":"${turn}"}` };
    return [
      { role: 'assistant', content: null, tool_calls: [{ id: `call_${turn}`, type: 'function', function: called }] },
      { role: 'tool', tool_call_id: `call_${turn}`, content: result(turn) },
    ];
  }),
];

const responsesHistory: OpenAI.Responses.ResponseInputItem[] = [
  { role: 'user', content: 'Go.' },
  ...TURNS.flatMap((turn): OpenAI.Responses.ResponseInputItem[] => [
    { type: 'function_call', call_id: `call_${turn}`, name: 'read', arguments: `{"path":"${turn}"}` },
    { type: 'function_call_output', call_id: `call_${turn}`, output: result(turn) },
  ]),
];

const textOf = (provider: Provider, index: number): string => provider.requests[index]?.bytes.toString() ?? '';
const MASKED = /\[read \d: 100 lines, [^"]*p_[a-z2-7]{26}\]/g;
const masksIn = (text: string): number => text.match(MASKED)?.length ?? 0;

describe.each([6, 7] as const)('openai %i', (version: Version) => {
  const client = ({ url }: Provider, fetch: OpenAIFetch, options = {}) =>
    clientOf(version, { baseURL: `${url}/v1`, fetch, maxRetries: 0, ...options });

  it('sends the very bytes of the SDK where nothing is masked', async () => {
    const provider = await start();
    const ask = { model: 'gpt-5', messages: chatHistory, temperature: 0.1, tools: [], seed: 1e21 };
    await client(provider, globalThis.fetch).chat.completions.create(ask);
    await client(provider, palimpsest.fetch({ policy: never() })).chat.completions.create(ask);
    expect(textOf(provider, 1)).toBe(textOf(provider, 0));
  });

  it('changes masked results only, and the length is that of the new body', async () => {
    const provider = await start();
    const ask = { model: 'gpt-5', temperature: 0.1, messages: chatHistory, metadata: { '7': 'ß' } };
    await client(provider, globalThis.fetch).chat.completions.create(ask);
    await client(provider, masking()).chat.completions.create(ask);
    const [plain, sent] = [textOf(provider, 0), textOf(provider, 1)];
    expect(masksIn(sent)).toBe(4);
    let turn = 0;
    const unmasked = sent.replace(MASKED, () => JSON.stringify(result(++turn)).slice(1, -1));
    expect(unmasked).toBe(plain);
    expect(provider.requests[1]?.headers['content-length']).toBe(String(Buffer.byteLength(sent)));
  });

  it('a retry of the SDK sends the same bytes', async () => {
    const provider = await start({ faults: [{ kind: 'status', status: 500 }] });
    const retrying = client(provider, masking(), { maxRetries: 1 });
    await retrying.responses.create({ model: 'gpt-5', input: responsesHistory });
    expect(provider.requests.map(({ status }) => status)).toEqual([500, 200]);
    expect(masksIn(textOf(provider, 0))).toBe(4);
    expect(textOf(provider, 1)).toBe(textOf(provider, 0));
  });

  it('requests whose history is on the server pass unchanged', async () => {
    const provider = await start();
    const { responses } = client(provider, masking());
    const { id } = await responses.create({ model: 'gpt-5', input: 'Hello.' });
    await responses.create({ model: 'gpt-5', previous_response_id: id, input: responsesHistory });
    await responses.create({ model: 'gpt-5', conversation: 'conv_1', input: responsesHistory });
    expect([0, 1, 2].map((index) => JSON.parse(textOf(provider, index)).input)).toEqual([
      'Hello.',
      responsesHistory,
      responsesHistory,
    ]);
  });

  it('the instructions of Responses count', async () => {
    const provider = await start();
    const sizeWith = async (instructions: string): Promise<number> => {
      const reports: Report[] = [];
      const fetch = palimpsest.fetch({ onReport: (report) => void reports.push(report) });
      await client(provider, fetch).responses.create({ model: 'gpt-5', instructions, input: responsesHistory });
      return reports[0]?.tokens.before ?? 0;
    };
    expect((await sizeWith('word '.repeat(1001))) - (await sizeWith('word'))).toBeGreaterThan(900);
  });

  it('a function finds the session in the request', async () => {
    const provider = await start();
    const sessions: (string | undefined)[] = [];
    const fetch = palimpsest.fetch({
      session: ({ body, headers, url }: OpenAIStep) =>
        headers.has('authorization') && url.startsWith(provider.url) ? String(body.prompt_cache_key) : undefined,
      onReport: (_report, { session }) => void sessions.push(session),
    });
    const ask = { model: 'gpt-5', messages: chatHistory, prompt_cache_key: 'chat-1' };
    await client(provider, fetch).chat.completions.create(ask);
    expect(sessions).toEqual(['chat-1']);
  });

  it('an error of the store is the cause of the error of the SDK, and nothing is sent', async () => {
    const provider = await start();
    const store = Object.assign(createMemoryStore(), { putMany: () => Promise.reject(new Error('disk full')) });
    const { completions } = client(provider, palimpsest.fetch({ store, policy })).chat;
    const failed = await completions.create({ model: 'gpt-5', messages: chatHistory }).catch((error) => error);
    expect(failed.cause?.message).toBe('disk full');
    expect(provider.requests).toEqual([]);
  });

  it('a wrong argument of recall is told to the model, and the run goes on', async () => {
    const script = ({ turn }: Ask): Reply =>
      turn === 0 ? { calls: [{ name: 'recall', input: { handel: 1 } }] } : { text: 'Done.' };
    const provider = await start({ script });
    const runner = client(provider, masking()).chat.completions.runTools({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'Go.' }],
      tools: palimpsest.tools({ store: createMemoryStore() }),
    });
    expect(await runner.finalContent()).toBe('Done.');
    expect(textOf(provider, 1)).toContain('Error: Expected an option of recall but found handel; did you mean handle?');
  });
});

describe('openai 7', () => {
  it('ResponsesToolRunner runs recall, and an image comes back as an image', async () => {
    const store = createMemoryStore();
    const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` };
    const handle = await store.put(JSON.stringify([image]), { session: 's' });
    const script = ({ body }: Ask): Reply => {
      const asked = (body.input as readonly Fields[]).filter(({ call_id }) => String(call_id).startsWith('recall_'));
      if (asked.length === 0) return { calls: [{ id: 'recall_1', name: 'recall', input: { handle } }] };
      if (asked.length === 2) return { calls: [{ id: 'recall_2', name: 'recall', input: { handel: 1 } }] };
      return { text: 'Done.' };
    };
    const provider = await start({ script });
    const runner = new ResponsesToolRunner({ functions: palimpsest.functions({ store }) });
    const fetch = palimpsest.fetch({ store, policy });
    const client = new OpenAI({ baseURL: `${provider.url}/v1`, apiKey: 'none', fetch });
    const { output_text } = await runner.run(client, { model: 'gpt-5', input: responsesHistory });
    expect(output_text).toBe('Done.');
    expect(masksIn(textOf(provider, 2))).toBe(6);
    expect(textOf(provider, 1)).toContain(PNG);
    expect(textOf(provider, 2)).toContain('Error: Expected an option of recall but found handel; did you mean handle?');
  });

  it('a recalled image is a note in Chat Completions, where results are texts', async () => {
    const store = createMemoryStore();
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
    const handle = await store.put(JSON.stringify([image]), { session: 's' });
    const [recall] = palimpsest.tools({ store });
    const answer = await recall.function.function({ handle });
    expect(answer).toContain('[image 1: image/png]');
    expect(answer).not.toContain(PNG);
  });
});

/** A `fetch` that records what it is called with, and answers like Chat Completions. */
function recorder() {
  const calls: { readonly url: string; readonly init: RequestInit | undefined }[] = [];
  const fetch: OpenAIFetch = async (input, init) => {
    calls.push({ url: String(input), init });
    return Response.json({ id: 'c', object: 'chat.completion', choices: [], output: [], data: [] });
  };
  return { calls, fetch, bodies: () => calls.map(({ init }) => init?.body) };
}

describe('palimpsest.fetch', () => {
  it('calls the fetch that it is given, with all that the SDK says', async () => {
    const { calls, fetch } = recorder();
    const client = new OpenAI6({
      apiKey: 'none',
      fetch: palimpsest.fetch({ policy, fetch }),
      fetchOptions: { keepalive: true },
    });
    await client.chat.completions.create({ model: 'gpt-5', messages: [{ role: 'user', content: 'Go.' }] });
    expect(calls[0]?.url).toBe('https://api.openai.com/v1/chat/completions');
    expect(calls[0]?.init).toMatchObject({ method: 'POST', keepalive: true });
    expect(new Headers(calls[0]?.init?.headers).get('authorization')).toBe('Bearer none');
  });

  it('masks at the addresses of Azure', async () => {
    const { calls, fetch, bodies } = recorder();
    const azure = new AzureOpenAI({
      ...{ endpoint: 'https://x.openai.azure.com', apiVersion: '2025-04-01-preview', apiKey: 'none' },
      fetch: palimpsest.fetch({ store: createMemoryStore(), policy, fetch }),
    });
    await azure.chat.completions.create({ model: 'gpt-5', messages: chatHistory });
    expect(calls[0]?.url).toContain('/openai/deployments/gpt-5/chat/completions?api-version=');
    expect(masksIn(String(bodies()[0]))).toBe(4);
  });

  it('fits requests that compact or count a history like those that go on with it', async () => {
    const { fetch, bodies } = recorder();
    const { responses } = new OpenAI({
      apiKey: 'none',
      fetch: palimpsest.fetch({ store: createMemoryStore(), policy, fetch }),
    });
    await responses.create({ model: 'gpt-5', input: responsesHistory });
    await responses.compact({ model: 'gpt-5', input: responsesHistory });
    await responses.inputTokens.count({ model: 'gpt-5', input: responsesHistory });
    const [created, compacted, counted] = bodies().map((body) => JSON.parse(String(body)).input);
    expect(masksIn(JSON.stringify(created))).toBe(4);
    expect([compacted, counted]).toEqual([created, created]);
  });

  it('passes other requests unchanged', async () => {
    const { calls, fetch } = recorder();
    const client = new OpenAI({ apiKey: 'none', fetch: palimpsest.fetch({ policy, fetch }) });
    await client.embeddings.create({ model: 'e', input: ['x'.repeat(5000)], encoding_format: 'float' });
    await client.chat.completions.update('chatcmpl-1', { metadata: { a: 'b' } });
    await client.responses.retrieve('resp_1');
    await client.models.list();
    const plain = recorder();
    const untouched = new OpenAI({ apiKey: 'none', fetch: plain.fetch });
    await untouched.embeddings.create({ model: 'e', input: ['x'.repeat(5000)], encoding_format: 'float' });
    await untouched.chat.completions.update('chatcmpl-1', { metadata: { a: 'b' } });
    await untouched.responses.retrieve('resp_1');
    await untouched.models.list();
    const shown = ({ url, init }: (typeof calls)[number]) => [url, init?.method, init?.body];
    expect(calls.map(shown)).toEqual(plain.calls.map(shown));
  });

  it('passes bodies unchanged that are no JSON object with messages', async () => {
    const { fetch, bodies } = recorder();
    const send = palimpsest.fetch({ policy, fetch });
    const odd = [
      'no JSON',
      '[]',
      'null',
      '{"model":"gpt-5"}',
      '{"messages":"x"}',
      '{"messages":[]}',
      new Uint8Array([1]),
      undefined,
    ];
    for (const body of odd)
      await send('https://x/v1/chat/completions', { method: 'POST', ...(body === undefined ? {} : { body }) });
    await send(new URL('https://x/v1/chat/completions'));
    await send(new Request('https://x/v1/chat/completions', { method: 'POST', body: '{"messages":[{}]}' }));
    expect(bodies()).toEqual([...odd, undefined, undefined]);
  });

  it('passes messages of an unknown format unchanged, and warns once', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const { fetch, bodies } = recorder();
    const send = palimpsest.fetch({ policy, fetch });
    const body = JSON.stringify({
      messages: [{ role: 'user', body: { blob: 'words of a format that is new '.repeat(500) } }],
    });
    for (let i = 0; i < 3; i++) await send('https://x/v1/chat/completions', { method: 'POST', body });
    expect(bodies()).toEqual([body, body, body]);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^palimpsest: a request was sent unchanged\. Expected messages/)],
    ]);
  });

  it('passes requests that are signed for AWS unchanged, and warns once', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const { fetch, bodies } = recorder();
    const client = new OpenAI({
      apiKey: 'none',
      fetch: palimpsest.fetch({ store: createMemoryStore(), policy, fetch }),
    });
    const signed = { headers: { authorization: 'AWS4-HMAC-SHA256 Credential=x, Signature=y' } };
    for (let i = 0; i < 2; i++) await client.chat.completions.create({ model: 'gpt-5', messages: chatHistory }, signed);
    expect(bodies().map((body) => JSON.parse(String(body)).messages)).toEqual([chatHistory, chatHistory]);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('signed for AWS')]]);
  });

  it('corrects a length that the caller gave', async () => {
    const provider = await start();
    const body = JSON.stringify({ model: 'gpt-5', messages: chatHistory });
    const headers = { authorization: 'Bearer none', 'content-length': String(Buffer.byteLength(body)) };
    const { status } = await masking()(`${provider.url}/v1/chat/completions`, { method: 'POST', headers, body });
    expect(status).toBe(200);
    expect(masksIn(textOf(provider, 0))).toBe(4);
  });

  it('refuses a fetch that is no function', () => {
    expect(() => palimpsest.fetch({ fetch: 'x' as never })).toThrow('palimpsest.fetch option fetch to be a function');
  });
});
