import { createServer, type Http2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Agent, BedrockModel, InvokeModelStage, type Model, SessionManager, tool } from '@strands-agents/sdk';
import { InMemoryStorage } from '@strands-agents/sdk/storage';
import { palimpsest, type StrandsMiddleware, type StrandsStrategy } from '../../src/adapters/strands/index.ts';
import { type BedrockConverseMessage, bedrockConverse } from '../../src/formats/bedrock-converse.ts';
import type { AdapterDriver, ScriptedReply, ScriptedTool, SentRequest } from '../../src/testing/index.ts';

type Made = StrandsMiddleware | StrandsStrategy;

/** A history is kept by a session manager of Strands, and restored by the next agent. */
export function strandsDriver(door: 'middleware' | 'strategy'): AdapterDriver<Made> {
  const storages = new WeakMap<readonly unknown[], InMemoryStorage>();
  return {
    name: `Strands, as a ${door}`,
    format: bedrockConverse,
    make: (options) =>
      door === 'middleware' || Array.isArray(options)
        ? palimpsest(options)
        : palimpsest.strategy({ ...options, stage: InvokeModelStage }),
    async run({ adapter, history, prompt, tools, store, session = 'session', signal, model: reply }) {
      const storage = storages.get(history) ?? new InMemoryStorage();
      const recall = store ? [tool(palimpsest.recall({ store }))] : [];
      const cancel = signal ? { cancelSignal: signal as AbortSignal } : {};
      const messages = await withBedrock(
        (request) => reply(toSent(request)),
        async (model) => {
          const agent = new Agent({
            model,
            tools: [...tools.map(toTool), ...recall],
            contextManager: typeof adapter === 'object' ? { strategies: [adapter], stash: false } : false,
            sessionManager: new SessionManager({ sessionId: session, storage }),
            printer: false,
          });
          if (typeof adapter === 'function') agent.addMiddleware(InvokeModelStage.Input, adapter);
          await agent.invoke(prompt, cancel);
          return agent.messages.map((message) => message.toJSON());
        },
      );
      storages.set(messages, storage);
      return messages;
    },
  };
}

/** A request of Converse as the server gets it. */
export interface Received {
  readonly messages: BedrockConverseMessage[];
  readonly toolConfig?: { tools: { toolSpec?: { name: string; inputSchema: { json: unknown } } }[] };
}

/** Does some work with Strands' own model for Bedrock, which asks a server of ours. */
export async function withBedrock<T>(
  answer: (request: Received) => ScriptedReply,
  work: (model: Model) => Promise<T>,
): Promise<T> {
  // The client of AWS speaks HTTP/2.
  const server = createServer(async (request, response) => {
    const reply = answer(JSON.parse(await text(request)));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(toResponse(reply)));
  });
  const sessions: Http2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
  const model = new BedrockModel({
    modelId: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    region: 'us-west-2',
    stream: false,
    clientConfig: { endpoint, credentials, maxAttempts: 1 },
  });
  try {
    return await work(model);
  } finally {
    for (const session of sessions) session.destroy();
    server.close();
  }
}

const toSent = ({ messages, toolConfig }: Received): SentRequest => ({
  messages,
  tools: (toolConfig?.tools ?? []).flatMap(({ toolSpec }) => (toolSpec ? [toolSpec.name] : [])),
});

function toResponse({ text: said, reasoning, calls = [] }: ScriptedReply): object {
  const content = [
    ...(reasoning ? [{ reasoningContent: { reasoningText: reasoning } }] : []),
    ...(said ? [{ text: said }] : []),
    ...calls.map(({ id, tool: name, input }) => ({ toolUse: { toolUseId: id, name, input } })),
  ];
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    metrics: { latencyMs: 1 },
  };
}

export const toTool = ({ name, description, parameters, execute }: ScriptedTool) =>
  tool({
    name,
    description,
    inputSchema: parameters,
    callback: (input) => {
      const result = execute(input as { path: string });
      if (typeof result === 'string') return result;
      return { image: { format: result.mediaType.replace('image/', ''), source: { bytes: result.data } } };
    },
  });
