import { describeTypes } from './types-suite.ts';

const PROGRAM = `
import Anthropic from '@anthropic-ai/sdk';
import type { Middleware } from '@anthropic-ai/sdk/core/middleware';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { breakEven, type Report } from 'palimpsest';
import { type AnthropicOptions, palimpsest } from 'palimpsest/anthropic';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const reports: Report[] = [];
const options: AnthropicOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'claude-opus-5-5',
  arrival: { clean: true },
  recall: true,
  session: ({ body, headers, url, options }) =>
    headers.get('x-chat') ?? (options as { chat?: string }).chat ?? (url.length > 0 ? String(body.model) : undefined),
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
export const middleware: Middleware = palimpsest(options);
const client = new Anthropic({ apiKey: 'none', middleware: [palimpsest({ store }), middleware] });
const [recall] = palimpsest.tools({ store });
export const runnable: BetaRunnableTool<Parameters<typeof recall.run>[0]> = recall;
const read = betaTool({
  name: 'read',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  run: ({ path }) => path,
});

export async function ask(content: string): Promise<unknown> {
  const body = { model: 'claude-opus-5-5', max_tokens: 1024, messages: [{ role: 'user' as const, content }] };
  const tools = [read, ...palimpsest.tools({ store })];
  for await (const stream of client.beta.messages.toolRunner({ ...body, tools, thread: false, stream: true }))
    await stream.finalMessage();
  await client.messages.create({ ...body, tools: palimpsest.tools({ store }) }, { middleware: [middleware] });
  return client.beta.messages.toolRunner({ ...body, tools, thread: false });
}
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/anthropic';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.tools({ store: {} });
`;

describeTypes('@anthropic-ai/sdk', {
  packages: { '@anthropic-ai/sdk': 'anthropic-sdk' },
  programs: { program: PROGRAM },
  mistakes: MISTAKES,
  errors: 3,
  page: 'anthropic',
  snippets: 1,
  examples: ['anthropic'],
});
