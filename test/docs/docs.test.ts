import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  cacheFolder,
  ensureBuilt,
  isTest,
  ROOT,
  readManifest,
  readModules,
  scratchFolder,
  typeCheck,
} from '../support/modules.ts';

/** A page of documentation: its path from the repository, and what it says. */
interface Page {
  readonly path: string;
  readonly text: string;
}

const pages: readonly Page[] = ['README.md', ...markdownIn('docs'), ...markdownIn('examples')]
  .filter((path) => existsSync(join(ROOT, path)))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

function markdownIn(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name));
}

describe('docs/money.md', () => {
  it('has the list prices of the sources', async () => {
    await ensureBuilt();
    const args = [join(ROOT, 'scripts/money.js'), '--check'];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });
});

describe('docs/exports.md', () => {
  const docs = (cwd: string, ...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, 'scripts/docs.js'), ...args], { cwd, encoding: 'utf8' });

  it('is what the sources say; every field has a comment, every option its default, every main function an example', () => {
    const { status, stderr } = docs(ROOT, '--check');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('has a line for each export, with its kind and the first sentence of its comment', () => {
    const folder = writePackage({
      'package.json': JSON.stringify({
        name: 'pkg',
        exports: { '.': { types: './dist/index.d.ts' }, './x': './x.js' },
      }),
      'src/index.ts': [
        "import { used } from './a.ts';",
        "export * from './a.ts';",
        "export { type Shape, Thing as Renamed } from './b.ts';",
        'export { used as again };',
        '/** The main thing, as of 1.5 or so. Not this. */',
        'export function main(): void {}',
      ].join('\n'),
      'src/a.ts':
        '/**\n * Is used\n * twice.\n */\nexport const used = 1;\n/** An arrow. */\nexport const arrow = () => 1;',
      'src/b.ts': '/** A shape. */\nexport interface Shape {}\n/* not a doc comment */\nexport class Thing {}',
    });
    const { stderr } = docs(folder);
    expect(stderr).toBe('Without a doc comment: Renamed (src/b.ts)\n');
    expect(readFileSync(join(folder, 'docs/exports.md'), 'utf8').split('\n').slice(4)).toEqual([
      '## `pkg`',
      '',
      '- [`again`](../src/a.ts), const: Is used twice.',
      '- [`arrow`](../src/a.ts), function: An arrow.',
      '- [`main`](../src/index.ts), function: The main thing, as of 1.5 or so.',
      '- [`Renamed`](../src/b.ts), class',
      '- [`used`](../src/a.ts), const: Is used twice.',
      '- [`Shape`](../src/b.ts), type: A shape.',
      '',
    ]);
    expect(docs(folder, '--check').status).toBe(0);
    writeFileSync(join(folder, 'src/b.ts'), '/** A form. */\nexport interface Shape {}\nexport class Thing {}');
    const changed = docs(folder, '--check');
    expect(changed.status).toBe(1);
    expect(changed.stderr).toContain(
      'docs/exports.md is not what the sources say (line 12). Run: node scripts/docs.js',
    );
    rmSync(folder, { recursive: true });
  });

  it('needs a comment on each field, each public member and each variant, and a default on each option', () => {
    const folder = writePackage({
      'package.json': JSON.stringify({ name: 'pkg', exports: { '.': { types: './dist/index.d.ts' } } }),
      'src/index.ts': [
        "import type { Base } from './base.ts';",
        '/** Options. */',
        'export interface MakeOptions extends Omit<Base, "kept"> {',
        '  /** Said. @default 1 */',
        '  readonly said?: number;',
        '  /** Without one. */',
        '  readonly unsaid?: number;',
        '  /** Needed. */',
        '  readonly needed: number;',
        '}',
        '/** A family. */',
        'export type Family =',
        '  /** The first. */',
        "  | { readonly kind: 'first' }",
        "  | { readonly kind: 'second' };",
        '/** A class. */',
        'export class Made {',
        '  #own = 1;',
        '  open = 1;',
        '}',
      ].join('\n'),
      'src/base.ts': 'export interface Base {\n  silent: number;\n}',
    });
    expect(docs(folder).stderr.split('\n')).toEqual([
      'Without a doc comment: Base.silent (src/base.ts), Family.variant (src/index.ts), Made.open (src/index.ts)',
      'Without @default: MakeOptions.unsaid (src/index.ts)',
      '',
    ]);
    rmSync(folder, { recursive: true });
  });

  function writePackage(files: Readonly<Record<string, string>>): string {
    const folder = mkdtempSync(join(tmpdir(), 'palimpsest-docs-'));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return folder;
  }
});

