import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { fromAiSdk, fromAnthropic, fromOpenAI, fromUrl } from '../../src/adapters/models/index.ts';
import type { Model, ModelRequest } from '../../src/manager/agent/model.ts';
import { isOverflow } from '../../src/manager/agent/overflow.ts';
import { messageWriter } from '../../src/manager/message-writer.ts';
import { type ScriptedProvider, type ScriptedReply, startProvider } from '../support/manager/scripted-provider.ts';

type AnyModel = Model<unknown>;

/** Every ready-made model, at a provider of ours. */
const makers: Readonly<Record<string, (url: string) => AnyModel>> = {
  fromUrl: (url) => fromUrl({ baseURL: `${url}/v1`, model: 'scripted', apiKey: 'k', retries: 0 }) as AnyModel,
  'fromOpenAI (openai)': (url) =>
    fromOpenAI(new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0 }), { model: 'scripted' }) as AnyModel,
  'fromAnthropic (@anthropic-ai/sdk)': (url) =>
    fromAnthropic(new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 }), { model: 'scripted' }) as AnyModel,
  'fromAiSdk (@ai-sdk/openai)': (url) =>
    fromAiSdk(createOpenAI({ baseURL: `${url}/v1`, apiKey: 'k' }).chat('scripted')) as AnyModel,
  'fromAiSdk (@ai-sdk/anthropic)': (url) =>
    fromAiSdk(createAnthropic({ baseURL: `${url}/v1`, apiKey: 'k' })('scripted')) as AnyModel,
};

const calls = [
  { id: 'call_1', name: 'read', arguments: { path: 'a.ts', note: 'ü "quoted"' } },
  { id: 'call_2', name: 'list', arguments: {} },
];
const usage = { prompt: 1200, cached: 1000, completion: 30 };
const tools = [
  {
    name: 'read',
    description: 'reads a file',
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
  },
  { name: 'list', description: 'lists files', parameters: { type: 'object', properties: {} } },
];

let provider: ScriptedProvider | undefined;
afterEach(() => provider?.close());

async function provide(script: (body: Record<string, unknown>) => ScriptedReply): Promise<string> {
  provider = await startProvider(({ body }) => script(body));
  return provider.url;
}

const signal = (): AbortSignal => new AbortController().signal;

describe.each(Object.entries(makers))('%s', (_name, make) => {
  const requestOf = (model: AnyModel, more: Partial<ModelRequest<unknown>> = {}): ModelRequest<unknown> => ({
    messages: [messageWriter(model.format).user('What is in a.ts?')],
    system: 'You are careful.',
    tools,
    ...more,
  });

  describe.each([
    ['whole', false],
    ['streamed', true],
  ])('%s', (_how, isStreamed) => {
    it('gives back text, calls and usage, and messages that may be sent again with their results', async () => {
      const model = make(await provide(() => ({ text: 'I will look.', calls, usage })));
      const heard: string[] = [];
      const more = isStreamed ? { onText: (delta: string) => heard.push(delta) } : {};
      const request = requestOf(model, more);
      const reply = await model(request, signal());
      expect(reply).toMatchObject({
        text: 'I will look.',
        calls,
        stop: 'end',
        usage: { promptTokens: 1200, cachedTokens: 1000, completionTokens: 30 },
      });
      expect(heard.join('')).toBe(isStreamed ? 'I will look.' : '');
      expect(heard.length).toBe(isStreamed ? 2 : 0);

      const { format, results } = messageWriter(model.format);
      const answers = results(reply.calls.map((call) => ({ call, text: `output of ${call.name}`, isError: false })));
      const history = [...request.messages, ...reply.messages, ...answers];
      expect(format.check(history)).toEqual([]);
      const view = format.view(history);
      expect(view.map(({ kind }) => kind)).toEqual([
        'user',
        'reasoning',
        'action',
        'action',
        'observation',
        'observation',
      ]);
      expect(view.at(-1)).toMatchObject({ text: 'output of list', tool: 'list', callId: 'call_2' });

      await model({ ...request, messages: history }, signal());
      const sent = JSON.stringify(provider?.received.at(-1)?.body);
      for (const text of ['You are careful.', 'What is in a.ts?', 'I will look.', 'a.ts', 'output of read']) {
        expect(sent).toContain(text);
      }
      expect(sent).toContain('reads a file');
    });

    it('says nothing where the model said nothing', async () => {
      const model = make(await provide(() => ({})));
      const reply = await model(requestOf(model, isStreamed ? { onText: () => {} } : {}), signal());
      expect(reply).toMatchObject({ messages: [], calls: [], text: '' });
    });

    it('tells that an answer was cut', async () => {
      const model = make(await provide(() => ({ text: 'It goes on and', isCut: true })));
      const reply = await model(requestOf(model, isStreamed ? { onText: () => {} } : {}), signal());
      expect(reply.stop).toBe('length');
    });

    it('throws what the provider said, so that a full window is recognised', async () => {
      const failure = {
        status: 400,
        body: {
          type: 'error',
          error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
        },
      };
      const model = make(await provide(() => ({ failure })));
      const error = await model(requestOf(model, isStreamed ? { onText: () => {} } : {}), signal()).catch((e) => e);
      expect(error).toBeInstanceOf(Error);
      expect(isOverflow(error)).toBe(true);
    });

    it('throws other failures, which are not taken for a full window', async () => {
      const failure = { status: 401, body: { type: 'error', error: { type: 'auth', message: 'invalid x-api-key' } } };
      const model = make(await provide(() => ({ failure })));
      const error = await model(requestOf(model, isStreamed ? { onText: () => {} } : {}), signal()).catch((e) => e);
      expect(error).toBeInstanceOf(Error);
      expect(isOverflow(error)).toBe(false);
    });

    it('stops when it is told to', async () => {
      const controller = new AbortController();
      const model = make(
        await provide(() => {
          setTimeout(() => controller.abort(), 20);
          return { hangs: true };
        }),
      );
      const asked = model(requestOf(model, isStreamed ? { onText: () => {} } : {}), controller.signal);
      await expect(asked).rejects.toThrow();
    });
  });

  it('passes on how long an answer may be', async () => {
    const model = make(await provide(() => ({ text: 'Yes.' })));
    await model(requestOf(model, { maxOutputTokens: 77 }), signal());
    const { max_tokens, max_completion_tokens } = provider?.received[0]?.body ?? {};
    expect(max_tokens ?? max_completion_tokens).toBe(77);
  });

  it('asks without tools where there are none', async () => {
    const model = make(await provide(() => ({ text: 'Yes.' })));
    await model(requestOf(model, { tools: [] }), signal());
    expect(provider?.received[0]?.body).not.toHaveProperty('tools');
  });

  it('knows the name of its model', () => {
    expect(make('http://127.0.0.1:1').model).toBe('scripted');
  });
});
