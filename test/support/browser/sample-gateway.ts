import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGateway, type GatewayOptions } from '../../../src/gateway/index.ts';
import { startProvider } from '../provider/start-provider.ts';

/** The real gateway in front of a scripted provider, and an agent that holds conversations through it. */
export interface SampleGateway {
  /** Of the page, without the token. */
  readonly page: string;
  readonly token: string;
  /** Sends the requests of a conversation until there are so many. PolicyRun again, only those that are new. */
  play(conversation: SampleConversation): Promise<void>;
  /** Breaks every connection, and answers nobody until it is started again. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export interface SampleConversation {
  readonly task: string;
  readonly model?: string;
  readonly requests: number;
  /** What the tool answers in a turn. */
  readonly output?: (turn: number) => string;
  /** So long ago. */
  readonly agoMs?: number;
  /** The client has its context managed by the provider, so that the gateway keeps out of it. */
  readonly isManagedElsewhere?: boolean;
}

const TOKEN = 'sample-token-0123456789';

/** Starts both on free ports. */
export async function startSampleGateway(
  options: Pick<GatewayOptions, 'modelPrices' | 'holdout' | 'shadow'> = {},
): Promise<SampleGateway> {
  let agoMs = 0;
  const now = (): number => Date.now() - agoMs;
  const provider = await startProvider({ script: ({ turn }) => ({ calls: [callOf(turn + 1)] }), now });
  const upstreams = { anthropic: provider.url };
  const gateway = createGateway({ upstreams, token: TOKEN, version: '0.0.0', now, ...options });
  let server = createServer(gateway);
  const port = await listen(server, 0);
  // The agent has a door of its own: it goes on where the page cannot.
  const agentDoor = createServer(gateway);
  const agentUrl = `http://127.0.0.1:${await listen(agentDoor, 0)}`;
  const histories = new Map<string, History>();

  const start = async (): Promise<void> => {
    server = createServer(gateway);
    await listen(server, port);
  };
  return {
    page: `http://127.0.0.1:${port}/_palimpsest/`,
    token: TOKEN,
    stop: () => close(server),
    start,
    play: async (conversation) => {
      agoMs = conversation.agoMs ?? 0;
      const history = histories.get(conversation.task) ?? { requests: 0, messages: [taskOf(conversation)] };
      histories.set(conversation.task, history);
      for (; history.requests < conversation.requests; history.requests++) {
        const { content } = await ask(agentUrl, conversation, history);
        history.messages.push({ role: 'assistant', content }, resultsOf(conversation, history.requests + 1, content));
      }
      agoMs = 0;
    },
    close: async () => {
      if (server.listening) await close(server);
      await close(agentDoor);
      await gateway.close({ graceMs: 0 });
      await provider.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly [field: string]: unknown;
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

interface History {
  requests: number;
  readonly messages: Message[];
}

const MARKER = { cache_control: { type: 'ephemeral' } };
const SYSTEM = 'You are a careful engineer. Read before you write, and test what you changed. '.repeat(300);
const TOOLS = ['read_file', 'bash', 'grep', 'recall'];

function callOf(turn: number): { readonly name: string; readonly input: Record<string, string> } {
  const name = TOOLS[turn % 3] ?? 'bash';
  return { name, input: { path: `src/part-${turn}.ts` } };
}

const taskOf = ({ task }: SampleConversation): Message => ({ role: 'user', content: [{ type: 'text', text: task }] });

function resultsOf({ output = outputOf }: SampleConversation, turn: number, content: readonly Block[]): Message {
  const calls = content.filter(({ type }) => type === 'tool_use');
  return {
    role: 'user',
    content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: output(turn) })),
  };
}

const outputOf = (turn: number): string =>
  Array.from(
    { length: 40 + ((turn * 37) % 160) },
    (_, line) => `${line + 1}  export const value${turn}_${line} = compute(${line}, { turn: ${turn} });`,
  ).join('\n');

async function ask(url: string, conversation: SampleConversation, { messages, requests }: History): Promise<Message> {
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': 'sk-ant-sample',
      'x-request-id': `request-${requests + 1}`,
      'anthropic-version': '2023-06-01',
      ...(conversation.isManagedElsewhere ? { 'anthropic-beta': 'context-management-2025-06-27' } : {}),
    },
    body: JSON.stringify({
      model: conversation.model ?? 'claude-sonnet-5',
      max_tokens: 8192,
      system: [{ type: 'text', text: SYSTEM, ...MARKER }],
      tools: TOOLS.map((name) => ({ name, description: name, input_schema: { type: 'object' } })),
      messages: messages.map((message, index) => (index >= messages.length - 3 ? marked(message) : message)),
      ...(conversation.isManagedElsewhere
        ? { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }
        : {}),
    }),
  });
  const answer = (await response.json()) as Message;
  if (!response.ok) throw new Error(`The provider refused: ${JSON.stringify(answer)}`);
  return answer;
}

/** As a coding agent marks its last messages. */
function marked({ role, content }: Message): Message {
  return role === 'user'
    ? { role, content: content.map((block, i) => (i === content.length - 1 ? { ...block, ...MARKER } : block)) }
    : { role, content };
}
