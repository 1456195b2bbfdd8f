// Writes docs/exports.md from the sources: what each door of package.json exports. --check only compares.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { parseAst } from 'vitest/node';

const FILE = 'docs/exports.md';

const { page, silent } = writePage(JSON.parse(readFileSync('package.json', 'utf8')));
if (silent.length > 0) console.error(`Without a doc comment: ${silent.join(', ')}`);
if (process.argv.includes('--check')) {
  const found = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
  if (found !== page) {
    console.error(`${FILE} is not what the sources say (${firstDifference(found, page)}). Run: node scripts/docs.js`);
    process.exitCode = 1;
  }
} else {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, page);
}

/** The page, and the exports that have nothing to say for themselves. */
function writePage({ name, exports }) {
  const doors = Object.entries(exports).flatMap(([door, target]) =>
    target.types ? [{ door: posix.join(name, door), file: sourceOf(target.types) }] : [],
  );
  const silent = new Set();
  const sections = doors.map(({ door, file }) => {
    const lines = [...exportsOf(file).values()].sort(byName).map((found) => {
      if (found.about === '') silent.add(`${found.name} (${found.file})`);
      return `- [\`${found.name}\`](../${found.file}), ${found.kind}${found.about && `: ${found.about}`}`;
    });
    // A list, not a table: formatters align tables, and would disagree with this script.
    return [`## \`${door}\``, '', ...lines].join('\n');
  });
  const intro = 'Every name that the package exports, door by door. Made by `node scripts/docs.js` from the sources.';
  return { page: `${['# Exports', intro, ...sections].join('\n\n')}\n`, silent: [...silent] };
}

function sourceOf(types) {
  return posix
    .normalize(types)
    .replace(/^dist\//, 'src/')
    .replace(/\.d\.ts$/, '.ts');
}

/** What can be called stands before what can only be named. */
function byName(a, b) {
  const order = Number(a.kind === 'type') - Number(b.kind === 'type');
  return order || (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);
}

/** Name to declaration, followed through every `export … from`. */
function exportsOf(file) {
  const module = read(file);
  const found = new Map();
  for (const node of module.body) {
    if (node.type === 'ExportAllDeclaration') {
      for (const [name, declaration] of exportsOf(resolve(file, node.source.value))) found.set(name, declaration);
    }
    if (node.type !== 'ExportNamedDeclaration') continue;
    for (const declaration of declared(node.declaration, node, module)) {
      // The first of several overloads has the comment.
      if (!found.has(declaration.name)) found.set(declaration.name, declaration);
    }
    for (const { local, exported, exportKind } of node.specifiers) {
      const from = node.source
        ? exportsOf(resolve(file, node.source.value)).get(local.name)
        : follow(module, local.name);
      if (!from) throw new Error(`${file} exports ${local.name}, which could not be found`);
      const isType = node.exportKind === 'type' || exportKind === 'type';
      found.set(exported.name, { ...from, name: exported.name, ...(isType ? { kind: 'type' } : {}) });
    }
  }
  return found;
}

/** A name that a file declares or imports, and exports in a statement of its own. */
function follow(module, name) {
  for (const node of module.body) {
    const own = declared(node, node, module).find((declaration) => declaration.name === name);
    if (own) return own;
    const imported = node.type === 'ImportDeclaration' && node.specifiers.find((one) => one.local.name === name);
    if (imported) return exportsOf(resolve(module.file, node.source.value)).get(imported.imported.name);
  }
  return undefined;
}

/** The declarations in a statement, each with its kind and the first sentence of the comment above it. */
function declared(node, statement, { file, text }) {
  const make = (id, kind) => ({ name: id.name, kind, file, about: sentenceAbove(text, statement.start) });
  if (node?.type === 'FunctionDeclaration' || node?.type === 'TSDeclareFunction') return [make(node.id, 'function')];
  if (node?.type === 'ClassDeclaration') return [make(node.id, 'class')];
  if (node?.type === 'TSInterfaceDeclaration' || node?.type === 'TSTypeAliasDeclaration')
    return [make(node.id, 'type')];
  if (node?.type !== 'VariableDeclaration') return [];
  const isFunction = (init) => init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression';
  return node.declarations.map(({ id, init }) => make(id, isFunction(init) ? 'function' : 'const'));
}

function sentenceAbove(text, start) {
  const above = text.slice(0, start).trimEnd();
  const begin = above.lastIndexOf('/*');
  if (!above.endsWith('*/') || above[begin + 2] !== '*') return '';
  const words = above.slice(begin + 3, -2).replace(/^\s*\*/gm, ' ');
  const [line = ''] = words
    .replace(/\s+/g, ' ')
    .trim()
    .split(/(?:^| )@[a-z]/, 1);
  return /^.+?[.!?](?= [A-Z`'"]|$)/.exec(line)?.[0] ?? line;
}

function read(file) {
  const text = readFileSync(file, 'utf8');
  return { file, text, body: parseAst(text, { lang: 'ts' }, file).body };
}

function resolve(file, specifier) {
  return posix.join(posix.dirname(file), specifier);
}

function firstDifference(found, page) {
  const lines = found.split('\n');
  const index = page.split('\n').findIndex((line, at) => line !== lines[at]);
  return index < 0 ? 'it is longer' : `line ${index + 1}`;
}
