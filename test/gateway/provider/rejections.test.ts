import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fields } from '../../support/provider/json.ts';
import {
  ANTHROPIC,
  type Answer,
  CHAT,
  GEMINI,
  PATHS,
  post,
  RESPONSES,
  withChange,
} from '../../support/provider/requests.ts';
import { type Provider, startProvider } from '../../support/provider/start-provider.ts';

const SCRIPT = [{ text: 'one' }, { text: 'two' }, { text: 'three' }];
let provider: Provider;

beforeAll(async () => {
  provider = await startProvider({ script: SCRIPT, contextTokens: 60_000, mostBytes: 400_000 });
});
afterAll(() => provider.close());

type Path = keyof typeof PATHS;

/** What was wrong, the request, and the words of the answer. */
type Row = readonly [name: string, body: Fields, text: string | RegExp, about?: About];

interface About {
  readonly status?: number;
  readonly path?: Path;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly param?: string;
  readonly code?: string;
}

const messageOf = ({ body }: Answer): string => String((body.error as Fields | undefined)?.message);

function rejects(path: Path, rows: readonly Row[], check: (answer: Answer, about: About) => void): void {
  it.each(rows.map(([name, body, text, about = {}]) => ({ name, body, text, about })))('rejects $name', async (row) => {
    const { body, text, about } = row;
    const answer = await post(provider.url + PATHS[about.path ?? path], body, about.headers);
    expect(answer.status, answer.text).toBe(about.status ?? 400);
    if (typeof text === 'string') expect(messageOf(answer)).toBe(text);
    else expect(messageOf(answer)).toMatch(text);
    check(answer, about);
  });
}

const use = (id: string): Fields => ({ type: 'tool_use', id, name: 'bash', input: {} });
const result = (id: string, content: unknown = 'x'): Fields => ({ type: 'tool_result', tool_use_id: id, content });
const messages = (...list: Fields[]): Fields => withChange(ANTHROPIC, ['messages'], list);
const user = (content: unknown): Fields => ({ role: 'user', content });
const assistant = (content: unknown): Fields => ({ role: 'assistant', content });
const long = 'many words '.repeat(30_000);

