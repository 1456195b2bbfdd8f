import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'vitest/node';
import { underLock } from './process-lock.ts';

/** The repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A source file: its path from the repository, with slashes, and what it says. */
export interface Module {
  readonly path: string;
  readonly text: string;
}

/** Reads every TypeScript file below a folder of the repository, but not those of installed packages. */
export function readModules(folder: string): Module[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes('node_modules'))
    .sort()
    .map((name) => ({
      path: posix.join(folder, name.replaceAll('\\', '/')),
      text: readFileSync(join(ROOT, folder, name), 'utf8'),
    }));
}

export const isTest = ({ path }: Pick<Module, 'path'>): boolean => TEST.test(path);
const TEST = /\.test\.ts$/;

export interface Import {
  /** Undefined for `import(…)` of something computed. */
  readonly specifier: string | undefined;
  readonly line: number;
  /** Erased when compiled. `import { type A }` is not: `verbatimModuleSyntax` keeps the import itself. */
  readonly isType: boolean;
  readonly isDynamic: boolean;
}

/** Every way in which a file names another. */
export function importsOf(module: Module): Import[] {
  const imports: Import[] = [];
  walk(parse(module), (node) => {
    const found = IMPORTS[node.type]?.(node);
    if (found) imports.push({ isDynamic: false, ...found, line: lineOf(module, node) });
  });
  for (const match of module.text.matchAll(/^\/\/\/\s*<reference\s+(?:types|path)=["']([^"']+)["']/gm)) {
    const line = module.text.slice(0, match.index).split('\n').length;
    imports.push({ specifier: match[1], line, isType: true, isDynamic: false });
  }
  return imports;
}

type Found = Pick<Import, 'specifier' | 'isType'> & { isDynamic?: boolean };

const IMPORTS: Readonly<Record<string, (node: Node) => Found | undefined>> = {
  ImportDeclaration: (node) => ({ specifier: literal(node.source), isType: node.importKind === 'type' }),
  ExportAllDeclaration: (node) => ({ specifier: literal(node.source), isType: node.exportKind === 'type' }),
  ExportNamedDeclaration: (node) =>
    node.source ? { specifier: literal(node.source), isType: node.exportKind === 'type' } : undefined,
  ImportExpression: (node) => ({ specifier: literal(node.source), isType: false, isDynamic: true }),
  TSImportType: (node) => ({ specifier: literal(node.source), isType: true }),
  TSExternalModuleReference: (node) => ({ specifier: literal(node.expression), isType: false }),
  CallExpression: (node) =>
    (node.callee as Node).name === 'require'
      ? { specifier: literal((node.arguments as Node[])[0]), isType: false, isDynamic: true }
      : undefined,
};

const literal = (node: unknown): string | undefined => {
  const value = (node as Node | undefined)?.value;
  return typeof value === 'string' ? value : undefined;
};

/** A file or folder below `src/`, and the ring it stands in. A folder ends with a slash. */
const RINGS: Readonly<Record<string, number>> = {
  'message.ts': 0,
  'errors.ts': 0,
  'text.ts': 0,
  'options.ts': 0,
  'limits.ts': 0,
  'formats/': 1,
  'tokens/': 1,
  'budget.ts': 1,
  'laws/': 1,
  'plan/': 2,
  'money/': 2,
  'report/': 2,
  'store/': 3,
  // The door: it may open on all up to the store, and only what stands outside may come through it.
  'index.ts': 3.5,
  'core.ts': 3.5,
  'manager/': 4,
  'adapters/': 5,
  'gateway/': 5,
  'mcp/': 5,
  'lab/': 5,
  'cli/': 6,
  'testing/': 6,
};

const LAST_PURE_RING = 2;
const RING_OF_STRANGERS = 5;

interface Place {
  readonly name: string;
  readonly ring: number;
}

function placeOf(path: string): Place | undefined {
  const [, first = '', ...rest] = path.split('/');
  const name = rest.length > 0 ? `${first}/` : first.replace(TEST, '.ts');
  const ring = RINGS[name];
  return ring === undefined ? undefined : { name, ring };
}

const isPure = (module: Module): boolean => (placeOf(module.path)?.ring ?? 0) <= LAST_PURE_RING;

/** Files that stand in no ring, so that no rule below would look at them. */
export function unplaced(modules: readonly Module[]): string[] {
  const names = modules.filter(({ path }) => !placeOf(path)).map(({ path }) => path.split('/').slice(0, 2).join('/'));
  return [...new Set(names)].map((name) => `${name}: in no ring; give it one in RINGS of test/support/modules.ts`);
}

