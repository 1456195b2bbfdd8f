import { Anthropic } from 'anthropic-sdk';
import { type AnthropicMiddleware, palimpsest } from '../../src/adapters/anthropic/index.ts';
import { anthropic } from '../../src/formats/anthropic.ts';
import type { AdapterDriver, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';
import { withScript } from './scripted-provider.ts';

type Message = Anthropic.Beta.BetaMessageParam;

export const MODEL = 'claude-opus-5-5';

interface DriverOptions {
  readonly runner: 'toolRunner' | 'toolRunner as a stream' | 'messages.create' | 'messages.stream';
}

/** The client against the strict provider, which signs thinking over all that was said before it. */
export const anthropicDriver = ({ runner }: DriverOptions): AdapterDriver<AnthropicMiddleware> => ({
  name: `Anthropic SDK, ${runner}`,
  format: anthropic,
  make: palimpsest,
  run: (run) =>
    withScript(run, (url) => {
      const client = new Anthropic({ apiKey: 'none', baseURL: url, middleware: [run.adapter], maxRetries: 0 });
      return runner.startsWith('toolRunner') ? runTools(client, run, runner) : runLoop(client, run, runner);
    }),
});

const settings = { model: MODEL, max_tokens: 1024, thinking: { type: 'adaptive' as const } };

async function runTools(client: Anthropic, run: ScriptedRun, runner: DriverOptions['runner']) {
  const body = { ...settings, messages: askedIn(run), tools: toolsOf(run), thread: false as const };
  const stream = runner === 'toolRunner as a stream';
  const running = client.beta.messages.toolRunner({ ...body, stream }, requestOptions(run));
  await running.runUntilDone();
  return running.params.messages;
}

/** A loop of one's own, over the API without betas. */
async function runLoop(client: Anthropic, run: ScriptedRun, runner: DriverOptions['runner']) {
  const messages = askedIn(run) as Anthropic.MessageParam[];
  const tools = toolsOf(run);
  for (;;) {
    const body = { ...settings, messages, tools: tools as Anthropic.Tool[] };
    const { content, stop_reason } =
      runner === 'messages.stream'
        ? await client.messages.stream(body, requestOptions(run)).finalMessage()
        : await client.messages.create(body, requestOptions(run));
    messages.push({ role: 'assistant', content });
    if (stop_reason !== 'tool_use') return messages;
    const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
    const results = calls.map(async ({ id, name, input }): Promise<Anthropic.ToolResultBlockParam> => {
      const result = { type: 'tool_result' as const, tool_use_id: id };
      try {
        const answer = await tools.find((tool) => tool.name === name)?.run(input as never);
        return { ...result, content: (answer ?? `No tool ${name}.`) as string };
      } catch (error) {
        return { ...result, content: String(error), is_error: true };
      }
    });
    messages.push({ role: 'user', content: await Promise.all(results) });
  }
}

const askedIn = ({ history, prompt }: ScriptedRun): Message[] => [
  ...(history as Message[]),
  { role: 'user', content: prompt },
];

const toolsOf = ({ tools, store }: ScriptedRun) => [
  ...tools.map(runnableTool),
  ...(store ? palimpsest.tools({ store }) : []),
];

const runnableTool = ({ name, description, parameters, execute }: ScriptedTool) => ({
  type: 'custom' as const,
  ...{ name, description, input_schema: parameters },
  parse: (content: unknown) => content as { path: string },
  run(input: { path: string }) {
    const answer = execute(input);
    if (typeof answer === 'string') return answer;
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: answer.data };
    return [{ type: 'image' as const, source }];
  },
});

const requestOptions = ({ session, signal }: ScriptedRun) => ({
  ...(session ? { headers: { 'x-session-id': session } } : {}),
  ...(signal ? { signal: signal as AbortSignal } : {}),
});
