import { describe, expect, it } from 'vitest';
import type { ModelRequest } from '../../manager/agent/model.ts';
import { fromAiSdk } from './from-ai-sdk.ts';

const requires = [
  { field: 'thinking.block_binding.prefix_mismatch_behavior', value: 'drop_block', header: 'h', headerValue: 'v' },
];

/** The request to a model of the SDK that answers this. */
async function ask(answer: object, more: Partial<ModelRequest<never>> = {}, settings: object = {}) {
  const asked: Record<string, unknown>[] = [];
  const give = async (options: never) => {
    asked.push(options);
    return answer;
  };
  const model = { modelId: 'm', doGenerate: give, doStream: give as () => Promise<{ stream: unknown }> };
  const reply = await fromAiSdk(model, settings as never)(
    { messages: [], tools: [], ...more },
    new AbortController().signal,
  );
  return { reply, options: asked[0] ?? {} };
}

const finish = { usage: { inputTokens: 7, outputTokens: 2 }, finishReason: 'stop' };

describe('fromAiSdk', () => {
  it('passes signatures and ids of items back to the provider', async () => {
    const providerMetadata = { anthropic: { signature: 's' } };
    const content = [
      { type: 'reasoning', text: 'hm', providerMetadata },
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'read',
        input: '{"a":1}',
        providerMetadata: { openai: { itemId: 'fc_1' } },
      },
    ];
    const { reply } = await ask({ ...finish, content });
    expect(reply.messages).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: providerMetadata },
          {
            type: 'tool-call',
            toolCallId: 'c',
            toolName: 'read',
            input: { a: 1 },
            providerOptions: { openai: { itemId: 'fc_1' } },
          },
        ],
      },
    ]);
  });

  it('keeps what the provider ran itself in its reply, and does not ask us to run it', async () => {
    const content = [
      { type: 'tool-call', toolCallId: 'c', toolName: 'web_search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'c', toolName: 'web_search', result: [1] },
      { type: 'text', text: 'Found.' },
    ];
    const { reply } = await ask({ ...finish, content });
    expect(reply.calls).toEqual([]);
    expect(reply.messages[0]?.content).toMatchObject([
      { type: 'tool-call', providerExecuted: true },
      { type: 'tool-result', output: { type: 'json', value: [1] } },
      { type: 'text' },
    ]);
  });

  it('gives a call back as an object, though its input was cut off', async () => {
    const call = { type: 'tool-call', toolCallId: 'c', toolName: 'write', input: '{"path": "a' };
    const { reply } = await ask({ ...finish, content: [call] });
    expect(reply.messages[0]?.content).toMatchObject([{ toolCallId: 'c', input: {} }]);
    expect(reply.calls[0]?.malformed).toMatch(/JSON/);
    const readable = { ...call, input: '{"path": "a"}' };
    const cut = await ask({ ...finish, finishReason: 'length', content: [readable] });
    expect(cut.reply.calls[0]?.malformed).toBe('they were cut off');
  });

  it('keeps the tools that the provider runs itself, and what the caller says about their choice', async () => {
    const tools = [{ name: 'read', description: '', parameters: {} }];
    const own = { tools: [{ type: 'provider', id: 'openai.web_search' }], toolChoice: { type: 'required' } };
    const { options } = await ask({ ...finish, content: [] }, { tools }, own);
    expect(options.tools).toMatchObject([{ id: 'openai.web_search' }, { name: 'read' }]);
    expect(options.toolChoice).toEqual({ type: 'required' });
    expect((await ask({ ...finish, content: [] }, { tools })).options.toolChoice).toEqual({ type: 'auto' });
  });

  it('opts into losing thinking that is bound to words that were edited, beside options of the caller', async () => {
    const settings = {
      temperature: 0,
      providerOptions: { anthropic: { thinking: { type: 'adaptive' } }, openai: { a: 1 } },
    };
    const { options } = await ask({ ...finish, content: [] }, { requires }, settings);
    expect(options).toMatchObject({
      temperature: 0,
      providerOptions: {
        anthropic: { thinking: { type: 'adaptive', blockBinding: { prefixMismatchBehavior: 'drop_block' } } },
        openai: { a: 1 },
      },
    });
  });

  it.each([
    ['length', 'length'],
    [{ unified: 'content-filter', raw: 'refusal' }, 'refusal'],
    [{ unified: 'other', raw: 'pause_turn' }, 'pause'],
    [{ unified: 'length', raw: 'model_context_window_exceeded' }, 'context-full'],
    [{ unified: 'tool-calls', raw: 'tool_use' }, 'end'],
  ])('reads the finish reason %o as %s', async (finishReason, stop) => {
    expect((await ask({ content: [], finishReason })).reply.stop).toBe(stop);
  });

  it('reads a stream of reasoning, text and calls, and throws what is said in one', async () => {
    async function* parts() {
      yield { type: 'stream-start', warnings: [] };
      yield { type: 'reasoning-start', id: '1' };
      yield { type: 'reasoning-delta', id: '1', delta: 'hm' };
      yield { type: 'reasoning-end', id: '1', providerMetadata: { anthropic: { signature: 's' } } };
      yield { type: 'text-start', id: '1' };
      yield { type: 'text-delta', id: '1', delta: 'Yes.' };
      yield { type: 'text-end', id: '1' };
      yield { type: 'finish', ...finish };
    }
    const { reply } = await ask({ stream: parts() }, { onText: () => {} });
    expect(reply.messages[0]?.content).toEqual([
      { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } },
      { type: 'text', text: 'Yes.' },
    ]);
    async function* broken() {
      yield { type: 'error', error: { message: 'overloaded' } };
    }
    await expect(ask({ stream: broken() }, { onText: () => {} })).rejects.toThrow(/overloaded/);
  });

  it('refuses what is no model', () => {
    expect(() => fromAiSdk('gpt-5' as never)).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }));
  });
});
