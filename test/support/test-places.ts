import { posix } from 'node:path';
import { importsOf, isTest, type Module } from './modules.ts';

/** Folders of `test/` with a command and helpers of their own: `npm run agents`, `chaos`, `frameworks`. */
const PROGRAMS = /^test\/(?:agents|chaos|frameworks)\//;
const SUPPORT = 'test/support/';

/** Tests and helpers that are not where AGENTS.md says: beside the file, in `test/`, or in `test/support`. */
export function misplacedTests(modules: readonly Module[]): string[] {
  const paths = new Set(modules.map(({ path }) => path));
  return modules
    .filter(({ path }) => !PROGRAMS.test(path))
    .flatMap((module) => [...misplaced(module.path, paths), ...wrongTestImports(module)]);
}

function misplaced(path: string, paths: ReadonlySet<string>): string[] {
  const source = path.replace(/\.test\.ts$/, '');
  const isInTest = path.startsWith('test/');
  if (isInTest && !isTest({ path }) && !path.startsWith(SUPPORT)) return [`${path}: a helper belongs in ${SUPPORT}`];
  if (isTest({ path }) && path.startsWith(SUPPORT)) return [`${path}: a test does not belong in ${SUPPORT}`];
  if (isInTest || !isTest({ path }) || paths.has(`${source}.ts`) || paths.has(`${source}.tsx`)) return [];
  return [`${path}: expected ${posix.basename(source)}.ts beside it; a test that crosses files belongs in test/`];
}

function wrongTestImports(module: Module): string[] {
  return importsOf(module).flatMap(({ specifier, line }) => {
    if (!specifier?.startsWith('.')) return [];
    const target = posix.join(posix.dirname(module.path), specifier);
    const reason = wrongTestImport(module.path, target);
    return reason ? [`${module.path}:${line}: imports ${target}, ${reason}`] : [];
  });
}

function wrongTestImport(path: string, target: string): string | undefined {
  if (isTest({ path: target })) return 'a test; move the shared part to test/support';
  if (!target.startsWith('test/') || target.startsWith(SUPPORT)) return undefined;
  if (!path.startsWith('test/')) return 'which is not in test/support';
  return path.startsWith(SUPPORT) ? 'and test/support serves all tests' : undefined;
}
