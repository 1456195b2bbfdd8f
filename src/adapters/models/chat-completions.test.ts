import { describe, expect, it } from 'vitest';
import { chatBody, readChunks, readCompletion } from './chat-completions.ts';

async function* chunksOf(...chunks: readonly unknown[]): AsyncGenerator<unknown> {
  yield* chunks;
}

const delta = (content: object, finish: string | null = null) => ({
  choices: [{ delta: content, finish_reason: finish }],
});
const read = (...chunks: readonly unknown[]) => readChunks(chunksOf(...chunks), () => {});

describe('readCompletion', () => {
  it('gives ids to calls that came without, in the message too', () => {
    const tool_calls = [{ function: { name: 'read', arguments: '{}' } }];
    const { calls, messages } = readCompletion({
      choices: [{ message: { role: 'assistant', content: '', tool_calls } }],
    });
    const [sent] = (messages[0] as unknown as { tool_calls: { id: string }[] }).tool_calls;
    expect(calls[0]?.id).toMatch(/^call_/);
    expect(sent?.id).toBe(calls[0]?.id);
  });

  it('gives calls ids of their own that came with the same, since a decision names one call', () => {
    const called = (path: string) => ({ id: 'call_0', function: { name: 'remove', arguments: `{"path":"${path}"}` } });
    const message = { role: 'assistant', content: '', tool_calls: [called('a'), called('b')] };
    const { calls } = readCompletion({ choices: [{ message }] });
    expect(calls.map(({ arguments: args }) => args)).toEqual([{ path: 'a' }, { path: 'b' }]);
    expect(calls[0]?.id).toBe('call_0');
    expect(calls[1]?.id).toMatch(/^call_.{36}$/);
  });

  it('tells a call that was cut before its arguments', () => {
    const tool_calls = [{ id: 'a', function: { name: 'write', arguments: '' } }];
    const choice = { message: { role: 'assistant', content: '', tool_calls }, finish_reason: 'length' };
    expect(readCompletion({ choices: [choice] }).calls[0]?.malformed).toBe('they were cut off');
  });

  it('keeps what it does not know, such as reasoning that must be passed back', () => {
    const message = { role: 'assistant', content: 'Yes.', reasoning_content: 'hm', annotations: [] };
    expect(readCompletion({ choices: [{ message, finish_reason: 'stop' }] }).messages[0]).toBe(message);
  });

  it('tells a refusal', () => {
    const message = { role: 'assistant', content: null, refusal: 'I will not.' };
    expect(readCompletion({ choices: [{ message }] })).toMatchObject({ stop: 'refusal', messages: [message] });
  });

  it('throws what a server says in a body that should hold an answer', () => {
    expect(() => readCompletion({ error: { message: 'model not loaded' } })).toThrow(/found: model not loaded/);
    expect(() => readCompletion({})).toThrow(expect.objectContaining({ code: 'MODEL_FAILED' }));
  });
});

