import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  cycles,
  ensureBuilt,
  importsOf,
  impurities,
  type Module,
  ROOT,
  readManifest,
  readModules,
  undeclaredPackages,
  unplaced,
  unwanted,
  wrongImports,
  wrongNames,
} from './support/modules.ts';
import { misplacedTests } from './support/test-places.ts';

describe('src', () => {
  const modules = readModules('src');

  it('has files to look at', () => {
    expect(modules.length).toBeGreaterThan(50);
  });

  it('has a ring for every file and folder', () => {
    expect(unplaced(modules)).toEqual([]);
  });

  it('imports only inwards', () => {
    expect(wrongImports(modules)).toEqual([]);
  });

  it('computes in rings 0 to 2 without Node, packages, or the world outside', () => {
    expect(impurities(modules)).toEqual([]);
  });

  it('uses only packages that a user of the package gets', () => {
    const { dependencies = {}, peerDependencies = {} } = readManifest();
    expect(undeclaredPackages(modules, Object.keys({ ...dependencies, ...peerDependencies }))).toEqual([]);
  });

  it('has no circle of imports in rings 0 to 2', () => {
    expect(cycles(modules)).toEqual([]);
  });

  it('names its files in kebab-case', () => {
    expect(wrongNames(modules)).toEqual([]);
  });

  it('has no any, no enum and nothing left for later', () => {
    expect(unwanted(modules)).toEqual([]);
  });
});

describe('tests', () => {
  it('are beside the file they test or in test/, and share what is in test/support', () => {
    expect(misplacedTests(['src', 'web', 'test'].flatMap(readModules))).toEqual([]);
  });
});

