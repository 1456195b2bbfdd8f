import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

/** The frameworks that only these tests have. Examples with the others are compiled by `test/docs.test.ts`. */
const FRAMEWORKS = {
  'openai-agents': '@openai/agents',
  pi: '@earendil-works/pi-agent-core',
  mastra: '@mastra/core',
  strands: '@strands-agents/sdk',
  langchain: 'langchain',
};

const GIVEN = "import type { Store } from 'palimpsest/store';\ndeclare global {\n  const store: Store;\n}\n";

describe('the example in the comment of an adapter', () => {
  let consumer: Consumer;
  beforeAll(async () => {
    await ensureBuilt();
    const names = [...Object.values(FRAMEWORKS), '@langchain/core'];
    consumer = createConsumer(Object.fromEntries(names.map((name) => [name, name])));
    writeFileSync(join(consumer.folder, 'given.ts'), GIVEN);
  });
  afterAll(() => consumer?.remove());

  it.each(Object.entries(FRAMEWORKS))('%s compiles with its framework', (adapter, framework) => {
    const source = readFileSync(join(ROOT, 'src/adapters', adapter, 'index.ts'), 'utf8').replaceAll(/^ *\* ?/gm, '');
    const [, code = ''] = /@example\n```ts\n(.*?)^```$/ms.exec(source) ?? [];
    expect(code).toContain(`from '${framework}`);
    writeFileSync(join(consumer.folder, `${adapter}.ts`), code.replaceAll(/^const /gm, 'export const '));
    expect(consumer.compile(['given.ts', `${adapter}.ts`], 'nodenext')).toBe('');
  });
});
