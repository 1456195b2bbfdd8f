import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/gateway/decide/pass-through.ts';
import { type Policy, slidingWindow } from '../../../src/index.ts';
import {
  anthropicBody,
  anthropicMessages,
  Desk,
  type Json,
  maskedIn,
  output,
  parsed,
} from '../../support/gateway/requests.ts';

const policy = () => slidingWindow({ turns: 2 });
const messages = anthropicMessages(8);
const body = anthropicBody(messages);
const json = JSON.stringify(body);

const items = messages.flatMap((_, turn): Json[] => [
  { type: 'function_call', call_id: `c${turn}`, name: 'read', arguments: '{}' },
  { type: 'function_call_output', call_id: `c${turn}`, output: output(turn) },
]);
const responses = { model: 'gpt-5', input: [{ role: 'user', content: 'Go' }, ...items] };

const gemini = JSON.stringify({
  contents: messages.flatMap((_, turn): Json[] => [
    { role: 'model', parts: [{ functionCall: { name: 'read', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'read', response: { output: output(turn) } } }] },
  ]),
});

/** The messages of Bedrock's Converse, sent to an API that has others. */
const converse = messages.flatMap((_, turn): Json[] => [
  { role: 'assistant', content: [{ toolUse: { toolUseId: `c${turn}`, name: 'read', input: {} } }] },
  { role: 'user', content: [{ toolResult: { toolUseId: `c${turn}`, content: [{ text: output(turn) }] } }] },
]);

function reasonOf(request: unknown, more = {}): Reason | undefined {
  const asked = new Desk({ policy }).ask(request, more);
  if (asked.explanation.reason === undefined) expect(asked.explanation.masked).toBeGreaterThan(0);
  else {
    expect(asked.body).toBeUndefined();
    expect(asked.explanation.act).toBe('pass-through');
    expect(asked.explanation.because).not.toBe('');
  }
  return asked.explanation.reason;
}

describe('a request passes through', () => {
  it.each<[Reason, unknown, object]>([
    ['empty-body', '', {}],
    ['byte-order-mark', `\ufeff${json}`, {}],
    ['charset', json, { headers: { 'content-type': 'application/json; charset=iso-8859-1' } }],
    ['not-json', json.slice(0, -1), {}],
    ['not-json', `${json}}`, {}],
    ['not-json', json.replace('"Step 3"', '"Step \n 3"'), {}],
    ['not-json', json.replace('"max_tokens":4096', '"max_tokens":"\\x"'), {}],
    ['not-json', json.replace('careful', 'care\\xful'), {}],
    ['not-json', json.replace('"max_tokens"', '"max\\_tokens"'), {}],
    ['not-json', json.replace('"max_tokens"', '"max\ntokens"'), {}],
    ['not-json', '[]', {}],
    ['too-deep', json.replace('"max_tokens":4096', `"x":${'['.repeat(300)}${']'.repeat(300)}`), {}],
    ['duplicate-keys', json.replace('"max_tokens":4096', '"messages":[]'), {}],
    ['duplicate-keys', json.replace('"tool_use_id":"toolu_0002"', '$&,"content":"x"'), {}],
    ['duplicate-keys', json.replace('"tool_use_id":"toolu_0002"', '$&,"con\\u0074ent":"x"'), {}],
    ['duplicate-keys', gemini.replace('"response":', '"response":{},"response":'), { api: 'gemini' }],
    ['unknown-format', '{}', {}],
    ['unknown-format', { model: 'm', messages: ['hello'] }, {}],
    ['unknown-format', { model: 'm', messages: [] }, {}],
    ['unknown-format', { prompt: 'Once upon a time' }, {}],
    ['unknown-format', { ...body, messages: converse }, {}],
    ['unknown-format', { model: 'm', messages: converse }, { api: 'openai-chat' }],
    ['unknown-format', { model: 'm', input: messages }, { api: 'openai-responses' }],
    ['unknown-format', { model: 'm', contents: messages }, { api: 'gemini', path: '/v1beta/models/m:generateContent' }],
    ['thread', { ...body, thread: { type: 'continue', id: 't' } }, {}],
    ['previous-response', { ...responses, previous_response_id: 'resp_1' }, { api: 'openai-responses' }],
    ['conversation', { ...responses, conversation: 'conv_1' }, { api: 'openai-responses' }],
  ])('with the reason %s (%#)', (reason, request, more) => {
    expect(reasonOf(request, more)).toBe(reason);
  });
});

