import {
  Agent,
  type AgentInputItem,
  MemorySession,
  type Model,
  type ModelRequest,
  Runner,
  type StreamEvent,
  type Tool,
  tool,
  Usage,
} from '@openai/agents';
import { type OpenAIAgentsFilter, palimpsest } from '../../src/adapters/openai-agents/index.ts';
import { openaiAgents } from '../../src/formats/openai-agents.ts';
import type { AdapterDriver, ScriptedReply, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';

interface DriverOptions {
  /** `withSession`: the history is in a session. `filter`: it is the input. */
  readonly door: 'filter' | 'withSession';
  readonly stream: boolean;
}

export const runner = new Runner({ tracingDisabled: true });

export function openaiAgentsDriver({ door, stream }: DriverOptions): AdapterDriver<OpenAIAgentsFilter> {
  return {
    name: `OpenAI Agents SDK, ${door}${stream ? ', streamed' : ''}`,
    format: openaiAgents,
    skips: { errors: 'an error of a tool is a result like any other in this SDK' },
    make: (options) => palimpsest(door === 'filter' && !Array.isArray(options) ? { session, ...options } : options),
    async run(run) {
      const { adapter, history, prompt, session: sessionId = 'none', signal } = run;
      const agent = new Agent({ name: 'Worker', model: scriptedModel(run.model), tools: toolsOf(run) });
      const kept = history as AgentInputItem[];
      const memory = new MemorySession({ sessionId, initialItems: kept });
      const options = {
        maxTurns: 1000,
        ...(door === 'filter'
          ? { callModelInputFilter: adapter, context: { sessionId } }
          : adapter.withSession(memory)),
        ...(signal ? { signal: signal as AbortSignal } : {}),
      };
      const input: string | AgentInputItem[] =
        door === 'filter' ? [...kept, { role: 'user', content: prompt }] : prompt;
      const result = await (stream ? streamed(agent, input, options) : runner.run(agent, input, options));
      return door === 'filter' ? result.history : memory.getItems();
    },
  };
}

const session = ({ context }: { readonly context: unknown }): string | undefined =>
  (context as { readonly sessionId?: string }).sessionId;

type RunOptions = NonNullable<Parameters<typeof runner.run>[2]>;

async function streamed(agent: Agent, input: string | AgentInputItem[], options: Omit<RunOptions, 'stream'>) {
  const result = await runner.run(agent, input, { ...options, stream: true } as RunOptions & { stream: true });
  for await (const _event of result) {
    // Reads the stream to its end.
  }
  await result.completed;
  options.signal?.throwIfAborted();
  return result;
}

function toolsOf({ tools, store }: Pick<ScriptedRun, 'tools' | 'store'>): Tool[] {
  return [...tools.map(toTool), ...(store ? palimpsest.tools({ store }) : [])];
}

function toTool({ name, description, parameters, execute }: ScriptedTool): Tool {
  return tool({
    name,
    description,
    parameters,
    strict: true,
    execute: async (input) => {
      const output = execute(input as { path: string });
      return typeof output === 'string' ? output : { type: 'image', image: output };
    },
    errorFunction: (_context, error) => `${error instanceof Error ? error.message : error}`,
  });
}

/** The runner takes items with the same id for the same item, so that ids must differ between models too. */
let responses = 0;

/** A model that answers by the script, whole or as a stream. */
export function scriptedModel(reply: ScriptedRun['model']): Model {
  const answer = ({ input, tools, signal }: ModelRequest) => {
    signal?.throwIfAborted();
    const messages = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
    responses += 1;
    const output = toOutput(reply({ messages, tools: tools.map(({ name }) => name) }), responses);
    return { output, usage: new Usage(), responseId: `resp_${responses}` };
  };
  return {
    getResponse: async (request) => answer(request),
    async *getStreamedResponse(request): AsyncIterable<StreamEvent> {
      const { output, responseId } = answer(request);
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
      yield { type: 'response_done', response: { id: responseId, output, usage } };
    },
  };
}

type Output = Extract<StreamEvent, { type: 'response_done' }>['response']['output'];

function toOutput({ text, reasoning, calls = [] }: ScriptedReply, response: number): Output {
  return [
    ...(reasoning
      ? [
          {
            type: 'reasoning' as const,
            id: `rs_${response}`,
            content: [{ type: 'input_text' as const, text: reasoning.text }],
            providerData: { encrypted_content: reasoning.signature },
          },
        ]
      : []),
    ...(text
      ? [
          {
            type: 'message' as const,
            id: `msg_${response}`,
            role: 'assistant' as const,
            status: 'completed' as const,
            content: [{ type: 'output_text' as const, text }],
          },
        ]
      : []),
    ...calls.map(({ id, tool: name, input }) => ({
      type: 'function_call' as const,
      id: `fc_${id}`,
      callId: id,
      name,
      arguments: JSON.stringify(input),
      status: 'completed' as const,
    })),
  ];
}
