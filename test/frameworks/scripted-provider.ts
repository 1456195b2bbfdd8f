import type { ScriptedRun, SentRequest } from '../../src/testing/index.ts';
import type { Fields } from '../support/provider/json.ts';
import type { Ask, Reply } from '../support/provider/script.ts';
import { type Provider, type ProviderOptions, startProvider } from '../support/provider/start-provider.ts';

let replies = 0;

/** Does some work with a strict provider, whose model answers by the script of a run. */
export async function withScript<T>(run: Pick<ScriptedRun, 'model'>, work: (url: string) => Promise<T>): Promise<T> {
  const script = ({ body }: Ask): Reply => {
    const { text, reasoning, calls = [] } = run.model(sentIn(body));
    replies += 1;
    return {
      id: `reply ${replies}`,
      ...(text === undefined ? {} : { text }),
      ...(reasoning ? { thinking: reasoning.text } : {}),
      calls: calls.map(({ id, tool, input }) => ({ id, name: tool, input })),
    };
  };
  const { result } = await withProvider({ script, keepsBytes: false }, ({ url }) => work(url));
  return result;
}

/** Does some work with a strict provider, and closes it. */
export async function withProvider<T>(
  options: ProviderOptions,
  work: (provider: Provider) => Promise<T>,
): Promise<{ readonly result: T; readonly provider: Provider }> {
  const provider = await startProvider(options);
  try {
    return { result: await work(provider), provider };
  } finally {
    await provider.close();
  }
}

/** The messages and the names of the tools in a request of any of the APIs. */
function sentIn({ messages, input, tools }: Fields): SentRequest {
  const listed = (Array.isArray(tools) ? tools : []) as readonly Tool[];
  return {
    messages: (messages ?? input) as readonly unknown[],
    tools: listed.map((tool) => tool.function?.name ?? tool.name ?? ''),
  };
}

interface Tool {
  readonly name?: string;
  readonly function?: { readonly name: string };
}
