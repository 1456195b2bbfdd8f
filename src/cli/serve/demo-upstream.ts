import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDemoConversations, type DemoConversation, type DemoStep } from './demo-conversation.ts';

export interface DemoUpstream {
  readonly url: string;
  close(): Promise<void>;
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

interface Asked {
  readonly model: string;
  readonly messages: readonly Message[];
}

/** A made-up provider for the demo: it speaks Anthropic's API, follows a script, and keeps a prompt cache. */
export async function startDemoUpstream(): Promise<DemoUpstream> {
  const provider: Provider = { conversations: createDemoConversations(), cache: new Map() };
  const server = createServer((request, response) => {
    answer(request, response, provider).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Provider {
  readonly conversations: readonly DemoConversation[];
  /** The last request of each model. */
  readonly cache: Map<string, readonly string[]>;
}

async function answer(request: IncomingMessage, response: ServerResponse, provider: Provider): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = readAsked(Buffer.concat(chunks).toString());
  if (!asked) {
    const error = { type: 'not_found_error', message: 'The demo answers POST /v1/messages only' };
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error }));
    return;
  }
  const replies = asked.messages.filter(({ role }) => role === 'assistant').length;
  const step = provider.conversations.find(({ model }) => model === asked.model)?.steps[replies];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of eventsOf(asked, step, usageOf(asked, provider.cache))) {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/** Undefined for other requests, such as that of a browser that opens the address of the gateway. */
function readAsked(body: string): Asked | undefined {
  try {
    const asked = JSON.parse(body) as Partial<Asked> | null;
    return Array.isArray(asked?.messages) ? (asked as Asked) : undefined;
  } catch {
    return undefined;
  }
}

type Event = { readonly type: string } & Readonly<Record<string, unknown>>;

function eventsOf({ model, messages }: Asked, step: DemoStep | undefined, usage: object): Event[] {
  const id = `demo_${messages.length}`;
  const text =
    step?.say ?? 'Done: the position is written with the batch, and a test restarts the import between the two.';
  const message = { id, type: 'message', role: 'assistant', model, content: [], usage };
  return [
    { type: 'message_start', message },
    ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text }),
    ...(step
      ? block(
          1,
          { type: 'tool_use', id: `toolu_${id}`, name: step.tool, input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify(step.input) },
        )
      : []),
    { type: 'message_delta', delta: { stop_reason: step ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 60 } },
    { type: 'message_stop' },
  ];
}

function block(index: number, content_block: object, delta: object): Event[] {
  return [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index },
  ];
}

/** Everything that the last request of the conversation also began with was cached. */
function usageOf({ model, messages }: Asked, cache: Map<string, readonly string[]>): object {
  const now = messages.map((message) => JSON.stringify(message).replace(/,"cache_control":\{[^}]*\}/g, ''));
  const before = cache.get(model) ?? [];
  const same = now.findIndex((message, i) => message !== before[i]);
  cache.set(model, now);
  const tokens = (parts: readonly string[]): number => Math.ceil(parts.join('').length / 4);
  const cached = before.length === 0 ? 0 : SYSTEM_TOKENS + tokens(now.slice(0, same === -1 ? now.length : same));
  return {
    input_tokens: 4,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: SYSTEM_TOKENS + tokens(now) - cached,
    output_tokens: 1,
  };
}

const SYSTEM_TOKENS = 3000;