describe('examples in documentation comments', () => {
  it('compile', () => {
    const sources = readModules('src').filter((module) => !isTest(module) && module.text.includes('@example'));
    expect(sources.length).toBeGreaterThan(40);
    const comments = sources.map(({ path, text }) => ({ path, text: text.replaceAll(/^ *\* ?/gm, '') }));
    expect(compileSnippets(comments, GIVEN)).toEqual([]);
  });

  /** Names that an example may use without declaring them. */
  const GIVEN = [
    "import type { ChatMessage } from 'palimpsest';",
    "import type { Store } from 'palimpsest/store';",
    'declare global {',
    '  const history: ChatMessage[];',
    '  const store: Store;',
    '}',
  ].join('\n');
});

describe('snippets that import palimpsest', () => {
  it('compile', () => {
    expect(compileSnippets(pages)).toEqual([]);
  });

  it('are reported with page and line if they do not', () => {
    const page = (...lines: string[]): Page => ({ path: 'docs/made-up.md', text: lines.join('\n') });
    const wrong = page(
      '# A page',
      '```ts',
      "import { fit } from 'palimpsest';",
      "fit([], { maxTokens: 'many' });",
      '```',
      '```ts',
      "import { countTokens } from 'palimpsest/tokens';",
      "import { fit } from 'palimpsest';",
      "const { messages } = fit([{ role: 'user', content: 'x' }]);",
      'const count: number = countTokens(messages[0].content);',
      '```',
      '```ts',
      'const this does not import the package',
      '```',
    );
    expect(compileSnippets([wrong])).toEqual([
      "docs/made-up.md:4: TS2322: Type 'string' is not assignable to type 'number'.",
      "docs/made-up.md:10: TS2532: Object is possibly 'undefined'.",
    ]);
  });
});

/** Type-checks all snippets at once. Each stands in its file on the line on which it stands in its page. */
function compileSnippets(from: readonly Page[], given = ''): string[] {
  const snippets = from.flatMap((page) =>
    blocksOf(page)
      .filter(({ language, text }) => /^(?:ts|typescript)$/.test(language) && /from 'palimpsest[/']/.test(text))
      .filter(({ text }) => !importsFramework(text))
      .map(({ line, text }) => ({ page, file: `${page.path.replaceAll(/\W/g, '-')}-${line}.ts`, line, text })),
  );
  if (snippets.length === 0) return [];
  const folder = scratchFolder('docs');
  for (const { file, line, text } of snippets) writeFileSync(join(folder, file), '\n'.repeat(line) + text);
  const compilerOptions = { noEmit: true, noUnusedLocals: false, noUnusedParameters: false, paths: sourcesOfDoors() };
  const project = { extends: relative(folder, join(ROOT, 'tsconfig.json')), compilerOptions, include: [] };
  const files = ['given.ts', ...snippets.map(({ file }) => file)];
  writeFileSync(join(folder, 'given.ts'), `${given}\nexport {};\n`);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...project, files }));
  const { output } = typeCheck(folder, 'tsconfig.json');
  rmSync(folder, { recursive: true });
  return output.split('\n').flatMap((said) => {
    const [, file, line, error] = /^(\S+)\((\d+),\d+\): error (.*)$/.exec(said) ?? [];
    if (file === undefined) return said.startsWith('error') ? [said] : [];
    const page = snippets.find((snippet) => snippet.file === file)?.page.path ?? file;
    return [`${page}:${line}: ${error}`];
  });
}

