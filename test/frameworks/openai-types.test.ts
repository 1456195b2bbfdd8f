import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import OpenAI from 'openai';
import { breakEven, type Report } from 'palimpsest';
import { type OpenAIOptions, palimpsest } from 'palimpsest/openai';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const reports: Report[] = [];
const options: OpenAIOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  fetch: globalThis.fetch,
  session: ({ body, headers, url }) => headers.get('x-chat') ?? (url.length > 0 ? String(body.user) : undefined),
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const client = new OpenAI({ apiKey: 'none', fetch: palimpsest.fetch(options) });
const read = {
  type: 'function' as const,
  function: {
    name: 'read',
    description: 'Reads a file.',
    parameters: { type: 'object' as const, properties: { path: { type: 'string' } } },
    parse: (args: string): { path: string } => JSON.parse(args),
    function: async ({ path }: { path: string }) => path,
  },
};

export async function ask(content: string): Promise<string | null> {
  const tools = [read, ...palimpsest.tools({ store })];
  const messages = [{ role: 'user' as const, content }];
  const runner = client.chat.completions.runTools({ model: 'gpt-5', messages, tools });
  const streamed = client.chat.completions.runTools({ model: 'gpt-5', messages, tools, stream: true });
  const { choices } = await client.chat.completions.create({ model: 'gpt-5', messages, tools: palimpsest.tools({ store }) });
  return (await runner.finalContent()) ?? (await streamed.finalContent()) ?? choices[0]?.message.content ?? null;
}

export async function respond(input: OpenAI.Responses.ResponseInputItem[]): Promise<string> {
  const [recall] = palimpsest.functions({ store });
  const { output, output_text } = await client.responses.create({ model: 'gpt-5', input, tools: [recall.tool] });
  for (const item of output)
    if (item.type === 'function_call') {
      const answer = await recall.execute(JSON.parse(item.arguments));
      input.push({ type: 'function_call_output', call_id: item.call_id, output: answer });
    }
  return output_text;
}
`;

/** Only `openai` 7 has it. */
const RUNNER = `
import OpenAI from 'openai';
import { ResponsesToolRunner } from 'openai/helpers/responses-tool-runner';
import { palimpsest } from 'palimpsest/openai';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const client = new OpenAI({ apiKey: 'none', fetch: palimpsest.fetch({ store }) });
export const runner = new ResponsesToolRunner({ functions: palimpsest.functions({ store }) });
export const answer = () => runner.run(client, { model: 'gpt-5', input: 'Go.' });
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/openai';
palimpsest.fetch({ storee: 1 });
palimpsest.fetch({ maxTokens: '1' });
palimpsest.tools({ store: {} });
palimpsest.functions({ store: 1 });
`;

for (const version of [6, 7])
  describeTypes(`openai ${version}`, {
    packages: { openai: `openai${version}` },
    programs: { program: PROGRAM, ...(version === 6 ? {} : { runner: RUNNER }) },
    mistakes: MISTAKES,
    errors: 4,
    page: 'openai',
    snippets: 2,
    examples: version === 7 ? ['openai'] : [],
  });
