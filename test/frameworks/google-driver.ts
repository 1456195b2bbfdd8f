import { type CallableTool, type Content, type GenerateContentConfig, GoogleGenAI, type Part } from '@google/genai';
import { GoogleGenAI as GoogleGenAI2 } from 'genai2';
import { palimpsest } from '../../src/adapters/google/index.ts';
import { gemini } from '../../src/formats/gemini.ts';
import type { AdapterDriver, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';
import { toSent, withGemini } from './google-server.ts';

/** The ways to run automatic function calling. */
export type Runner = 'generateContent' | 'generateContentStream' | 'a chat';

/** The major versions of `@google/genai`. */
export type Version = 2 | 3;

export function googleDriver(version: Version, runner: Runner): AdapterDriver<typeof fetch> {
  const Client = version === 2 ? (GoogleGenAI2 as unknown as typeof GoogleGenAI) : GoogleGenAI;
  return {
    name: `@google/genai ${version}, ${runner}`,
    format: gemini,
    make: (options) => palimpsest.fetch(options),
    run: (run) =>
      withGemini(
        (request) => run.model(toSent(request)),
        (baseUrl) => {
          const httpOptions = { baseUrl, fetch: run.adapter };
          const ai = new Client({ apiKey: 'none', httpOptions });
          return RUNNERS[runner](ai, run);
        },
      ),
  };
}

const model = 'gemini-3-pro';

const RUNNERS: Readonly<Record<Runner, (ai: GoogleGenAI, run: ScriptedRun<typeof fetch>) => Promise<Content[]>>> = {
  async generateContent(ai, run) {
    const { automaticFunctionCallingHistory = [], candidates } = await ai.models.generateContent({
      model,
      contents: contentsOf(run),
      config: configOf(run),
    });
    return [...automaticFunctionCallingHistory, ...lastOf(candidates)];
  },
  async generateContentStream(ai, run) {
    // The SDK puts calls and responses into the contents of the parameters.
    const params = { model, contents: contentsOf(run), config: configOf(run) };
    let last: Content[] = [];
    for await (const { candidates } of await ai.models.generateContentStream(params)) last = lastOf(candidates);
    return [...params.contents, ...last];
  },
  async 'a chat'(ai, run) {
    const chat = ai.chats.create({ model, history: run.history as Content[], config: configOf(run) });
    await chat.sendMessage({ message: run.prompt });
    return chat.getHistory();
  },
};

const contentsOf = ({ history, prompt }: ScriptedRun<typeof fetch>): Content[] => [
  ...(history as Content[]),
  { role: 'user', parts: [{ text: prompt }] },
];

const lastOf = (candidates: { content?: Content }[] = []): Content[] =>
  candidates.flatMap(({ content }) => (content ? [content] : []));

function configOf({ tools, store, session, signal }: ScriptedRun<typeof fetch>): GenerateContentConfig {
  return {
    tools: [toCallable(tools), ...(store ? palimpsest.tools({ store }) : [])],
    automaticFunctionCalling: { maximumRemoteCalls: 1000 },
    ...(session ? { httpOptions: { headers: { 'x-session-id': session } } } : {}),
    ...(signal ? { abortSignal: signal as AbortSignal } : {}),
  };
}

/** A `CallableTool` as users write them: it answers the calls that are its own. */
export function toCallable(tools: readonly ScriptedTool[]): CallableTool {
  const declared = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  return {
    tool: async () => ({ functionDeclarations: declared }),
    callTool: async (calls) =>
      calls.flatMap(({ id = '', name = '', args }): Part[] => {
        const tool = tools.find((one) => one.name === name);
        if (!tool) return [];
        return [{ functionResponse: { id, name, ...responseOf(() => tool.execute(args as { path: string })) } }];
      }),
  };
}

function responseOf(execute: () => ReturnType<ScriptedTool['execute']>) {
  try {
    const result = execute();
    if (typeof result === 'string') return { response: { output: result } };
    const { mediaType: mimeType, data } = result;
    return { response: { output: 'Shown.' }, parts: [{ inlineData: { mimeType, data } }] };
  } catch (error) {
    return { response: { error: (error as Error).message } };
  }
}