/** Whether a snippet imports a framework that only `test/frameworks` has: the snippet is compiled there. */
function importsFramework(text: string): boolean {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'test/frameworks/package.json'), 'utf8'));
  const imported = Array.from(text.matchAll(/from '((?:@[\w-]+\/)?[\w.-]+)/g), ([, name = '']) => name);
  return imported.some((name) => name in dependencies && !existsSync(join(ROOT, 'node_modules', name)));
}

/** The sources behind each door, so that docs follow the code without a build. */
function sourcesOfDoors(): Record<string, string[]> {
  const { name, exports } = readManifest();
  const doors = Object.entries(exports).flatMap(([door, target]) =>
    typeof target === 'string' ? [] : [{ [name + door.slice(1)]: [sourceOf(target.types)] }],
  );
  return Object.assign({}, ...doors);
}

const sourceOf = (types: string): string => join(ROOT, types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts'));

describe('palimpsest/manager', () => {
  it('exports only functions and classes that a page or an example names', async () => {
    const examples = readdirSync(join(ROOT, 'examples')).filter((name) => name.endsWith('.ts'));
    const texts = [
      ...pages.filter(({ path }) => path !== join('docs', 'exports.md')).map(({ text }) => text),
      ...examples.map((name) => readFileSync(join(ROOT, 'examples', name), 'utf8')),
    ].join('\n');
    const named = new Set(texts.match(/\w+/g));
    const { ...exported } = await import('../../src/manager/index.ts');
    expect(Object.keys(exported).filter((name) => !named.has(name))).toEqual([]);
  });
});

describe('output shown in the docs', () => {
  it('is what the program prints', async () => {
    expect(await wrongOutputs(pages)).toEqual([]);
  });

  it('is reported with page, line and command if it is not', async () => {
    const text = [
      '<!-- output of: palimpsest --version | tr -d 0-9 -->',
      '```text',
      '..',
      '```',
      '<!-- output of: palimpsest nonsense -->',
      '',
      '```',
      'palimpsest: everything is fine',
      '```',
      '<!-- output of: palimpsest --version -->',
      'no block at all',
    ].join('\n');
    const [first, second, ...others] = await wrongOutputs([{ path: 'docs/made-up.md', text }]);
    expect(others).toEqual([]);
    expect(first).toContain('docs/made-up.md:5: palimpsest nonsense prints\n');
    expect(first).toContain("palimpsest: no command 'nonsense'");
    expect(second).toBe('docs/made-up.md:10: expected a fenced block after <!-- output of: palimpsest --version -->');
  });
});

const OUTPUT_OF = /^<!-- output of: (.+?) -->$/;

/** Runs every command that a page names above a block, and compares. */
async function wrongOutputs(from: readonly Page[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const page of from) {
    const blocks = blocksOf(page);
    const inside = (line: number): boolean => blocks.some((block) => block.line <= line && line <= block.end);
    for (const [index, said] of page.text.split('\n').entries()) {
      const command = OUTPUT_OF.exec(said)?.[1];
      if (command === undefined || inside(index + 1)) continue;
      const block = blocks.find(({ above }) => above === index + 1);
      if (!block) wrong.push(`${page.path}:${index + 1}: expected a fenced block after ${said}`);
      const output = block ? await outputOf(command) : '';
      if (block && output !== block.text.trimEnd())
        wrong.push(`${page.path}:${index + 1}: ${command} prints\n${output}`);
    }
  }
  return wrong;
}

/** What a reader sees who types the command in the repository, after `npm ci`. */
async function outputOf(command: string): Promise<string> {
  await ensureBuilt();
  const bin = cacheFolder('bin');
  const program = join(bin, 'palimpsest');
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, 'dist/cli/main.js')}" "$@"\n`);
  chmodSync(program, 0o755);
  const env = {
    ...process.env,
    PATH: bin + delimiter + process.env.PATH,
    NO_COLOR: '1',
    npm_config_loglevel: 'silent',
  };
  const { stdout } = spawnSync('sh', ['-c', `{ ${command}\n} 2>&1 </dev/null`], { cwd: ROOT, encoding: 'utf8', env });
  return stdout.trimEnd();
}

