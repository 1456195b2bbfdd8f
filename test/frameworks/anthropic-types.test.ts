import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

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

beforeAll(ensureBuilt);

describe('with @anthropic-ai/sdk', () => {
  let consumer: Consumer;
  beforeAll(() => {
    consumer = createConsumer({ '@anthropic-ai/sdk': 'anthropic-sdk' });
    writeFileSync(join(consumer.folder, 'program.ts'), PROGRAM);
    writeFileSync(join(consumer.folder, 'mistakes.ts'), MISTAKES);
    copyFileSync(join(ROOT, 'examples/adapters/anthropic.ts'), join(consumer.folder, 'example.ts'));
  });
  afterAll(() => consumer.remove());

  it.each(['nodenext', 'bundler'] as const)('a strict program compiles with %s', (module) => {
    expect(consumer.compile(['program.ts'], module)).toBe('');
  });

  it('the snippets of the page compile', () => {
    expect(consumer.compile(consumer.writeSnippets('docs/adapters/anthropic.md'), 'nodenext')).toBe('');
  });

  it('a program with mistakes does not compile', () => {
    expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(3);
  });

  it('examples/adapters/anthropic.ts compiles, runs without a key, and prints something', () => {
    expect(consumer.compile(['example.ts'], 'nodenext')).toBe('');
    const { status, stdout, stderr } = consumer.run('example.js');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('tokens fewer');
  });
});
