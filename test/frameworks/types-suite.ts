import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, ROOT } from '../support/modules.ts';
import { type Consumer, createConsumer } from './consumer.ts';

export interface TypesSuite {
  /** Names of packages, and the folders they are found in. */
  readonly packages: Readonly<Record<string, string>>;
  /** Strict programs, by name. */
  readonly programs: Readonly<Record<string, string>>;
  /** A program that does not compile, and the number of its errors. */
  readonly mistakes: string;
  readonly errors: number;
  /** The page of the adapter in `docs/adapters`, and the number of its snippets. */
  readonly page: string;
  readonly snippets: number;
  /** Programs in `examples/adapters`. */
  readonly examples?: readonly string[];
}

/** Compiles programs with an adapter and its framework, as a user would, and runs the examples. */
export function describeTypes(framework: string, suite: TypesSuite): void {
  const { packages, programs, mistakes, errors, page, examples = [] } = suite;
  describe(`with ${framework}`, () => {
    let consumer: Consumer;
    beforeAll(async () => {
      await ensureBuilt();
      consumer = createConsumer(packages);
      const files = { ...programs, mistakes };
      for (const [name, text] of Object.entries(files)) writeFileSync(join(consumer.folder, `${name}.ts`), text);
    });
    afterAll(() => consumer.remove());

    it.each(['nodenext', 'bundler'] as const)('strict programs compile with %s', (module) => {
      const files = Object.keys(programs).map((name) => `${name}.ts`);
      expect(consumer.compile(files, module)).toBe('');
    });

    it('a program with mistakes does not compile', () => {
      expect(consumer.compile(['mistakes.ts'], 'nodenext').match(/error TS/g)).toHaveLength(errors);
    });

    it('the snippets of the page compile', () => {
      const snippets = consumer.writeSnippets(`docs/adapters/${page}.md`);
      expect(snippets).toHaveLength(suite.snippets);
      expect(consumer.compile(snippets, 'nodenext')).toBe('');
    });

    for (const name of examples)
      it(`examples/adapters/${name}.ts compiles, runs without a key, and prints something`, () => {
        copyFileSync(join(ROOT, `examples/adapters/${name}.ts`), join(consumer.folder, `${name}.ts`));
        expect(consumer.compile([`${name}.ts`], 'nodenext')).toBe('');
        const { status, stdout, stderr } = consumer.run(`${name}.js`);
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        expect(stdout).toContain('tokens fewer');
      });
  });
}