/** The same conversation in other APIs. */
const chat = {
  model: 'gpt-5',
  messages: messages.flatMap((_, turn): Json[] => [
    {
      role: 'assistant',
      tool_calls: [{ id: `c${turn}`, type: 'function', function: { name: 'read', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: `c${turn}`, content: output(turn) },
  ]),
};
const contents = JSON.parse(gemini) as Json;

describe('a request is planned, and nothing new is masked,', () => {
  const thinking = { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 1 } };
  it.each<[Reason, unknown, object]>([
    ['compaction', { ...body, compaction: { type: 'summarize' } }, {}],
    ['context-management', { ...body, context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }, {}],
    ['context-management', { ...body, context_management: { edits: [thinking] } }, {}],
    ['context-management', { ...responses, context_management: [{ type: 'compaction' }] }, { api: 'openai-responses' }],
    [
      'compaction',
      { ...responses, input: [...responses.input, { type: 'compaction_trigger' }] },
      { api: 'openai-responses' },
    ],
    ['compaction', responses, { api: 'openai-responses', path: '/v1/responses/compact' }],
    ['side-call', { ...body, output_config: { format: { type: 'json_schema' } } }, {}],
    ['side-call', { ...body, tools: [], output_format: { type: 'json_schema' } }, {}],
    ['side-call', { ...responses, text: { format: { type: 'json_schema' } } }, { api: 'openai-responses' }],
    ['side-call', { ...chat, response_format: { type: 'json_object' } }, { api: 'openai-chat' }],
    ['side-call', { ...chat, format: 'json' }, { api: 'ollama', path: '/api/chat' }],
    ['side-call', { ...contents, generationConfig: { responseMimeType: 'application/json' } }, { api: 'gemini' }],
  ])('with the reason %s (%#)', (reason, request, more) => {
    const asked = new Desk({ policy }).ask(request, more);
    expect(asked.body).toBeUndefined();
    expect(asked.explanation).toMatchObject({ reason, act: 'wait', masked: 0 });
    expect(asked.events).toEqual([]);
  });
});

describe('a policy that fails', () => {
  it('lets the request pass in the session and arm that it belongs to', () => {
    const policy = (): Policy => {
      throw new Error('no');
    };
    const held = { arm: 'held-out', share: 0.1 } as const;
    const asked = new Desk({ policy, arms: { recorded: held, starting: held, started: held } }).ask(body);
    expect(asked.explanation.reason).toBe('failed');
    expect(asked).toMatchObject({ arm: 'held-out', holdoutShare: 0.1, session: new Desk({}).look(body).session });
    expect(asked.session).not.toBe('');
  });
});

describe('a request is read', () => {
  it.each<[string, unknown, object]>([
    [
      'as a coding agent sends it',
      { ...body, context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
      {},
    ],
    ['with fields that are set to nothing', { ...body, context_management: null, thread: null, compaction: false }, {}],
    ['with repeated keys where nothing is edited', json.replace('"path":"src/file-2.ts"', '"path":"a","path":"b"'), {}],
    ['nested 200 deep', json.replace('"max_tokens":4096', `"x":${'['.repeat(200)}${']'.repeat(200)}`), {}],
    ['in UTF-8 that says so', json, { headers: { 'content-type': 'application/json; charset=UTF-8' } }],
    ['with white space around it', `\n ${json}\n`, {}],
    ['of the Responses API', responses, { api: 'openai-responses' }],
    [
      'with tools and a shape for the answer',
      { ...body, tools: [{ name: 'x' }], output_format: { type: 'json_schema' } },
      {},
    ],
    ['with an answer of plain text', { ...contents, generationConfig: { temperature: 0 } }, { api: 'gemini' }],
    ['without a previous response', { ...responses, previous_response_id: null }, { api: 'openai-responses' }],
  ])('%s', (_name, request, more) => {
    expect(reasonOf(request, more)).toBeUndefined();
  });

  it('without a list of items', () => {
    const asked = new Desk({ policy }).ask({ model: 'gpt-5', input: 'Hello' }, { api: 'openai-responses' });
    expect(asked.body).toBeUndefined();
  });
});

describe('what cannot be read as text', () => {
  it('is never masked, and all others are', () => {
    const marker = 'in turn 2:';
    const bytes = Buffer.from(json);
    bytes.writeUInt8(0xff, bytes.indexOf(marker));
    const asked = new Desk({ policy }).ask(bytes);
    expect(maskedIn(asked.out)).toEqual([true, false, true, true, true, true, false, false]);
    expect(asked.out.includes(0xff)).toBe(true);
  });

  it('a text with half a character is masked and comes back', () => {
    const odd = anthropicBody(anthropicMessages(8, { results: (turn) => `\ud800 ${output(turn)}` }));
    const asked = new Desk({ policy }).ask(odd);
    expect(asked.explanation.masked).toBe(6);
    expect(asked.hidden[0]?.text).toBe(`\ud800 ${output(1)}`);
  });
});

describe('a policy that fails', () => {
  it('lets the original go out, and the next request is planned anew', () => {
    let isBroken = true;
    const desk = new Desk({
      policy: () => ({
        init: () => undefined,
        step: () => {
          if (isBroken) throw new Error('secret words of a request');
          return { state: undefined, mask: [], because: { act: 'wait', because: 'fine' } };
        },
      }),
    });
    const failed = desk.ask(body);
    expect(failed.body).toBeUndefined();
    expect(failed.explanation).toMatchObject({ reason: 'failed', because: 'the gateway failed to decide' });
    isBroken = false;
    expect(desk.ask(body).explanation.because).toBe('fine');
  });

  it('is left aside where it would leave messages out', () => {
    const desk = new Desk({
      policy: () => ({
        init: () => undefined,
        step: (state) => ({ state, mask: [], summarize: 4, because: { act: 'mask', because: 'summary' } }),
      }),
    });
    const asked = desk.ask(body);
    expect(asked.body).toBeUndefined();
    expect(asked.explanation).toMatchObject({ act: 'off', reason: 'law' });
  });
});

describe('a body of 50 MB', () => {
  it('is read, and edited where it must be', () => {
    const large = { ...body, metadata: { note: 'x'.repeat(50 * 1024 * 1024) } };
    const asked = new Desk({ policy }).ask(large);
    expect(asked.explanation.masked).toBe(6);
    expect((parsed(asked.out).metadata as { note: string }).note).toHaveLength(50 * 1024 * 1024);
  });
});