describe('docs/README.md', () => {
  it('lists every page in one of its four groups', () => {
    const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8');
    const listed = new Set(Array.from(index.matchAll(/\]\(([^)#]+)\)/g), ([, target = '']) => join('docs', target)));
    const missing = markdownIn('docs').filter((path) => !/decisions/.test(path) && !listed.has(path));
    expect(missing.filter((path) => path !== join('docs', 'README.md'))).toEqual([]);
    expect(index.match(/^## .*/gm)).toEqual(['## Start', '## Guides', '## Reference', '## How it works']);
  });
});

describe('docs/glossary.md', () => {
  it('has at most twenty words, in order', () => {
    const text = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8');
    const words = Array.from(text.matchAll(/^\| \*\*(.+?)\*\*/gm), ([, word = '']) => word);
    expect(words.length).toBeGreaterThan(10);
    expect(words.length).toBeLessThanOrEqual(20);
    expect(words).toEqual([...words].sort());
  });
});

describe('links in the docs', () => {
  const roots = ['AGENTS.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', join('bench', 'README.md')];
  const linked = [...pages, ...roots.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))];
  const links = linked.flatMap(({ path, text }) =>
    Array.from(
      text.replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '').matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
      ([, target = '', anchor]) => ({ path, target: target === '' ? path : join(dirname(path), target), anchor }),
    ),
  );

  it('lead to files that exist', () => {
    expect(links.length).toBeGreaterThan(500);
    expect(links.filter(({ target }) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  it('lead to headings that exist', () => {
    const dead = links
      .filter(({ target, anchor }) => anchor !== undefined && target.endsWith('.md'))
      .filter(({ target, anchor = '' }) => !headingsOf(readFileSync(join(ROOT, target), 'utf8')).has(anchor));
    expect(dead).toEqual([]);
  });

  /** The anchors of a page, as GitHub makes them. */
  function headingsOf(text: string): Set<string> {
    const titles = text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/^#+ (.+)$/gm);
    return new Set(
      Array.from(titles, ([, title = '']) =>
        title
          .trim()
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(' ', '-'),
      ),
    );
  }
});

interface Block {
  readonly language: string;
  /** The lines of the two fences, counted from 1. */
  readonly line: number;
  readonly end: number;
  /** The line of the last text above it. */
  readonly above: number;
  readonly text: string;
}

/** The fenced blocks of a page. A fence closes with as many of its own character, or more. */
function blocksOf({ text }: Page): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  let above = 0;
  for (let i = 0; i < lines.length; i++) {
    const [, indent, fence, language] = /^( {0,3})(`{3,}|~{3,})\s*([\w-]*)/.exec(lines[i] ?? '') ?? [];
    if (fence === undefined) {
      if (lines[i]?.trim()) above = i + 1;
      continue;
    }
    const closes = (line: string): boolean => new RegExp(`^ {0,3}${fence[0]}{${fence.length},}\\s*$`).test(line);
    const length = lines.slice(i + 1).findIndex(closes);
    const end = length < 0 ? lines.length : i + 1 + length;
    const body = lines
      .slice(i + 1, end)
      .map((line) => (line.startsWith(indent ?? '') ? line.slice(indent?.length) : line));
    blocks.push({ language: language ?? '', line: i + 1, end: end + 1, above, text: body.join('\n') });
    i = end;
    above = end + 1;
  }
  return blocks;
}