describe('the doors in package.json', () => {
  beforeAll(ensureBuilt);

  const doors = Object.entries(readManifest().exports);

  it.each(doors)('%s opens on files that exist', (_door, target) => {
    const built = typeof target === 'string' ? [target] : Object.values(target);
    const sources = built
      .filter((file) => file.startsWith('./dist/'))
      .map((file) => file.replace('./dist/', './src/').replace(/\.d\.ts$|\.js$/, '.ts'));
    expect([...built, ...sources].filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it('give the types before all else, where TypeScript looks for them', () => {
    const conditions = doors.flatMap(([, target]) => (typeof target === 'string' ? [] : [Object.keys(target)]));
    expect(conditions.map(([first]) => first)).toEqual(conditions.map(() => 'types'));
  });
});

describe('the checks themselves', () => {
  const source = (path: string, ...lines: string[]): Module => ({ path, text: lines.join('\n') });

  it('see every way to import', () => {
    const module = source(
      'src/x.ts',
      '/// <reference types="node" />',
      "import a, { b } from './a.ts';",
      "import type { C } from './c.ts';",
      "import { type D } from './d.ts';",
      "import './e.ts';",
      'export {',
      '  type F,',
      '  // a comment between, and a string: from "nowhere"',
      "} from './f.ts';",
      "export * from './g.ts';",
      "export type * from './h.ts';",
      'const text = "import i from \'./i.ts\'";',
      "// import j from './j.ts';",
      "type K = import('./k.ts').K;",
      "const l = await import('./l.ts');",
      "const m = require('./m.ts');",
      "import n = require('./n.ts');",
      'const o = await import(text);',
    );
    const seen = importsOf(module).map(
      ({ specifier, line, isType, isDynamic }) =>
        `${line} ${specifier}${isType ? ' type' : ''}${isDynamic ? ' dynamic' : ''}`,
    );
    expect(seen.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))).toEqual([
      '1 node type',
      '2 ./a.ts',
      '3 ./c.ts type',
      '4 ./d.ts',
      '5 ./e.ts',
      '6 ./f.ts',
      '10 ./g.ts',
      '11 ./h.ts type',
      '14 ./k.ts type',
      '15 ./l.ts dynamic',
      '16 ./m.ts dynamic',
      '17 ./n.ts',
      '18 undefined dynamic',
    ]);
  });

  it.each([
    ['src/tokens/a.ts', '../plan/x.ts', 'ring 1 imports src/plan/x.ts, which is further out (ring 2)'],
    ['src/text.ts', './budget.ts', 'ring 0 imports src/budget.ts, which is further out (ring 1)'],
    [
      'src/plan/policies/a.ts',
      '../../index.ts',
      'ring 2 imports src/index.ts, which is further out (the door index.ts)',
    ],
    ['src/index.ts', './manager/x.ts', 'the door index.ts imports src/manager/x.ts, which is further out (ring 4)'],
    [
      'src/lab/a.ts',
      '../gateway/x.ts',
      'ring 5 imports src/gateway/x.ts, and folders of ring 5 never import each other',
    ],
    ['src/cli/a.ts', '../../package.json', 'ring 6 imports package.json, which is outside src/'],
    ['src/cli/a.ts', '../formats/chat.test.ts', 'which is a test'],
    ['src/cli/a.ts', '../../test/support/chat.ts', 'which is outside src/'],
    ['src/cli/a.ts', '../web/x.ts', 'ring 6 imports src/web/x.ts, which is in no ring'],
  ])('report %s importing %s, with its line', (path, specifier, complaint) => {
    const [found = '', ...others] = wrongImports([source(path, '// one', `import type { X } from '${specifier}';`)]);
    expect(others).toEqual([]);
    expect(found).toContain(`${path}:2: `);
    expect(found).toContain(complaint);
  });

  it('let a file import from its own ring, from inner ones and, further out, through the door', () => {
    const modules = [
      source('src/plan/fit.ts', "import './planner.ts';", "import '../laws/index.ts';", "import '../errors.ts';"),
      source('src/lab/read.ts', "import './price.ts';", "import '../index.ts';", "import '../store/handle.ts';"),
      source('src/plan/fit.test.ts', "import '../lab/anything.ts';"),
    ];
    expect(wrongImports(modules)).toEqual([]);
  });

  it('report a folder that stands in no ring', () => {
    const placed = [source('src/plan/fit.ts'), source('src/text.ts'), source('src/text.test.ts')];
    expect(unplaced([source('src/utils/a.ts'), source('src/utils/b.ts'), ...placed])).toEqual([
      'src/utils: in no ring; give it one in RINGS of test/support/modules.ts',
    ]);
  });

  it.each([
    "import { readFileSync } from 'node:fs';",
    "import type { Buffer } from 'node:buffer';",
    "import chalk from 'chalk';",
    "const x = await import('./x.ts');",
    "const x = require('./x.ts');",
    'const now = Date.now();',
    'const when = new Date();',
    'const dice = Math.random();',
    "const dice = Math['random']();",
    'const { random } = Math;',
    'setTimeout(() => 1, 5);',
    "console.log('x');",
    'const debug = process.env.DEBUG;',
    'const x = globalThis.fetch;',
    'const here = import.meta.url;',
    'const use = { process };',
    "const order = 'a'.localeCompare('b');",
  ])('report in a pure ring: %s', (line) => {
    const found = impurities([source('src/plan/a.ts', '', line)]);
    expect(found.length).toBeGreaterThan(0);
    for (const complaint of found) expect(complaint).toContain('src/plan/a.ts:2: a pure ring ');
    expect(impurities([source('src/store/a.ts', line)])).toEqual([]);
  });

  it('let a pure ring have members and types that are only called like a global', () => {
    const module = source(
      'src/plan/a.ts',
      'interface Clock { fetch(): Date; process: number }',
      'export const read = (clock: Clock): number => clock.process + Math.max(1, 2);',
      'export const made = { process: 1, Date: 2 };',
    );
    expect(impurities([module])).toEqual([]);
  });

  it('report packages that are not declared', () => {
    const module = source('src/cli/a.ts', "import 'zod/v4';", "import '@x/y/z';", "import 'fs';", "import 'node:fs';");
    expect(undeclaredPackages([module], ['zod'])).toEqual([
      'src/cli/a.ts:2: imports @x/y, which package.json does not declare',
      "src/cli/a.ts:3: imports 'fs'; write 'node:fs'",
    ]);
  });

  it('report a circle, and not one of types alone', () => {
    const circle = [
      source('src/plan/a.ts', "import './b.ts';"),
      source('src/plan/b.ts', "export { c } from './c.ts';"),
      source('src/plan/c.ts', "import { type A } from './a.ts';"),
    ];
    expect(cycles(circle)).toEqual(['src/plan/a.ts -> src/plan/b.ts -> src/plan/c.ts -> src/plan/a.ts']);
    const types = [...circle.slice(0, 2), source('src/plan/c.ts', "import type { A } from './a.ts';")];
    expect(cycles(types)).toEqual([]);
  });

  it('report tests and helpers in the wrong place', () => {
    const modules = [
      source('src/a.ts'),
      source('src/a.test.ts', "import './a.ts';", "import '../test/support/chat.ts';"),
      source('src/b.test.ts', "import './a.test.ts';", "import '../test/cli/io.ts';"),
      source('web/page.tsx'),
      source('web/page.test.ts'),
      source('test/laws.test.ts', "import './support/chat.ts';"),
      source('test/cli/io.ts'),
      source('test/support/chat.test.ts'),
      source('test/support/chat.ts', "import '../cli/io.ts';", "import '../../src/a.ts';"),
      source('test/chaos/world.ts', "import './random.ts';"),
    ];
    expect(misplacedTests(modules)).toEqual([
      'src/b.test.ts: expected b.ts beside it; a test that crosses files belongs in test/',
      'src/b.test.ts:1: imports src/a.test.ts, a test; move the shared part to test/support',
      'src/b.test.ts:2: imports test/cli/io.ts, which is not in test/support',
      'test/cli/io.ts: a helper belongs in test/support/',
      'test/support/chat.test.ts: a test does not belong in test/support/',
      'test/support/chat.ts:1: imports test/cli/io.ts, and test/support serves all tests',
    ]);
  });

  it('report names, any, enums and work left for later', () => {
    expect(wrongNames([source('src/plan/myFile.ts'), source('src/Plan/a.ts'), source('src/a-b.test.ts')])).toEqual([
      'src/plan/myFile.ts: expected a name in kebab-case',
      'src/Plan/a.ts: expected a name in kebab-case',
    ]);
    const module = source('src/a.ts', '// TO' + 'DO: later', 'enum E { A }', 'const x = 1 as any;', 'const any = 1;');
    expect(unwanted([module]).map((found) => found.split(';')[0])).toEqual([
      'src/a.ts:1: work left for later',
      'src/a.ts:2: an enum',
      'src/a.ts:3: any',
    ]);
  });
});
