import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { parseAst } from 'vitest/node';

/** The exports of a source file by name, followed through every `export … from`: kind, statement, comment and file of each. */
export function exportsOf(file) {
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
        : declarationOf(file, local.name);
      if (!from) throw new Error(`${file} exports ${local.name}, which could not be found`);
      const isType = node.exportKind === 'type' || exportKind === 'type';
      found.set(exported.name, { ...from, name: exported.name, ...(isType ? { kind: 'type' } : {}) });
    }
  }
  return found;
}

/** The declaration of a name that a file declares or imports from another file of the package. */
export function declarationOf(file, name) {
  const module = read(file);
  for (const node of module.body) {
    const statement = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
    const own = declared(statement, node, module).find((declaration) => declaration.name === name);
    if (own) return own;
    const imported = node.type === 'ImportDeclaration' && node.specifiers.find((one) => one.local.name === name);
    if (imported && node.source.value.startsWith('.'))
      return exportsOf(resolve(file, node.source.value)).get(imported.imported.name);
  }
  return undefined;
}

/** The documentation comment right above a place in a file; empty where there is none. */
export function commentAbove(text, start) {
  const above = text.slice(0, start).trimEnd();
  const begin = above.lastIndexOf('/*');
  return above.endsWith('*/') && above[begin + 2] === '*' ? above.slice(begin) : '';
}

/** The declarations in a statement, each with its kind and the comment above it. */
function declared(node, statement, { file, text }) {
  const comment = () => commentAbove(text, statement.start);
  const make = (id, kind) => ({ name: id.name, kind, file, node, comment: comment() });
  if (node?.type === 'FunctionDeclaration' || node?.type === 'TSDeclareFunction') return [make(node.id, 'function')];
  if (node?.type === 'ClassDeclaration') return [make(node.id, 'class')];
  if (node?.type === 'TSInterfaceDeclaration' || node?.type === 'TSTypeAliasDeclaration')
    return [make(node.id, 'type')];
  if (node?.type !== 'VariableDeclaration') return [];
  const isFunction = (init) => init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression';
  return node.declarations.map(({ id, init }) => make(id, isFunction(init) ? 'function' : 'const'));
}

const modules = new Map();

export function read(file) {
  if (!modules.has(file)) {
    const text = readFileSync(file, 'utf8');
    modules.set(file, { file, text, body: parseAst(text, { lang: 'ts' }, file).body });
  }
  return modules.get(file);
}

function resolve(file, specifier) {
  return posix.join(posix.dirname(file), specifier);
}
