import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

const PROGRAM = `
import { Agent, type ContextManagerConfig, type ContextStrategy, FunctionTool, InvokeModelStage, type Plugin, tool } from '@strands-agents/sdk';
import { breakEven, type Report } from 'palimpsest';
import { createMemoryStore } from 'palimpsest/store';
import { palimpsest, type StrandsOptions } from 'palimpsest/strands';

const store = createMemoryStore();
const reports: Report[] = [];
const options: StrandsOptions = {
  store,
  policy: breakEven(),
  maxTokens: 100_000,
  model: 'claude-sonnet-4-5',
  arrival: { clean: true },
  recall: true,
  session: ({ agent, invocationState }) => (invocationState.chat as string | undefined) ?? agent.id,
  onReport: (report, { session }) => {
    if (session) reports.push(report);
  },
};

const fit = palimpsest(options);
const plugin: Plugin = {
  name: 'palimpsest',
  initAgent: (agent) => void agent.addMiddleware(InvokeModelStage.Input, fit),
};
const recall = palimpsest.recall({ store });
export const agent = new Agent({ tools: [tool(recall), new FunctionTool(recall)], plugins: [plugin], contextManager: false });
const strategy: ContextStrategy = palimpsest.strategy({ ...options, stage: InvokeModelStage });
export const managed = new Agent({ contextManager: { strategies: [palimpsest.strategy({ store, stage: InvokeModelStage })], stash: false } });
export const config: ContextManagerConfig = { strategies: ['largeToolOffloading', strategy] };
export const remove: () => void = agent.addMiddleware(InvokeModelStage.Input, palimpsest({ store }));
`;

const MISTAKES = `
import { palimpsest } from 'palimpsest/strands';
palimpsest({ storee: 1 });
palimpsest({ maxTokens: '1' });
palimpsest.recall({ store: {} });
palimpsest.strategy({});
`;

let consumer: Consumer;

beforeAll(() => {
  ensureBuilt();
  consumer = createConsumer({ '@strands-agents/sdk': '@strands-agents/sdk' });
});
afterAll(() => consumer.remove());

describe('with Strands', () => {
  it.each(['nodenext', 'bundler'] as const)('a strict program compiles with %s', (module) => {
    writeFileSync(join(consumer.folder, 'program.ts'), PROGRAM);
    expect(consumer.compile(['program.ts'], module)).toBe('');
  });

  it('a program with mistakes does not compile', () => {
    writeFileSync(join(consumer.folder, 'mistakes.ts'), MISTAKES);
    expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(4);
  });

  it('the snippet of the page compiles', () => {
    const snippets = consumer.writeSnippets('docs/adapters/strands.md');
    expect(snippets).toHaveLength(1);
    expect(consumer.compile(snippets, 'nodenext')).toBe('');
  });

  it('the example compiles, runs without a key, and prints something', () => {
    copyFileSync(join(ROOT, 'examples/adapters/strands.ts'), join(consumer.folder, 'example.ts'));
    expect(consumer.compile(['example.ts'], 'nodenext')).toBe('');
    const { status, stdout, stderr } = consumer.run('example.js');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('tokens fewer');
  });
});