describe('readChunks', () => {
  it('puts reasoning, text and interleaved calls together', async () => {
    const { messages, calls, text } = await read(
      delta({ role: 'assistant', reasoning_content: 'I ' }),
      delta({ reasoning_content: 'think', content: null }),
      delta({ content: 'So ' }),
      delta({ content: 'be it.' }),
      delta({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'read', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'list', arguments: '{' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"p":1}' } }] }),
      delta({ tool_calls: [{ index: 1, id: '', function: { name: null, arguments: '}' } }] }),
      delta({}, 'tool_calls'),
    );
    expect(text).toBe('So be it.');
    expect(calls).toEqual([
      { id: 'a', name: 'read', arguments: { p: 1 } },
      { id: 'b', name: 'list', arguments: {} },
    ]);
    expect(messages[0]).toMatchObject({ role: 'assistant', reasoning_content: 'I think', content: 'So be it.' });
  });

  it('takes calls that come in one piece and without an index', async () => {
    const whole = (name: string) => ({ tool_calls: [{ function: { name, arguments: '{}' } }] });
    const { calls } = await read(delta(whole('read')), delta(whole('list')), delta({}, 'stop'));
    expect(calls.map(({ name }) => name)).toEqual(['read', 'list']);
  });

  it('takes calls that are counted from 1, and leaves no hole before them', async () => {
    const call = { index: 1, id: 'a', function: { name: 'read', arguments: '{}' } };
    const { messages } = await read(delta({ tool_calls: [call] }), delta({}, 'tool_calls'));
    expect(messages[0]).toMatchObject({ tool_calls: [{ id: 'a', function: { name: 'read' } }] });
  });

  it('keeps calls apart that all have the index 0, as behind some gateways to Gemini', async () => {
    const whole = (id: string) => ({ index: 0, id, function: { name: 'read', arguments: `{"p":"${id}"}` } });
    const { calls } = await read(
      delta({ tool_calls: [whole('a')] }),
      delta({ tool_calls: [whole('b')] }),
      delta({}, 'tool_calls'),
    );
    expect(calls).toEqual([
      { id: 'a', name: 'read', arguments: { p: 'a' } },
      { id: 'b', name: 'read', arguments: { p: 'b' } },
    ]);
  });

  it('keeps a call together whose id changes from piece to piece', async () => {
    const piece = (id: string, part: object) => delta({ tool_calls: [{ index: 0, id, function: part }] });
    const { calls } = await read(
      piece('a', { name: 'read', arguments: '{"p"' }),
      piece('b', { arguments: ':1}' }),
      delta({}, 'tool_calls'),
    );
    expect(calls).toMatchObject([{ name: 'read', arguments: { p: 1 } }]);
  });

  it('keeps signed thoughts that come as lists, and fields of a call it does not know', async () => {
    const { messages } = await read(
      delta({ reasoning_details: [{ id: 1 }] }),
      delta({ reasoning_details: [{ id: 2 }] }),
      delta({
        tool_calls: [
          { index: 0, id: 'a', extra_content: { google: { thought_signature: 's' } }, function: { name: 'x' } },
        ],
      }),
      delta({}, 'tool_calls'),
    );
    expect(messages[0]).toMatchObject({
      reasoning_details: [{ id: 1 }, { id: 2 }],
      tool_calls: [{ extra_content: { google: { thought_signature: 's' } } }],
    });
  });

  it('does not take a stream that broke off for an answer', async () => {
    await expect(read(delta({ content: 'I was say' }))).rejects.toThrow(/ended before the answer did/);
    await expect(read({ choices: [{ delta: { content: 'I was say' }, finish_reason: '' }] })).rejects.toThrow(
      /ended before the answer did/,
    );
    await expect(read()).rejects.toMatchObject({ code: 'MODEL_FAILED' });
  });

  it('throws what a server says in the middle of a stream', async () => {
    await expect(read(delta({ content: 'I' }), { error: { message: 'overloaded' } })).rejects.toThrow(/overloaded/);
  });
});

describe('chatBody', () => {
  it('keeps the tools that the provider runs itself', () => {
    const tools = [{ name: 'read', description: '', parameters: {} }];
    const parameters = { model: 'm', tools: [{ type: 'web_search' }] };
    const body = chatBody({ messages: [], tools }, { parameters, outputField: 'max_tokens' });
    expect(body.tools).toEqual([{ type: 'web_search' }, { type: 'function', function: tools[0] }]);
  });

  it('lets parameters of the caller win', () => {
    const request = { messages: [], tools: [], maxOutputTokens: 10 };
    const parameters = { model: 'm', max_tokens: 99, temperature: 0 };
    expect(chatBody(request, { parameters, outputField: 'max_tokens' })).toEqual({
      model: 'm',
      max_tokens: 99,
      temperature: 0,
      messages: [],
    });
  });
});
