import { commentAbove, declarationOf, exportsOf, read } from './exports.js';

/**
 * The fields and methods that a user sees: those of every exported interface, class and object type, and of the interfaces
 * that these extend. `isOption` is true for what may be left out of an options object.
 */
export function membersOf(doors) {
  const seen = new Set();
  const visit = ({ node, file }) => {
    if (seen.has(node)) return [];
    seen.add(node);
    const owner = node.id.name;
    const own = nodesOf(node).map((member) => describe(member, { owner, file }));
    return [...own, ...parentsOf(node, file).flatMap(visit)];
  };
  return doors.flatMap(({ source }) =>
    [...exportsOf(source).values()].filter(({ node }) => TYPES.has(node.type)).flatMap(visit),
  );
}

const TYPES = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'ClassDeclaration']);

function nodesOf(node) {
  if (node.type === 'TSInterfaceDeclaration') return node.body.body;
  if (node.type === 'ClassDeclaration') return node.body.body.filter(isPublic);
  return variantsOf(node.typeAnnotation);
}

const isPublic = ({ key, kind, override, type }) =>
  key?.type !== 'PrivateIdentifier' && kind !== 'constructor' && !override && type !== 'StaticBlock';

/** The fields of an object type. A type with variants is described variant by variant. */
function variantsOf(type) {
  if (type.type === 'TSTypeLiteral') return type.members;
  if (type.type !== 'TSUnionType') return [];
  return type.types.filter((variant) => variant.type === 'TSTypeLiteral');
}

function describe(member, { owner, file }) {
  const { text } = read(file);
  // The comment of a variant is above its `|`.
  const start = member.type === 'TSTypeLiteral' ? text.lastIndexOf('|', member.start) : member.start;
  const comment = commentAbove(text, start);
  const isOption = Boolean(member.optional) && /(Options|Settings)$/.test(owner) && !comment.includes('@internal');
  const line = text.slice(0, member.start).split('\n').length;
  return { owner, name: nameOf(member), file, line, start: member.start, comment, isOption };
}

function nameOf({ type, key }) {
  if (type === 'TSIndexSignature') return '[]';
  if (type === 'TSCallSignatureDeclaration') return '()';
  return key?.name ?? key?.value ?? 'variant';
}

/** The interfaces of this package that an interface extends, also through `Omit` and `Pick`. */
function parentsOf(node, file) {
  return (node.extends ?? []).flatMap(({ expression, typeArguments }) => {
    const [argument] = typeArguments?.params ?? [];
    const name = ['Omit', 'Pick', 'Partial'].includes(expression.name) ? argument?.typeName?.name : expression.name;
    const parent = name && declarationOf(file, name);
    return parent ? [parent] : [];
  });
}
