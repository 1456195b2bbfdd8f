import { type AgentOptions, type AgentResult, defineTool, type Model, runAgent } from '../../src/manager/index.ts';
import type { ChatMessage } from '../../src/message.ts';
import { reply } from './chat.ts';

interface Loop extends Partial<Omit<AgentOptions<ChatMessage>, 'model' | 'tools'>> {
  /** How often the model calls the tool `bash` before it is done. */
  readonly iterations: number;
  /** What the tool answers the n-th time. */
  readonly output: (n: number) => string;
  /** What the model says beside the n-th call. */
  readonly text?: (n: number) => string;
  /** How many tokens the provider counts in a request; it tells nothing if not given. */
  readonly count?: (messages: readonly ChatMessage[]) => number;
}

const NO_USAGE = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 };

/** Runs an agent in a loop, and answers every request that its model was sent. */
export async function runLoop({ iterations, output, text = (n) => `step ${n}`, count, ...options }: Loop): Promise<{
  readonly requests: readonly (readonly ChatMessage[])[];
  readonly result: AgentResult<ChatMessage>;
}> {
  const requests: (readonly ChatMessage[])[] = [];
  const model: Model<ChatMessage> = async ({ messages }) => {
    requests.push(messages);
    const n = requests.length;
    const usage = count && { usage: { ...NO_USAGE, promptTokens: count(messages) } };
    if (n > iterations) return { messages: [reply('Done.')], calls: [], text: 'Done.', ...usage };
    const toolCalls = [{ id: `c${n}`, name: 'bash', arguments: `{"step":${n}}` }];
    const calls = [{ id: `c${n}`, name: 'bash', arguments: { step: n } }];
    return { messages: [{ role: 'assistant', content: text(n), toolCalls }], calls, text: text(n), ...usage };
  };
  const bash = defineTool({ name: 'bash', run: (_args, { callId }) => output(Number(callId.slice(1))) });
  const result = await runAgent({
    model,
    tools: [bash],
    task: 'Do it all.',
    maxToolIterations: iterations + 1,
    ...options,
  });
  return { requests, result };
}
