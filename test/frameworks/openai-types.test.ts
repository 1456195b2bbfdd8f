import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

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

beforeAll(ensureBuilt);

describe.each([6, 7])('with openai %i', (version) => {
  let consumer: Consumer;
  beforeAll(() => {
    consumer = createConsumer({ openai: `openai${version}` });
    writeFileSync(join(consumer.folder, 'program.ts'), PROGRAM);
    writeFileSync(join(consumer.folder, 'runner.ts'), RUNNER);
    writeFileSync(join(consumer.folder, 'mistakes.ts'), MISTAKES);
  });
  afterAll(() => consumer.remove());
  const programs = version === 6 ? ['program.ts'] : ['program.ts', 'runner.ts'];

  it.each(['nodenext', 'bundler'] as const)('a strict program compiles with %s', (module) => {
    expect(consumer.compile(programs, module)).toBe('');
  });

  it('the snippets of the page compile', () => {
    expect(consumer.compile(consumer.writeSnippets('docs/adapters/openai.md'), 'nodenext')).toBe('');
  });

  it('a program with mistakes does not compile', () => {
    expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(4);
  });
});

describe('examples/adapters/openai.ts', () => {
  let consumer: Consumer;
  beforeAll(() => {
    consumer = createConsumer({ openai: 'openai7' });
    copyFileSync(join(ROOT, 'examples/adapters/openai.ts'), join(consumer.folder, 'example.ts'));
  });
  afterAll(() => consumer.remove());

  it('compiles, runs without a key, and prints something', () => {
    expect(consumer.compile(['example.ts'], 'nodenext')).toBe('');
    const { status, stdout, stderr } = consumer.run('example.js');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('tokens fewer');
  });
});
