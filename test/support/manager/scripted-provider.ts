import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the model says next, whoever asks in whatever format. */
export interface ScriptedReply {
  readonly text?: string;
  readonly thinking?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
  readonly usage?: { readonly prompt: number; readonly cached?: number; readonly completion: number };
  readonly isCut?: boolean;
  /** In place of an answer. */
  readonly failure?: { readonly status: number; readonly body: unknown };
  /** Waits for ever. */
  readonly hangs?: boolean;
}

/** A request as it came over the wire. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}

/** A provider on loopback that answers as a script says, in the words of OpenAI or Anthropic, whole or streamed. */
export interface ScriptedProvider {
  readonly url: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

export async function startProvider(script: (received: Received) => ScriptedReply): Promise<ScriptedProvider> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const asked = { path: request.url ?? '', headers: request.headers, body };
      received.push(asked);
      answer(asked, script(asked), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? {} : JSON.parse(text);
}

function answer({ path, body }: Received, reply: ScriptedReply, response: ServerResponse): void {
  if (reply.hangs) return;
  if (reply.failure) {
    const { status, body: said } = reply.failure;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(said === undefined ? '' : JSON.stringify(said));
    return;
  }
  const isAnthropic = path.endsWith('/messages');
  if (body.stream !== true) {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isAnthropic ? message(reply) : completion(reply)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const events = isAnthropic ? messageEvents(reply) : [...completionChunks(reply), '[DONE]'];
  for (const event of events) {
    const name = isAnthropic ? `event: ${(event as { type: string }).type}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}

const half = (text: string): [string, string] => [
  text.slice(0, Math.floor(text.length / 2)),
  text.slice(Math.floor(text.length / 2)),
];

function completion({ text = '', thinking, calls = [], usage, isCut }: ScriptedReply): object {
  const toolCalls = calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  const message = {
    role: 'assistant',
    content: text || null,
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, message, finish_reason: finish(calls.length > 0, isCut) }],
    ...(usage ? { usage: openaiUsage(usage) } : {}),
  };
}

const finish = (hasCalls: boolean, isCut = false): string => (isCut ? 'length' : hasCalls ? 'tool_calls' : 'stop');

function openaiUsage({ prompt, cached = 0, completion }: NonNullable<ScriptedReply['usage']>): object {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function completionChunks({ text = '', thinking, calls = [], usage, isCut }: ScriptedReply): object[] {
  const chunk = (delta: object, reason: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const toolChunks = calls.flatMap(({ id, name, arguments: args }, index) => {
    const [head, tail] = half(JSON.stringify(args));
    return [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: head } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: tail } }] }),
    ];
  });
  return [
    chunk({ role: 'assistant' }),
    ...(thinking === undefined ? [] : half(thinking).map((part) => chunk({ reasoning_content: part }))),
    ...(text === '' ? [] : half(text).map((part) => chunk({ content: part }))),
    ...toolChunks,
    chunk({}, finish(calls.length > 0, isCut)),
    ...(usage ? [{ ...chunk({}), choices: [], usage: openaiUsage(usage) }] : []),
  ];
}

const SIGNATURE = 'c2lnbmVk';

function message({ text, thinking, calls = [], usage, isCut }: ScriptedReply): object {
  const content = [
    ...(thinking === undefined ? [] : [{ type: 'thinking', thinking, signature: SIGNATURE }]),
    ...(text ? [{ type: 'text', text }] : []),
    ...calls.map(({ id, name, arguments: input }) => ({ type: 'tool_use', id, name, input })),
  ];
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content,
    stop_reason: isCut ? 'max_tokens' : calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: anthropicUsage(usage),
  };
}

function anthropicUsage(usage: ScriptedReply['usage'] = { prompt: 0, completion: 0 }): object {
  const { prompt, cached = 0, completion } = usage;
  return {
    input_tokens: prompt - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: completion,
  };
}

function messageEvents(reply: ScriptedReply): object[] {
  const whole = message(reply) as { content: Record<string, unknown>[]; stop_reason: string; usage: object };
  const { output_tokens: _end, ...start } = whole.usage as Record<string, number>;
  return [
    {
      type: 'message_start',
      message: { ...whole, content: [], stop_reason: null, usage: { ...start, output_tokens: 1 } },
    },
    ...whole.content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: emptied(block) },
      ...deltas(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: whole.stop_reason, stop_sequence: null }, usage: whole.usage },
    { type: 'message_stop' },
  ];
}

function emptied(block: Record<string, unknown>): object {
  if (block.type === 'text') return { type: 'text', text: '' };
  return block.type === 'thinking' ? { type: 'thinking', thinking: '', signature: '' } : { ...block, input: {} };
}

function deltas(block: Record<string, unknown>): object[] {
  if (block.type === 'text') return half(String(block.text)).map((text) => ({ type: 'text_delta', text }));
  if (block.type === 'tool_use') {
    const parts = half(JSON.stringify(block.input));
    return parts.map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  }
  return [
    ...half(String(block.thinking)).map((thinking) => ({ type: 'thinking_delta', thinking })),
    { type: 'signature_delta', signature: block.signature },
  ];
}
