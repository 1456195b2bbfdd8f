import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, importsOf, ROOT, scratchFolder, typeCheck } from './support/modules.ts';

const examples = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts'));

/** Outputs of examples that the docs show. A marker without a block after it makes its test fail. */
const shown = readdirSync(join(ROOT, 'docs'))
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) =>
    [
      ...readFileSync(join(ROOT, 'docs', page), 'utf8').matchAll(
        /<!-- output of example: (\S+) -->(?:\s*```text\n([\s\S]*?)\n```)?/g,
      ),
    ].map(([, name, output]) => ({
      page,
      name: name ?? '',
      output,
    })),
  );

describe('the examples', () => {
  let folder: string;
  let compiled: ReturnType<typeof typeCheck>;

  // Node 20 cannot read TypeScript: they are compiled, into a place from which the package is found by its name.
  beforeAll(async () => {
    await ensureBuilt();
    folder = scratchFolder('examples');
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules/palimpsest'), 'dir');
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    const sources = examples.map((name) => relative(folder, join(ROOT, 'examples', name)));
    const compilerOptions = { outDir: '.', rootDir: relative(folder, join(ROOT, 'examples')) };
    const project = {
      extends: relative(folder, join(ROOT, 'tsconfig.json')),
      compilerOptions,
      include: [],
      files: sources,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
    compiled = typeCheck(folder, 'tsconfig.json');
    copyFileSync(join(ROOT, 'examples/sample-history.json'), join(folder, 'sample-history.json'));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('compile', () => {
    expect(compiled).toEqual({ status: 0, output: '' });
  });

  const run = (name: string) =>
    spawnSync(process.execPath, [name.replace(/\.ts$/, '.js')], { cwd: folder, encoding: 'utf8' });

  it.each(examples)('%s runs, and prints something', (name) => {
    const { status, stdout, stderr } = run(name);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.trim().split('\n').length).toBeGreaterThanOrEqual(2);
  });

  it('07-chat-survives-restart.ts starts its processes with the options of its own, as tsx needs it', () => {
    writeFileSync(join(folder, 'option.cjs'), "require('node:fs').appendFileSync('started.txt', '1');");
    const args = ['--require', './option.cjs', '07-chat-survives-restart.js'];
    expect(spawnSync(process.execPath, args, { cwd: folder }).status).toBe(0);
    expect(readFileSync(join(folder, 'started.txt'), 'utf8')).toBe('1111');
  });

  it.each(shown)('$name prints what docs/$page shows', ({ name, output }) => {
    expect(run(name).stdout.trimEnd()).toBe(output);
  });

  it.each(examples)('%s has two sentences on top, checks itself, and knows only the package', (name) => {
    const text = readFileSync(join(ROOT, 'examples', name), 'utf8');
    expect(text).toMatch(/^(\/\/ .+\n){2}import assert from 'node:assert\/strict';\n/);
    const foreign = importsOf({ path: name, text }).filter(
      ({ specifier }) => !/^(?:palimpsest(?:\/.+)?|node:.+)$/.test(specifier ?? ''),
    );
    expect(foreign).toEqual([]);
  });

  it('are all listed on their page, in order', () => {
    const page = readFileSync(join(ROOT, 'examples/README.md'), 'utf8');
    expect([...page.matchAll(/^\| \[(.+?)\]\(\1\)/gm)].map(([, name]) => name)).toEqual(examples);
  });
});