/** Imports that lead outwards, between strangers, into tests or out of `src/`. */
export function wrongImports(modules: readonly Module[]): string[] {
  return findIn(modules, (module) => {
    const from = placeOf(module.path);
    return importsOf(module).flatMap(({ specifier, line }) => {
      if (!from || !specifier?.startsWith('.')) return [];
      const target = posix.join(posix.dirname(module.path), specifier);
      const wrong = wrongTarget(from, target);
      return wrong ? [{ line, text: `${show(from)} imports ${target}, ${wrong}` }] : [];
    });
  });
}

function wrongTarget(from: Place, target: string): string | undefined {
  if (!target.startsWith('src/')) return 'which is outside src/';
  if (isTest({ path: target })) return 'which is a test';
  const to = placeOf(target);
  if (!to) return 'which is in no ring';
  if (to.ring > from.ring) return `which is further out (${show(to)})`;
  const areStrangers = to.ring === RING_OF_STRANGERS && from.ring === to.ring && from.name !== to.name;
  return areStrangers ? `and folders of ring ${to.ring} never import each other` : undefined;
}

const show = ({ ring, name }: Place): string => (Number.isInteger(ring) ? `ring ${ring}` : `the door ${name}`);

/** Packages that a file may use: Node's own by their full name, and what package.json promises to the user. */
export function undeclaredPackages(modules: readonly Module[], declared: readonly string[]): string[] {
  return findIn(modules, (module) =>
    importsOf(module).flatMap(({ specifier, line }) => {
      if (specifier === undefined || specifier.startsWith('.') || specifier.startsWith('node:')) return [];
      if (isBuiltin(specifier)) return [{ line, text: `imports '${specifier}'; write 'node:${specifier}'` }];
      const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
      return declared.includes(name) ? [] : [{ line, text: `imports ${name}, which package.json does not declare` }];
    }),
  );
}

/** What the rings that only compute may not touch: a clock, a network, a disk, a process, chance, a locale. */
const AMBIENT = new Set(
  (
    'process fetch setTimeout setInterval setImmediate queueMicrotask Date console require Buffer performance ' +
    'crypto navigator globalThis eval Function XMLHttpRequest WebSocket Intl __dirname __filename'
  ).split(' '),
);
const AMBIENT_MEMBERS = /^(?:localeCompare|toLocale\w+)$/;

/** Whatever in a pure ring comes from, or reaches for, the world outside. */
export function impurities(modules: readonly Module[]): string[] {
  return findIn(modules.filter(isPure), (module) => [
    ...importsOf(module).flatMap(({ specifier, line, isDynamic }) => {
      if (isDynamic) return [{ line, text: 'a pure ring imports while it runs' }];
      return specifier?.startsWith('.') ? [] : [{ line, text: `a pure ring imports '${specifier}'` }];
    }),
    ...ambientUses(module),
  ]);
}

function ambientUses(module: Module): Finding[] {
  const uses: Finding[] = [];
  const report = (node: Node, what: string): void => {
    uses.push({ line: lineOf(module, node), text: `a pure ring uses ${what}` });
  };
  walk(parse(module), (node, parent, key) => {
    if (node.type === 'MetaProperty') report(node, 'import.meta');
    if (node.type === 'MemberExpression') {
      const [object, property] = [(node.object as Node).name, memberName(node)];
      if (object === 'Math' && (property === 'random' || property === undefined)) report(node, 'Math.random');
      if (property && AMBIENT_MEMBERS.test(property)) report(node, property);
    }
    if (node.name === 'Math' && parent?.type !== 'MemberExpression') report(node, 'all of Math, Math.random too');
    if (node.type === 'Identifier' && AMBIENT.has(String(node.name)) && !isLabel(parent, key))
      report(node, String(node.name));
  });
  return uses;
}

const memberName = ({ computed, property }: Node): string | undefined =>
  computed ? literal(property) : String((property as Node).name);

/** The name of a property or of a type, which is no use of a global. */
function isLabel(parent: Node | undefined, key: string): boolean {
  if (!parent) return false;
  if (parent.type.startsWith('TS') && key !== 'expression') return true;
  return (key === 'property' || key === 'key') && !parent.computed && !parent.shorthand;
}

