import { Agent, type AgentConfig, MessageList } from '@mastra/core/agent';
import { MockMemory } from '@mastra/core/memory';
import { createTool } from '@mastra/core/tools';
import { type MastraProcessor, palimpsest } from '../../src/adapters/mastra/index.ts';
import { aiSdk } from '../../src/formats/ai-sdk.ts';
import type { AdapterDriver, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';
import { scriptedModel, type Version } from './ai-sdk-driver.ts';

/** A processor, and the memory of the conversations that it is used in. */
interface Made {
  readonly processor: MastraProcessor;
  readonly memory: MockMemory;
}

interface DriverOptions {
  /** Of the AI SDK that the model is from. Mastra's own models are of 5. */
  readonly version: 5 | Version;
  readonly runner: 'generate' | 'stream';
}

export function mastraDriver({ version, runner }: DriverOptions): AdapterDriver<Made> {
  return {
    name: `Mastra, ${runner} with a model of AI SDK ${version}`,
    format: aiSdk,
    make: (options) => ({ processor: palimpsest(options), memory: createMemory() }),
    async run({ adapter: { processor, memory }, prompt, store, session = 'none', signal, ...run }) {
      const agent = new Agent({
        id: 'agent',
        name: 'Agent',
        instructions: 'You work on files.',
        model: modelOf(version, run),
        memory,
        tools: { ...toolsOf(run.tools), ...(store ? palimpsest.tools({ store }) : {}) },
        inputProcessors: [processor],
      });
      const settings = {
        maxSteps: 1000,
        modelSettings: { maxRetries: 0 },
        memory: { thread: session, resource: 'user' },
        ...(signal ? { abortSignal: signal as AbortSignal } : {}),
      };
      if (runner === 'generate') await agent.generate(prompt, settings);
      else {
        const stream = await agent.stream(prompt, settings);
        await stream.consumeStream();
        if (stream.error) throw stream.error;
      }
      signal?.throwIfAborted();
      return storedMessages(memory, session);
    },
  };
}

/** Models of AI SDK 5 tell their usage and why they end in other words than those of 6. */
function modelOf(version: DriverOptions['version'], run: Pick<ScriptedRun, 'model'>): AgentConfig['model'] {
  const model = scriptedModel(version === 5 ? 6 : version, run);
  if (version !== 5) return model as unknown as AgentConfig['model'];
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const toV2 = <Part extends object>(part: Part): Part =>
    'finishReason' in part
      ? { ...part, usage, finishReason: (part.finishReason as { unified: string }).unified }
      : part;
  const older: unknown = {
    ...model,
    specificationVersion: 'v2',
    // One that does not bind its thinking: the option that lets masks go before it came after AI SDK 5.
    modelId: 'claude-sonnet-4-5',
    doGenerate: async (params: Parameters<typeof model.doGenerate>[0]) => toV2(await model.doGenerate(params)),
    doStream: async (params: Parameters<typeof model.doStream>[0]) => {
      const { stream } = await model.doStream(params);
      return { stream: stream.pipeThrough(new TransformStream({ transform: (part, to) => to.enqueue(toV2(part)) })) };
    },
  };
  return older as AgentConfig['model'];
}

/** Mastra's own memory, which loads the last ten messages of a thread if it is not told otherwise. */
export const createMemory = (): MockMemory => new MockMemory({ options: { lastMessages: 1000 } });

/** The messages of a thread as the memory has them, in the form of a prompt. */
export async function storedMessages(memory: MockMemory, threadId: string): Promise<readonly unknown[]> {
  const { messages } = await memory.recall({ threadId, resourceId: 'user', perPage: false });
  return new MessageList({ threadId }).add(messages, 'memory').get.all.aiV5.llmPrompt();
}

function toolsOf(tools: readonly ScriptedTool[]) {
  return Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => [
      name,
      createTool({
        id: name,
        description,
        inputSchema: parameters,
        execute: async (input) => execute(input as { path: string }),
        toModelOutput: (output) =>
          typeof output === 'string'
            ? { type: 'text', value: output }
            : { type: 'content', value: [{ type: 'media', ...(output as object) }] },
      }),
    ]),
  );
}
