import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

const PACKAGES = {
  ai: 'ai7',
  langchain: 'langchain',
  '@langchain/core': '@langchain/core',
  '@strands-agents/sdk': '@strands-agents/sdk',
  '@anthropic-ai/sdk': 'anthropic-sdk',
};
/** Not among the frameworks that are installed here. */
const ABSENT = '@context-chef/';

const page = readFileSync(join(ROOT, 'docs/migration.md'), 'utf8');
const snippets = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);

describe('docs/migration.md', () => {
  let consumer: Consumer;
  beforeAll(async () => {
    await ensureBuilt();
    consumer = createConsumer(PACKAGES);
  });
  afterAll(() => consumer?.remove());

  it('has code that compiles with the libraries that it is about', () => {
    const present = snippets.filter((code) => !code.includes(ABSENT));
    expect([snippets.length, present.length]).toEqual([12, 11]);
    const files = present.map((code, i) => {
      writeFileSync(join(consumer.folder, `snippet-${i}.ts`), code);
      return `snippet-${i}.ts`;
    });
    expect(consumer.compile(files, 'nodenext')).toBe('');
  });
});