describe('Anthropic Messages', () => {
  it('takes the request that all changes begin with, and counts it', async () => {
    expect((await post(provider.url + PATHS.anthropic, ANTHROPIC)).status).toBe(200);
    const { max_tokens: _most, ...counted } = ANTHROPIC;
    expect((await post(provider.url + PATHS.count, counted)).body.input_tokens).toBeGreaterThan(20);
  });

  const marked = (text: string, ttl?: string): Fields => ({
    type: 'text',
    text,
    cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) },
  });
  const thinking = (value: Fields): Fields => withChange(ANTHROPIC, ['thinking'], value);
  const NO_RESULT = (message: number, ids: string): string =>
    `messages.${message}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ` +
    'Each `tool_use` block must have a corresponding `tool_result` block in the next message.';
  const NO_CALL = (place: string, id: string): string =>
    `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.';

  rejects(
    'anthropic',
    [
      [
        'a request without a key',
        ANTHROPIC,
        'x-api-key header is required',
        { status: 401, headers: { 'x-api-key': undefined, authorization: undefined } },
      ],
      [
        'a request without a version',
        ANTHROPIC,
        'anthropic-version: header is required',
        { headers: { 'anthropic-version': undefined } },
      ],
      ['an unknown field', withChange(ANTHROPIC, ['colour'], 1), 'colour: Extra inputs are not permitted'],
      [
        'max_tokens where tokens are counted',
        ANTHROPIC,
        'max_tokens: Extra inputs are not permitted',
        { path: 'count' },
      ],
      [
        'an unknown field of a message',
        withChange(ANTHROPIC, ['messages', 0, 'id'], 'x'),
        'messages.0.id: Extra inputs are not permitted',
      ],
      [
        'an unknown field of a result',
        withChange(ANTHROPIC, ['messages', 2, 'content', 0, 'tokens'], 4),
        'messages.2.content.0.tool_result.tokens: Extra inputs are not permitted',
      ],
      [
        'an unknown kind of block',
        messages(user([{ type: 'picture' }])),
        /^messages\.0\.content\.0: Input tag 'picture' found using 'type' does not match any of the expected tags$/,
      ],
      [
        'an empty message',
        messages(user('a'), assistant(''), user('b')),
        'messages.1: all messages must have non-empty content except for the optional final assistant message',
      ],
      [
        'an empty text',
        messages(user([{ type: 'text', text: '' }])),
        'messages: text content blocks must be non-empty',
      ],
      [
        'a text of blanks',
        messages(user([{ type: 'text', text: ' \n' }])),
        'messages: text content blocks must contain non-whitespace text',
      ],
      [
        'an empty text in a result',
        messages(user('a'), assistant([use('t1')]), user([result('t1', [{ type: 'text', text: '' }])])),
        'messages: text content blocks must be non-empty',
      ],
      ['a call without a result', messages(user('a'), assistant([use('t1')]), user('b')), NO_RESULT(1, 't1')],
      [
        'a call without a result where tokens are counted',
        withChange(messages(user('a'), assistant([use('t1')]), user('b')), ['max_tokens'], undefined),
        NO_RESULT(1, 't1'),
        { path: 'count' },
      ],
      [
        'one of two parallel calls without a result',
        messages(
          user('a'),
          assistant([use('t1'), use('t2')]),
          user([result('t1')]),
          assistant('c'),
          user([result('t2')]),
        ),
        NO_RESULT(1, 't2'),
      ],
      [
        'a result behind a text',
        messages(user('a'), assistant([use('t1')]), user([{ type: 'text', text: 'b' }, result('t1')])),
        NO_RESULT(1, 't1'),
      ],
      ['a call at the very end', messages(user('a'), assistant([use('t1')])), NO_RESULT(1, 't1')],
      ['a result without a call', messages(user([result('t1')])), NO_CALL('messages.0.content.0', 't1')],
      [
        'a result of an older call',
        messages(user('a'), assistant([use('t1')]), user([result('t1')]), assistant('b'), user([result('t1')])),
        NO_CALL('messages.4.content.0', 't1'),
      ],
      [
        'two results of one call',
        messages(user('a'), assistant([use('t1')]), user([result('t1'), result('t1')])),
        'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1',
      ],
      [
        'one id for two calls',
        messages(user('a'), assistant([use('t1')]), user([result('t1')]), assistant([use('t1')]), user([result('t1')])),
        'messages.3.content: `tool_use` ids must be unique',
      ],
      [
        'a failed result that says nothing',
        messages(user('a'), assistant([use('t1')]), user([{ ...result('t1', ''), is_error: true }])),
        'messages.2.content.0.tool_result: content cannot be empty if `is_error` is true',
      ],
      [
        'five cache markers',
        withChange(messages(user(['a', 'b', 'c', 'd'].map((text) => marked(text)))), ['system'], [marked('s')]),
        'A maximum of 4 blocks with cache_control may be provided. Found 5.',
      ],
      [
        'a marker on an empty text',
        messages(user([marked('')])),
        'messages.0.content.0.text: cache_control cannot be set for empty text blocks',
      ],
      [
        'a marker of another kind',
        messages(user([{ type: 'text', text: 'a', cache_control: { type: 'forever' } }])),
        "messages.0.content.0.cache_control.type: Input should be 'ephemeral'",
      ],
      [
        'a marker of another lifetime',
        messages(user([marked('a', '2h')])),
        "messages.0.content.0.cache_control.ttl: Input should be '5m' or '1h'",
      ],
      [
        'a long lifetime behind a short one',
        messages(user([marked('a'), marked('b', '1h')])),
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. " +
          'Note that blocks are processed in the following order: `tools`, `system`, `messages`.',
      ],
      [
        'a marker on thinking',
        messages(
          user('a'),
          assistant([{ type: 'thinking', thinking: 't', signature: 's', cache_control: {} }]),
          user('b'),
        ),
        'messages.1.content.0.thinking.cache_control: Extra inputs are not permitted',
      ],
      [
        'thinking without a signature',
        messages(user('a'), assistant([{ type: 'thinking', thinking: 't' }]), user('b')),
        'messages.1.content.0.thinking.signature: Field required',
      ],
      [
        'a signature that nobody gave',
        messages(user('a'), assistant([{ type: 'thinking', thinking: 't', signature: 'bm8=' }]), user('b')),
        'messages.1.content.0: Invalid `signature` in `thinking` block',
      ],
      [
        'redacted thinking that nobody gave',
        messages(user('a'), assistant([{ type: 'redacted_thinking', data: 'bm8=' }]), user('b')),
        'messages.1.content.0: Invalid `data` in `redacted_thinking` block',
      ],
      [
        'block_binding without its beta',
        thinking({ type: 'adaptive', block_binding: {} }),
        'thinking.adaptive.block_binding: Extra inputs are not permitted',
      ],
      [
        'an unknown behavior',
        thinking({ type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'ignore' } }),
        "thinking.adaptive.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
        { headers: { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' } },
      ],
      [
        'block_binding with thinking between tools',
        thinking({ type: 'between_tools', block_binding: {} }),
        'thinking.between_tools.block_binding: Extra inputs are not permitted',
        { headers: { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' } },
      ],
      [
        'context_management without its beta',
        withChange(ANTHROPIC, ['context_management'], { edits: [] }),
        'context_management: Extra inputs are not permitted',
      ],
      [
        'messages that are no list',
        withChange(ANTHROPIC, ['messages'], 'a'),
        'messages: Input should be a valid array',
      ],
      [
        'a message that is no object',
        withChange(ANTHROPIC, ['messages', 0], 'a'),
        'messages.0: Input should be an object',
      ],
      [
        'a content that is no list',
        messages(user({ type: 'text', text: 'a' })),
        'messages.0.content: Input should be a valid array',
      ],
      ['a block that is no object', messages(user(['a'])), 'messages.0.content.0: Input should be an object'],
      [
        'a text that is none',
        messages(user([{ type: 'text', text: 1 }])),
        'messages.0.content.0.text.text: Input should be a valid string',
      ],
      ['a string of blanks', messages(user(' ')), 'messages: text content blocks must contain non-whitespace text'],
      [
        'a result whose content is no list',
        messages(user('a'), assistant([use('t1')]), user([result('t1', { text: 'x' })])),
        'messages.2.content.0.tool_result.content: Input should be a valid array',
      ],
      [
        'thinking without a thought',
        messages(user('a'), assistant([{ type: 'thinking', signature: 's' }]), user('b')),
        'messages.1.content.0.thinking.thinking: Field required',
      ],
      [
        'an unknown field of block_binding',
        thinking({ type: 'adaptive', block_binding: { mode: 'x' } }),
        'thinking.adaptive.block_binding.mode: Extra inputs are not permitted',
        { headers: { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' } },
      ],
      ['a prompt that is too long', messages(user(long)), /^prompt is too long: \d+ tokens > 60000 maximum$/],
      ['a body that is too large', messages(user(long.repeat(2))), 'Request exceeds the maximum size', { status: 413 }],
    ],
    ({ body, headers, status }) => {
      const types: Record<number, string> = {
        401: 'authentication_error',
        404: 'not_found_error',
        413: 'request_too_large',
      };
      expect(body).toEqual({
        type: 'error',
        error: { type: types[status] ?? 'invalid_request_error', message: expect.any(String) },
        request_id: headers.get('request-id'),
      });
    },
  );

  it.each([
    ['no JSON', '{', /^The request body is not valid JSON: /],
    ['a list', '[]', /^The request body is not valid JSON: /],
    [
      'half a surrogate pair',
      JSON.stringify(ANTHROPIC).replace('Fix', '\\ud83d'),
      /^The request body is not valid JSON: no low surrogate in string: line 1 column \d+ \(char \d+\)$/,
    ],
    [
      'bytes that are no UTF-8',
      Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      /^The request body is not valid JSON: str is not valid UTF-8: surrogates not allowed/,
    ],
  ])('rejects %s', async (_name, body, text) => {
    const answer = await post(provider.url + PATHS.anthropic, body);
    expect([answer.status, messageOf(answer)]).toEqual([400, expect.stringMatching(text)]);
  });

  it('takes a whole surrogate pair, escaped', async () => {
    const body = JSON.stringify(ANTHROPIC).replace('Fix', '\\ud83d\\ude00');
    expect((await post(provider.url + PATHS.anthropic, body)).status).toBe(200);
  });

  it('takes a compressed body', async () => {
    const body = Uint8Array.from(gzipSync(JSON.stringify(ANTHROPIC)));
    expect((await post(provider.url + PATHS.anthropic, body, { 'content-encoding': 'gzip' })).status).toBe(200);
  });

  it('takes no other encoding', async () => {
    const answer = await post(provider.url + PATHS.anthropic, ANTHROPIC, { 'content-encoding': 'zip' });
    expect([answer.status, messageOf(answer)]).toEqual([415, 'Unsupported content-encoding: zip']);
  });

  it('has no other path and no other method', async () => {
    const answer = await post(`${provider.url}/v1/nothing`, ANTHROPIC);
    expect(answer.body).toMatchObject({ error: { type: 'not_found_error', message: 'Not found' } });
    expect((await fetch(provider.url + PATHS.anthropic)).status).toBe(405);
  });
});

describe('OpenAI Chat Completions', () => {
  it('takes the request that all changes begin with', async () => {
    expect((await post(provider.url + PATHS.chat, CHAT)).status).toBe(200);
  });

  const chat = (...list: Fields[]): Fields => withChange(CHAT, ['messages'], list);
  const call = (id: string): Fields => ({ id, type: 'function', function: { name: 'bash', arguments: '{}' } });
  const calls = (...ids: string[]): Fields => ({ role: 'assistant', content: null, tool_calls: ids.map(call) });
  const tool = (id: string, content: unknown = 'x'): Fields => ({ role: 'tool', tool_call_id: id, content });
  const UNANSWERED =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    'The following tool_call_ids did not have response messages: ';
  const UNASKED =
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";

  rejects(
    'chat',
    [
      [
        'a request without a key',
        CHAT,
        /^You didn't provide an API key\. /,
        { status: 401, headers: { authorization: undefined } },
      ],
      ['an unknown field', withChange(CHAT, ['colour'], 1), 'Unrecognized request argument supplied: colour'],
      [
        'a message without content',
        chat(user(null)),
        "Invalid value for 'content': expected a string, got null.",
        { param: 'messages.[0].content' },
      ],
      [
        'a call without a result',
        chat(user('a'), calls('c1'), user('b')),
        `${UNANSWERED}c1`,
        { param: 'messages.[2].role' },
      ],
      [
        'a call without a result at the end',
        chat(user('a'), calls('c1', 'c2'), tool('c1')),
        `${UNANSWERED}c2`,
        { param: 'messages.[3].role' },
      ],
      [
        'a message between parallel results',
        chat(user('a'), calls('c1', 'c2'), tool('c1'), user('b'), tool('c2')),
        `${UNANSWERED}c2`,
        { param: 'messages.[3].role' },
      ],
      ['a result without a call', chat(user('a'), tool('c1')), UNASKED, { param: 'messages.[1].role' }],
      [
        'a result of an older call',
        chat(user('a'), calls('c1'), tool('c1'), user('b'), tool('c1')),
        UNASKED,
        { param: 'messages.[4].role' },
      ],
      [
        'an image in a result',
        chat(user('a'), calls('c1'), tool('c1', [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }])),
        "Invalid 'messages[2]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
        { param: 'messages[2]', code: 'invalid_value' },
      ],
      [
        'a prompt that is too long',
        chat(user(long)),
        /^This model's maximum context length is 60000 tokens\. However, your messages resulted in \d+ tokens\. Please reduce the length of the messages\.$/,
        { param: 'messages', code: 'context_length_exceeded' },
      ],
      ['a body that is too large', chat(user(long.repeat(2))), 'Request body is too large.', { status: 413 }],
    ],
    ({ body }, { param = null, code = null }) => {
      expect(body).toEqual({ error: { message: expect.any(String), type: 'invalid_request_error', param, code } });
    },
  );

  it('rejects no JSON', async () => {
    const answer = await post(provider.url + PATHS.chat, '{');
    expect([answer.status, messageOf(answer)]).toEqual([
      400,
      expect.stringMatching(/^We could not parse the JSON body/),
    ]);
  });

  it('has no other path', async () => {
    const answer = await post(`${provider.url}/v1/nothing`, CHAT, {
      'anthropic-version': undefined,
      'x-goog-api-key': '',
    });
    expect([answer.status, messageOf(answer)]).toEqual([404, 'Invalid URL (POST /v1/nothing)']);
  });
});

describe('OpenAI Responses', () => {
  it('takes the request that all changes begin with', async () => {
    expect((await post(provider.url + PATHS.responses, RESPONSES)).status).toBe(200);
  });

  const input = (...items: Fields[]): Fields => withChange(RESPONSES, ['input'], items);
  const call = (id: string): Fields => ({ type: 'function_call', call_id: id, name: 'bash', arguments: '{}' });
  const output = (id: string): Fields => ({ type: 'function_call_output', call_id: id, output: 'x' });
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };

  rejects(
    'responses',
    [
      [
        'a request without a key',
        RESPONSES,
        /^You didn't provide an API key\. /,
        { status: 401, headers: { authorization: undefined } },
      ],
      [
        'an unknown field',
        withChange(RESPONSES, ['messages'], []),
        "Unknown parameter: 'messages'.",
        { param: 'messages', code: 'unknown_parameter' },
      ],
      [
        'no input',
        withChange(RESPONSES, ['input'], undefined),
        "Missing required parameter: 'input'.",
        { param: 'input', code: 'missing_required_parameter' },
      ],
      [
        'a call without an output',
        input(user('a'), call('c1')),
        'No tool output found for function call c1.',
        { param: 'input' },
      ],
      [
        'an output without a call',
        input(user('a'), output('c1')),
        'No tool call found for function call output with call_id c1.',
        { param: 'input' },
      ],
      [
        'a custom call without an output',
        input(user('a'), { type: 'custom_tool_call', call_id: 'c1', name: 'x', input: 'y' }),
        'No tool output found for custom tool call c1.',
        { param: 'input' },
      ],
      [
        'an output without a custom call',
        input(user('a'), { type: 'custom_tool_call_output', call_id: 'c1', output: 'y' }),
        'No tool call found for custom tool call output with call_id c1.',
        { param: 'input' },
      ],
      [
        'reasoning that nothing follows',
        input(user('a'), reasoning),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        { param: 'input' },
      ],
      [
        'reasoning before a user message',
        input(user('a'), reasoning, user('b')),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
        { param: 'input' },
      ],
      [
        'encrypted reasoning that nobody wrote',
        input(user('a'), { ...reasoning, encrypted_content: 'gAAAAx.y' }, call('c1'), output('c1')),
        'The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
        { code: 'invalid_encrypted_content' },
      ],
      [
        'an item twice',
        input(user('a'), { ...call('c1'), id: 'fc_1' }, output('c1'), { ...call('c2'), id: 'fc_1' }, output('c2')),
        'Duplicate item found with id fc_1. Remove duplicate items from your input and try again.',
        { param: 'input' },
      ],
      [
        'a reference to an item that was not kept',
        input(user('a'), { type: 'item_reference', id: 'rs_9' }),
        "Item with id 'rs_9' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
        { status: 404, param: 'input' },
      ],
      [
        'a response before it that was not kept',
        withChange(RESPONSES, ['previous_response_id'], 'resp_9'),
        "Previous response with id 'resp_9' not found.",
        { param: 'previous_response_id', code: 'previous_response_not_found' },
      ],
      [
        'a prompt that is too long',
        input(user(long)),
        'Your input exceeds the context window of this model. Please adjust your input and try again.',
        { param: 'input', code: 'context_length_exceeded' },
      ],
    ],
    ({ body }, { param = null, code = null }) => {
      expect(body).toEqual({ error: { message: expect.any(String), type: 'invalid_request_error', param, code } });
    },
  );

  it('rejects a call that was said after reasoning and comes back without it', async () => {
    const thinker = await startProvider({ script: [{ thinking: 'hm', calls: [{ name: 'bash', input: {} }] }] });
    const first = await post(thinker.url + PATHS.responses, {
      ...input(user('a')),
      include: ['reasoning.encrypted_content'],
    });
    const [thought, made] = first.body.output as Fields[];
    const next = (...items: (Fields | undefined)[]): Promise<Answer> =>
      post(
        thinker.url + PATHS.responses,
        input(user('a'), ...items.filter((item) => item !== undefined), output(String(made?.call_id))),
      );
    expect((await next(thought, made)).status).toBe(200);
    expect(messageOf(await next(made))).toBe(
      `Item '${made?.id}' of type 'function_call' was provided without its required 'reasoning' item: '${thought?.id}'.`,
    );
    expect(messageOf(await next({ ...thought, id: 'rs_other' }, made && { ...made, id: 'fc_other' }))).toBe(
      'The encrypted content for item rs_other could not be verified. Reason: Encrypted content item_id did not match the target item id.',
    );
    await thinker.close();
  });
});

describe('Gemini', () => {
  it('takes the request that all changes begin with', async () => {
    expect((await post(provider.url + PATHS.gemini, GEMINI)).status).toBe(200);
  });

  const contents = (...list: Fields[]): Fields => withChange(GEMINI, ['contents'], list);
  const said = (text: string): Fields => ({ role: 'user', parts: [{ text }] });
  const called = (count: number): Fields => ({
    role: 'model',
    parts: Array.from({ length: count }, () => ({ functionCall: { name: 'bash', args: {} } })),
  });
  const answered = (count: number): Fields => ({
    role: 'user',
    parts: Array.from({ length: count }, () => ({ functionResponse: { name: 'bash', response: { output: 'x' } } })),
  });

  rejects(
    'gemini',
    [
      [
        'a request without a key',
        GEMINI,
        /^Method doesn't allow unregistered callers /,
        { status: 403, headers: { 'x-goog-api-key': undefined, authorization: undefined } },
      ],
      [
        'no contents',
        withChange(GEMINI, ['contents'], []),
        '* GenerateContentRequest.contents: contents is not specified\n',
      ],
      [
        'an unknown field',
        withChange(GEMINI, ['colour'], 1),
        'Invalid JSON payload received. Unknown name "colour": Cannot find field.',
      ],
      [
        'an unknown field of a part',
        contents({ role: 'user', parts: [{ text: 'a', cacheControl: {} }] }),
        'Invalid JSON payload received. Unknown name "cacheControl" at \'contents[0].parts[0]\': Cannot find field.',
      ],
      [
        'a content without parts',
        contents({ role: 'user', parts: [] }),
        '* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n',
      ],
      [
        'a part that says nothing',
        contents({ role: 'user', parts: [{ thought: true }] }),
        "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field\n",
      ],
      [
        'a response without a name',
        contents(said('a'), called(1), { role: 'user', parts: [{ functionResponse: { response: {} } }] }),
        '* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n',
      ],
      [
        'a response that is no object',
        contents(said('a'), called(1), { role: 'user', parts: [{ functionResponse: { name: 'b', response: 'x' } }] }),
        /^Invalid value at 'contents\[2\]\.parts\[0\]\.function_response\.response'/,
      ],
      [
        'another number of responses than of calls',
        contents(said('a'), called(2), answered(1)),
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      ],
      [
        'a call after a model turn',
        contents(said('a'), { role: 'model', parts: [{ text: 'b' }] }, called(1), answered(1)),
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      ],
      [
        'a response without a call',
        contents(said('a'), answered(1)),
        'Please ensure that function response turn comes immediately after a function call turn.',
      ],
      [
        'a call without its thought signature',
        contents(said('a'), called(1), answered(1)),
        /^Function call is missing a thought_signature in functionCall parts\..* function call `default_api:bash` , position 2\./,
        { path: 'gemini3' },
      ],
      [
        'a thought signature that was altered',
        contents(
          said('a'),
          { role: 'model', parts: [{ functionCall: { name: 'bash', args: {} }, thoughtSignature: 'bm8=' }] },
          answered(1),
        ),
        'Corrupted thought signature.',
        { path: 'gemini3' },
      ],
      [
        'a prompt that is too long',
        contents(said(long)),
        /^The input token count \(\d+\) exceeds the maximum number of tokens allowed \(60000\)\.$/,
      ],
      [
        'a body that is too large',
        contents(said(long.repeat(2))),
        'Request payload size exceeds the limit: 400000 bytes.',
      ],
    ],
    ({ body, status }) => {
      const names: Record<number, string> = { 400: 'INVALID_ARGUMENT', 403: 'PERMISSION_DENIED' };
      expect(body).toEqual({ error: { code: status, message: expect.any(String), status: names[status] } });
    },
  );

  it('has no other path', async () => {
    const answer = await post(`${provider.url}/v1beta/nothing`, GEMINI, { 'anthropic-version': undefined });
    expect([answer.status, messageOf(answer)]).toEqual([404, 'Requested entity was not found.']);
  });

  it('rejects no JSON', async () => {
    expect(messageOf(await post(provider.url + PATHS.gemini, '{'))).toMatch(/^Invalid JSON payload received\. /);
  });
});
