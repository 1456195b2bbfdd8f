import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT, scratchFolder, typeCheck } from '../support/modules.ts';

const MODULES = fileURLToPath(new URL('node_modules', import.meta.url));

/** Names of packages, and the folder of `test/frameworks/node_modules` that each is found in. */
type Packages = Readonly<Record<string, string>>;

/** A project that has our package and some of the frameworks, by the names that users know. */
export interface Consumer {
  readonly folder: string;
  /** Compiles files into the folder, as strictly as TypeScript can. Answers what the compiler says. */
  compile(files: readonly string[], module: 'nodenext' | 'bundler'): string;
  /** Writes the TypeScript snippets of a page of the docs as files, and answers their names. */
  writeSnippets(page: string): string[];
  run(file: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string };
  remove(): void;
}

export function createConsumer(packages: Packages): Consumer {
  const folder = scratchFolder('frameworks');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/palimpsest'), 'dir');
  for (const [name, found] of Object.entries(packages)) {
    mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(MODULES, found), join(folder, 'node_modules', name), 'dir');
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  return {
    folder,
    compile(files, module) {
      const resolution = module === 'bundler' ? { module: 'esnext', moduleResolution: 'bundler' } : { module };
      const project = {
        extends: relative(folder, join(ROOT, 'tsconfig.json')),
        compilerOptions: { ...resolution, outDir: 'out', rootDir: '.', lib: ['es2023', 'dom', 'dom.iterable'] },
        include: [],
        files,
      };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
      return typeCheck(folder, 'tsconfig.json').output;
    },
    writeSnippets(page) {
      const text = readFileSync(join(ROOT, page), 'utf8');
      return Array.from(text.matchAll(/^```ts\n(.*?)^```$/gms), ([, snippet = ''], i) => {
        writeFileSync(join(folder, `snippet-${i}.ts`), snippet);
        return `snippet-${i}.ts`;
      });
    },
    run: (file) => spawnSync(process.execPath, [join('out', file)], { cwd: folder, encoding: 'utf8' }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
