import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

const PROGRAM = `
import { Agent, agentLoop, type AgentLoopConfig, type AgentTool, type StreamFn } from '@earendil-works/pi-agent-core';
import { type Api, type Model, Type } from '@earendil-works/pi-ai';
import { breakEven, type Report } from 'palimpsest';
import { palimpsest, type PiOptions } from 'palimpsest/pi';
import { createMemoryStore } from 'palimpsest/store';

const store = createMemoryStore();
const reports: Report[] = [];
const options: PiOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'gpt-5',
  arrival: { clean: true },
  recall: true,
  session: ({ messages }) => \`chat-\${messages.length}\`,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};
const parameters = Type.Object({ path: Type.String() });
const read: AgentTool<typeof parameters> = {
  name: 'read',
  label: 'Read',
  description: 'Reads a file.',
  parameters,
  execute: async (_id, { path }) => ({ content: [{ type: 'text', text: path }], details: undefined }),
};
const recall: AgentTool[] = palimpsest.tools({ store });

export function start(model: Model<Api>, streamFn: StreamFn, convertToLlm: AgentLoopConfig['convertToLlm']): Agent {
  const tools = [read, ...recall];
  const agent = new Agent({
    initialState: { model, tools: [read, ...palimpsest.tools({ store })] },
    streamFn,
    transformContext: palimpsest({ ...options, session: () => agent.sessionId }),
  });
  const transform = palimpsest(options);
  agentLoop([], { messages: [], tools }, {
    model,
    convertToLlm,
    transformContext: (messages, signal) => transform(messages, signal).catch(() => messages),
  }, undefined, streamFn);
  return agent;
}
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/pi';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.tools({ store: {} });
palimpsest.extension({ session: 1 });
`;

beforeAll(ensureBuilt);

describe('with pi', () => {
  let consumer: Consumer;
  let snippets: string[];
  beforeAll(() => {
    const [core, ai] = ['@earendil-works/pi-agent-core', '@earendil-works/pi-ai'];
    consumer = createConsumer({ [core]: core, [ai]: ai });
    writeFileSync(join(consumer.folder, 'program.ts'), PROGRAM);
    writeFileSync(join(consumer.folder, 'mistakes.ts'), MISTAKES);
    copyFileSync(join(ROOT, 'examples/adapters/pi.ts'), join(consumer.folder, 'example.ts'));
    snippets = consumer.writeSnippets('docs/adapters/pi.md');
  });
  afterAll(() => consumer.remove());

  it.each(['nodenext', 'bundler'] as const)('a strict program compiles with %s', (module) => {
    expect(consumer.compile(['program.ts'], module)).toBe('');
  });

  it('a program with mistakes does not compile', () => {
    expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(4);
  });

  it('the snippets of the page compile', () => {
    expect(snippets).toHaveLength(2);
    expect(consumer.compile(snippets, 'nodenext')).toBe('');
  });

  it('the example compiles, runs without a key, and prints something', () => {
    expect(consumer.compile(['example.ts'], 'nodenext')).toBe('');
    const { status, stdout, stderr } = consumer.run('example.js');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('tokens fewer');
  });
});
