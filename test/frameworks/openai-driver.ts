import * as openai6 from 'openai6';
import type OpenAI from 'openai7';
import * as openai7 from 'openai7';
import { type OpenAIFetch, palimpsest } from '../../src/adapters/openai/index.ts';
import { openaiChat } from '../../src/formats/openai-chat.ts';
import { openaiResponses } from '../../src/formats/openai-responses.ts';
import type { AdapterDriver, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';
import { withScript } from './scripted-provider.ts';

export type Version = 6 | 7;

/** `openai` 6 through the types of 7; that both take the adapter is tested by their compilers. */
export const clientOf = (version: Version, options: ConstructorParameters<typeof OpenAI>[0]): OpenAI =>
  new (version === 6 ? (openai6 as unknown as typeof openai7) : openai7).OpenAI({ apiKey: 'none', ...options });

interface DriverOptions {
  readonly version: Version;
  readonly stream: boolean;
}

const NO_ERRORS = 'results of OpenAI have no mark for errors';

/** Chat Completions, run by `runTools`. */
export const chatDriver = ({ version, stream }: DriverOptions): AdapterDriver<OpenAIFetch> => ({
  name: `openai ${version}, runTools${stream ? ' as a stream' : ''}`,
  format: openaiChat,
  make: palimpsest.fetch,
  skips: {
    errors: NO_ERRORS,
    images: 'results of Chat Completions are texts',
    reasoning: 'Chat Completions has no bound reasoning',
  },
  run: (run) =>
    withScript(run, async (url) => {
      const messages = [...(run.history as OpenAI.ChatCompletionMessageParam[]), asked(run)];
      const tools = [...run.tools.map(chatTool), ...(run.store ? palimpsest.tools({ store: run.store }) : [])];
      const settings = { maxChatCompletions: 1000, ...requestOptions(run) };
      const { completions } = createClient(version, run, url).chat;
      const runner = stream
        ? completions.runTools({ model: 'gpt-5', messages, tools, stream }, settings)
        : completions.runTools({ model: 'gpt-5', messages, tools }, settings);
      await runner.done();
      return runner.messages;
    }),
});

/** Responses, in a loop of one's own: the SDK has no runner that tells the history. */
export const responsesDriver = ({ version, stream }: DriverOptions): AdapterDriver<OpenAIFetch> => ({
  name: `openai ${version}, Responses${stream ? ' as a stream' : ''}`,
  format: openaiResponses,
  make: palimpsest.fetch,
  skips: { errors: NO_ERRORS },
  run: (run) =>
    withScript(run, async (url) => {
      const { responses } = createClient(version, run, url);
      const functions = [
        ...run.tools.map(responsesFunction),
        ...(run.store ? palimpsest.functions({ store: run.store }) : []),
      ];
      const input = [...(run.history as OpenAI.Responses.ResponseInputItem[]), asked(run)];
      const tools = functions.map(({ tool }) => tool);
      const body = { model: 'gpt-5', store: false, include: ['reasoning.encrypted_content' as const], tools };
      for (;;) {
        const request = { ...body, input };
        const { output } = stream
          ? await responses.stream(request, requestOptions(run)).finalResponse()
          : await responses.create(request, requestOptions(run));
        input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
        const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
        if (calls.length === 0) return input;
        for (const { name, call_id, arguments: json } of calls) {
          const called = functions.find(({ tool }) => tool.name === name);
          const answer = (await called?.execute(JSON.parse(json))) ?? `No tool ${name}.`;
          input.push({ type: 'function_call_output', call_id, output: answer });
        }
      }
    }),
});

const asked = ({ prompt }: Pick<ScriptedRun, 'prompt'>) => ({ role: 'user' as const, content: prompt });

const createClient = (version: Version, { adapter }: ScriptedRun<OpenAIFetch>, url: string): OpenAI =>
  clientOf(version, { baseURL: `${url}/v1`, fetch: adapter, maxRetries: 0 });

const requestOptions = ({ session, signal }: ScriptedRun) => ({
  ...(session ? { headers: { 'x-session-id': session } } : {}),
  ...(signal ? { signal: signal as AbortSignal } : {}),
});

const chatTool = ({ name, description, parameters, execute }: ScriptedTool) => ({
  type: 'function' as const,
  function: {
    ...{ name, description, parameters },
    parse: (args: string): { path: string } => JSON.parse(args),
    function: async (input: { path: string }) => {
      const answer = told(() => execute(input));
      return typeof answer === 'string' ? answer : `an image, ${answer.mediaType}`;
    },
  },
});

const responsesFunction = ({ name, description, parameters, execute }: ScriptedTool) => ({
  tool: { type: 'function' as const, name, description, parameters, strict: true },
  execute: async (input: Record<string, unknown>) => {
    const answer = told(() => execute(input as { path: string }));
    if (typeof answer === 'string') return answer;
    const image_url = `data:${answer.mediaType};base64,${answer.data}`;
    return [{ type: 'input_image' as const, image_url, detail: 'auto' as const }];
  },
});

/** The SDK stops where a tool throws: a tool that fails must say so in its result. */
function told<T>(execute: () => T): T | string {
  try {
    return execute();
  } catch (error) {
    return String(error);
  }
}