/** Circles of imports that remain when the program runs, among the pure rings. */
export function cycles(modules: readonly Module[]): string[] {
  const pure = modules.filter((module) => isPure(module) && !isTest(module));
  const graph = new Map(pure.map((module) => [module.path, targetsOf(module)]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

const targetsOf = (module: Module): string[] =>
  importsOf(module).flatMap(({ specifier, isType }) =>
    isType || !specifier?.startsWith('.') ? [] : [posix.join(posix.dirname(module.path), specifier)],
  );

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** File and folder names that are not in kebab-case. `x.test.ts` is. */
export function wrongNames(modules: readonly Module[]): string[] {
  return modules
    .filter(({ path }) => !path.split(/[/.]/).every((word) => KEBAB.test(word)))
    .map(({ path }) => `${path}: expected a name in kebab-case`);
}

/** What the house does without: `any`, `enum`, and work left for later. */
export function unwanted(modules: readonly Module[]): string[] {
  return findIn(modules, (module) => {
    const found: Finding[] = [];
    walk(parse(module), (node) => {
      if (node.type === 'TSAnyKeyword')
        found.push({ line: lineOf(module, node), text: 'any; use unknown and a check' });
      if (node.type === 'TSEnumDeclaration')
        found.push({ line: lineOf(module, node), text: 'an enum; use a union of texts' });
    });
    for (const [index, line] of module.text.split('\n').entries()) {
      if (/\b(?:TODO|FIXME)\b/.test(line))
        found.push({ line: index + 1, text: 'work left for later; do it or open an issue' });
    }
    return found;
  });
}

interface Finding {
  readonly line: number;
  readonly text: string;
}

function findIn(modules: readonly Module[], look: (module: Module) => readonly Finding[]): string[] {
  return modules
    .filter((module) => !isTest(module))
    .flatMap((module) => {
      const findings = [...look(module)].sort((a, b) => a.line - b.line);
      return findings.map(({ line, text }) => `${module.path}:${line}: ${text}`);
    });
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';

const parsed = new WeakMap<Module, Node>();

function parse(module: Module): Node {
  const known = parsed.get(module);
  if (known) return known;
  const program = parseAst(
    module.text,
    { lang: module.path.endsWith('x') ? 'tsx' : 'ts' },
    module.path,
  ) as unknown as Node;
  parsed.set(module, program);
  return program;
}

function walk(node: Node, visit: (node: Node, parent: Node | undefined, key: string) => void): void {
  const enter = (current: Node, parent: Node | undefined, key: string): void => {
    visit(current, parent, key);
    for (const [name, value] of Object.entries(current)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) enter(child, current, name);
    }
  };
  enter(node, undefined, '');
}

const lineOf = ({ text }: Module, { start }: Node): number => text.slice(0, start).split('\n').length;

export interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export const readManifest = (): Manifest => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** A place for what tests write. Inside the repository, so that its packages are found from there. */
export function cacheFolder(name: string): string {
  const folder = join(ROOT, 'node_modules/.cache/palimpsest', name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** A new folder there, so that two runs side by side do not meet. */
export const scratchFolder = (name: string): string => mkdtempSync(join(cacheFolder('.'), `${name}-`));

/** Runs the repository's own compiler, and answers what it says. */
export function typeCheck(
  folder: string,
  project: string,
): { readonly status: number | null; readonly output: string } {
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '--pretty', 'false', '-p', project];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

/** Builds `dist/` if it is missing or older than `src/` and `web/`. Test files run side by side: one builds, the others wait. */
export async function ensureBuilt(): Promise<void> {
  await underLock(join(cacheFolder('.'), 'build.pid'), () => {
    if (isBuilt()) return;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/build.js'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`node scripts/build.js failed:\n${stdout}${stderr}`);
  });
}

function isBuilt(): boolean {
  const main = join(ROOT, 'dist/cli/main.js');
  // To make it executable is the last step of a build: one that broke off left it as it was.
  if (!existsSync(main) || (statSync(main).mode & 0o111) === 0) return false;
  const sources = ['src', 'web'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => !isTest({ path }))
      .map((name) => join(folder, name)),
  );
  const inputs = ['tsconfig.json', 'tsconfig.build.json', 'scripts/build.js', 'scripts/build-page.js', ...sources];
  const newest = Math.max(...inputs.map((name) => statSync(join(ROOT, name)).mtimeMs));
  return newest < statSync(main).mtimeMs;
}
