import * as ai6 from 'ai6';
import * as ai7 from 'ai7';
import { type AiSdkMiddleware, type AiSdkPrepareStep, palimpsest } from '../../src/adapters/ai-sdk/index.ts';
import { aiSdk } from '../../src/formats/ai-sdk.ts';
import type { AdapterDriver, ScriptedReply, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';

export type Version = 6 | 7;
type Made = { readonly prepareStep: AiSdkPrepareStep } | { readonly middleware: AiSdkMiddleware };

/** AI SDK 6 through the types of 7, which are stricter; that both take the adapter is tested by their compilers. */
const sdkOf = (version: Version): typeof ai7 => (version === 6 ? (ai6 as unknown as typeof ai7) : ai7);

interface DriverOptions {
  readonly version: Version;
  readonly door: 'prepareStep' | 'middleware';
  readonly runner: 'generateText' | 'streamText';
}

export function aiSdkDriver({ version, door, runner }: DriverOptions): AdapterDriver<Made> {
  const sdk = sdkOf(version);
  return {
    name: `AI SDK ${version}, ${door} of ${runner}`,
    format: aiSdk,
    make: (options) =>
      door === 'prepareStep' ? { prepareStep: palimpsest(options) } : { middleware: palimpsest.middleware(options) },
    async run(run) {
      const { adapter, history, prompt, store, session, signal } = run;
      const messages = [...(history as ai7.ModelMessage[]), { role: 'user' as const, content: prompt }];
      const model = scriptedModel(version, run);
      const settings = {
        model: 'middleware' in adapter ? sdk.wrapLanguageModel({ model, middleware: adapter.middleware }) : model,
        tools: { ...toolsOf(run.tools, sdk), ...(store ? palimpsest.tools({ store }) : {}) },
        messages,
        stopWhen: sdk.stepCountIs(1000),
        maxRetries: 0,
        ...('prepareStep' in adapter ? { prepareStep: adapter.prepareStep } : {}),
        ...(session ? { providerOptions: { palimpsest: { session } } } : {}),
        ...(signal ? { abortSignal: signal } : {}),
      };
      if (runner === 'generateText') return [...messages, ...(await repliesOf(await sdk.generateText(settings)))];
      const errors: unknown[] = [];
      const stream = sdk.streamText({ ...settings, onError: ({ error }) => void errors.push(error) });
      await stream.consumeStream();
      signal?.throwIfAborted();
      if (errors.length > 0) throw errors[0];
      return [...messages, ...(await repliesOf(stream))];
    },
  };
}

/** The messages of all steps: AI SDK 7 has only those of the last step in `response`. */
async function repliesOf(result: Result): Promise<readonly unknown[]> {
  return (await result.responseMessages) ?? (await result.response).messages;
}

interface Result {
  readonly responseMessages?: PromiseLike<readonly unknown[]> | readonly unknown[];
  readonly response: PromiseLike<{ readonly messages: readonly unknown[] }> | { readonly messages: readonly unknown[] };
}

function toolsOf(tools: readonly ScriptedTool[], sdk: typeof ai7): ai7.ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, parameters, execute }) => [
      name,
      sdk.tool({
        description,
        inputSchema: sdk.jsonSchema<{ path: string }>(parameters),
        execute: async (input) => execute(input),
        toModelOutput: ({ output }) =>
          typeof output === 'string'
            ? { type: 'text', value: output }
            : { type: 'content', value: [{ type: 'image-data', ...output }] },
      }),
    ]),
  );
}

type Model = Extract<ai7.LanguageModel, { readonly specificationVersion: 'v4' }>;

/** A model that answers by the script, whole or as a stream. */
export function scriptedModel(version: Version, run: Pick<ScriptedRun, 'model'>): Model {
  const answer = ({ prompt, tools = [] }: Parameters<Model['doGenerate']>[0]) =>
    toContent(run.model({ messages: prompt, tools: tools.map(({ name }) => name) }));
  const end = (content: readonly Part[]) => ({
    finishReason: {
      unified: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop',
      raw: undefined,
    } as const,
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
  });
  return {
    specificationVersion: version === 6 ? ('v3' as 'v4') : 'v4',
    provider: 'scripted',
    modelId: 'scripted-model',
    supportedUrls: {},
    async doGenerate(params) {
      params.abortSignal?.throwIfAborted();
      const content = answer(params);
      return { content, ...end(content), warnings: [] };
    },
    async doStream(params) {
      params.abortSignal?.throwIfAborted();
      const content = answer(params);
      const parts = [
        { type: 'stream-start' as const, warnings: [] },
        ...content.flatMap(toStream),
        { type: 'finish' as const, ...end(content) },
      ];
      return { stream: sdkOf(version).simulateReadableStream({ chunks: parts }) };
    },
  };
}

type Part =
  | { type: 'reasoning' | 'text'; text: string; providerMetadata?: { anthropic: { signature: string } } }
  | { type: 'tool-call'; toolCallId: string; toolName: string; input: string };

type StreamPart = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer Chunk> ? Chunk : never;

function toContent({ text, reasoning, calls = [] }: ScriptedReply): Part[] {
  const { signature = '' } = reasoning ?? {};
  return [
    ...(reasoning
      ? [{ type: 'reasoning' as const, text: reasoning.text, providerMetadata: { anthropic: { signature } } }]
      : []),
    ...(text ? [{ type: 'text' as const, text }] : []),
    ...calls.map(({ id, tool, input }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: tool,
      input: JSON.stringify(input),
    })),
  ];
}

function toStream(part: Part, index: number): StreamPart[] {
  if (part.type === 'tool-call') return [part];
  const { type, text, providerMetadata } = part;
  const [id, metadata] = [String(index), providerMetadata ? { providerMetadata } : {}];
  return [
    { type: `${type}-start` as const, id, ...metadata },
    { type: `${type}-delta` as const, id, delta: text },
    { type: `${type}-end` as const, id, ...metadata },
  ];
}
