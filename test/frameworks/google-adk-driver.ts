import { FunctionTool, Gemini, InMemorySessionService, LlmAgent, Runner, setLogLevel } from '@google/adk';
import { type Content, type HttpOptions, Type } from '@google/genai';
import { type AdkCallback, palimpsest } from '../../src/adapters/google/index.ts';
import { gemini } from '../../src/formats/gemini.ts';
import type { AdapterDriver, ScriptedRun, ScriptedTool } from '../../src/testing/index.ts';
import { toSent, withGemini } from './google-server.ts';

setLogLevel(3);

const appName = 'job';
const userId = 'user';
type Run = ScriptedRun<AdkCallback>;

export function adkDriver(): AdapterDriver<AdkCallback> {
  /** A history is kept by the service that made it. */
  const services = new WeakMap<readonly unknown[], InMemorySessionService>();
  return {
    name: 'ADK',
    format: gemini,
    make: (options) => palimpsest.callback(options),
    skips: { images: 'a function response of ADK is JSON' },
    async run(run) {
      const { history, session: sessionId = 'session' } = run;
      const sessionService = services.get(history) ?? new InMemorySessionService();
      const id = { appName, userId, sessionId };
      if (!services.has(history)) await sessionService.createSession(id);
      await withGemini(
        (request) => run.model(toSent(request)),
        (baseUrl) => runAgent(run, { baseUrl, sessionService, sessionId }),
      );
      const { events = [] } = (await sessionService.getSession(id)) ?? {};
      const contents = events.flatMap(({ content }): Content[] => (content ? [content] : []));
      services.set(contents, sessionService);
      return contents;
    },
  };
}

interface Setup {
  readonly baseUrl: string;
  readonly sessionService: InMemorySessionService;
  readonly sessionId: string;
}

async function runAgent({ adapter, prompt, tools, store, signal }: Run, setup: Setup): Promise<void> {
  const { baseUrl, sessionService, sessionId } = setup;
  const recall = store ? [new FunctionTool(palimpsest.recall({ store }))] : [];
  const agent = new LlmAgent({
    name: 'agent',
    model: new LocalGemini(baseUrl),
    tools: [...tools.map(toTool), ...recall],
    beforeModelCallback: adapter,
  });
  const runner = new Runner({ appName, agent, sessionService });
  const newMessage = { role: 'user', parts: [{ text: prompt }] };
  const abort = signal ? { abortSignal: signal as AbortSignal } : {};
  for await (const event of runner.runAsync({ userId, sessionId, newMessage, ...abort }))
    if (event.errorCode) throw new Error(event.errorMessage);
}

/** ADK's own Gemini, which asks our server. */
export class LocalGemini extends Gemini {
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    super({ model: 'gemini-3-pro', apiKey: 'none' });
    this.#baseUrl = baseUrl;
  }

  protected override getHttpOptions(): HttpOptions {
    return { ...super.getHttpOptions(), baseUrl: this.#baseUrl };
  }
}

export const toTool = ({ name, description, execute }: ScriptedTool) =>
  new FunctionTool({
    name,
    description,
    parameters: { type: Type.OBJECT, properties: { path: { type: Type.STRING } }, required: ['path'] },
    execute: (input) => {
      const result = execute(input as { path: string });
      return typeof result === 'string' ? result : 'An image.';
    },
  });
