import { PalimpsestError } from '../errors.ts';
import type {
  DropEdit,
  Edit,
  Format,
  FormatName,
  InsertEdit,
  NoteRole,
  ReplaceEdit,
  Segment,
  Viewer,
  Violation,
} from '../message.ts';

type Path = readonly (string | number)[];

/** The knowledge of a format about its own messages. `createFormat` derives the rest. */
export interface Lens<M> {
  readonly name: FormatName;
  readonly noteRole: NoteRole;
  viewer(): Viewer<M>;
  /** Replaces the whole content of a result by one text, in the shape that the format allows. */
  replace(content: unknown, text: string): unknown;
  note(role: NoteRole, text: string, messages: readonly M[]): M;
  check(messages: readonly M[]): readonly Violation[];
  /** The paths of a call's arguments, relative to its segment. The first one that exists is used. */
  readonly argumentPaths: readonly Path[];
  /** Aligns the copies of a text that a message holds twice. */
  finish?(draft: M, before: M): void;
}

export function createFormat<M>(lens: Lens<M>): Format<M> {
  const format: Format<M> = {
    name: lens.name,
    noteRole: lens.noteRole,
    viewer: lens.viewer,
    note: lens.note,
    // A list may have holes, which `map` would leave as they are.
    check: (messages) => lens.check(Array.from(messages)),
    view(messages) {
      const viewer = lens.viewer();
      const segments: Segment[] = [];
      for (const message of messages) viewer.add(message, segments);
      return segments;
    },
    apply(messages, plan) {
      return plan.edits.length === 0
        ? messages.slice()
        : applyEdits(format, messages, format.view(messages), plan.edits);
    },
    editsCalls: true,
    edit(message, segment, text) {
      const edited = (
        segment.kind === 'action'
          ? replaceAt(message, argumentsPath(lens, message, segment.path), (content) => replaceStrings(content, text))
          : replaceAt(message, segment.path, (content) => lens.replace(content, text))
      ) as typeof message;
      lens.finish?.(edited, message);
      return edited;
    },
    original: (message, { kind, path, text }) =>
      kind === 'action' ? text : originalText(lens, contentAt(message, path), text),
  };
  return format;
}

/** Applies edits to the places their segments name. Messages that no edit names stay the caller's own objects. */
export function applyEdits<M>(
  format: Format<M>,
  messages: readonly M[],
  segments: readonly Segment[],
  edits: readonly Edit[],
): M[] {
  const edited = messages.slice();
  for (const edit of edits) if (edit.kind === 'replace') replaceIn(edited, format, segments, edit);
  return restructure(format, edited, edits.filter(isListEdit));
}

/** Replaces a message by an edited copy. Returns its index. */
export function replaceIn<M>(
  messages: M[],
  format: Format<M>,
  segments: readonly Segment[],
  edit: ReplaceEdit,
): number {
  const segment = segments[edit.segment];
  if (!segment) {
    throw new PalimpsestError(
      'BAD_INPUT',
      `Expected a plan made for this list but found an edit of segment ${edit.segment}; view has ${segments.length}`,
    );
  }
  messages[segment.message] = format.edit(messages[segment.message] as M, segment, edit.text);
  return segment.message;
}

/** An edit of the list, not of a message in it. */
export type ListEdit = DropEdit | InsertEdit;

export const isListEdit = (edit: Edit): edit is ListEdit => edit.kind !== 'replace';

/** A new list without dropped messages and with inserted ones. */
export function restructure<M>(format: Format<M>, messages: readonly M[], edits: readonly ListEdit[]): M[] {
  if (edits.length === 0) return messages.slice();
  const dropped = new Set<number>();
  const inserted = new Map<number, M[]>();
  for (const edit of edits) {
    if (edit.kind === 'drop') for (let index = edit.from; index < edit.to; index++) dropped.add(index);
    else {
      const note = format.note(edit.role, edit.text, messages);
      inserted.set(edit.before, [...(inserted.get(edit.before) ?? []), note]);
    }
  }
  const result: M[] = [];
  for (let index = 0; index <= messages.length; index++) {
    const notes = inserted.get(index);
    if (notes) result.push(...notes);
    if (index < messages.length && !dropped.has(index)) result.push(messages[index] as M);
  }
  return result;
}

/** Keeps the prototype, so that an instance of a class stays one. */
export function shallowCopy<T>(value: T): T {
  if (Array.isArray(value)) return value.slice() as T;
  const prototype = Object.getPrototypeOf(value);
  // Spread is several times faster than Object.create, and nearly every message is a plain object.
  return prototype === Object.prototype ? { ...value } : Object.assign(Object.create(prototype), value);
}

function contentAt(message: unknown, path: Path): unknown {
  let node: unknown = message;
  for (const key of path) node = (node as Record<string | number, unknown> | undefined)?.[key];
  return node;
}

function argumentsPath<M>({ argumentPaths, name }: Lens<M>, message: M, path: Path): Path {
  const call = contentAt(message, path);
  const found = argumentPaths.find((one) => (contentAt(call, one) ?? undefined) !== undefined);
  if (found) return [...path, ...found];
  throw new PalimpsestError(
    'BAD_INPUT',
    `Expected a call with arguments in ${name} but found none at ${path.join('.')}`,
  );
}

/** Arguments as a text become the new text. Of arguments as an object, the strings that differ are replaced. */
function replaceStrings(old: unknown, text: string): unknown {
  return typeof old === 'string' ? text : withStrings(old, JSON.parse(text));
}

function withStrings(old: unknown, next: unknown): unknown {
  if (typeof old === 'string' && typeof next === 'string') return next;
  if (!isRecord(old) || !isRecord(next) || Array.isArray(old) !== Array.isArray(next)) return old;
  const copy = shallowCopy(old);
  for (const key of Object.keys(old)) if (Object.hasOwn(next, key)) copy[key] = withStrings(old[key], next[key]);
  return copy;
}

/** A copy of a message with the content at a path replaced. Everything off the path is shared. */
function replaceAt(node: unknown, path: Path, replace: (content: unknown) => unknown, depth = 0): unknown {
  if (depth === path.length) return replace(node);
  const key = path[depth] as string | number;
  // Lists and objects are handled separately: a store is fast in V8 as long as it sees only one of the two.
  if (Array.isArray(node)) {
    const list = node.slice();
    list[key as number] = replaceAt(list[key as number], path, replace, depth + 1);
    return list;
  }
  const copy = shallowCopy(node) as Fields;
  copy[key] = replaceAt(copy[key], path, replace, depth + 1);
  return copy;
}

/** The text alone if putting it back gives the same content; otherwise the content as JSON. */
function originalText<M>(lens: Lens<M>, content: unknown, text: string): string | undefined {
  if (typeof content === 'string') return content;
  try {
    return isAlike(lens.replace(content, text), content) ? text : JSON.stringify(content);
  } catch {
    return undefined;
  }
}

/** Whether two values are written as the same JSON, as far as that is known without writing it. */
export function isAlike(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isPlain(a) || !isPlain(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return keys.length === others.length && keys.every((key, i) => key === others[i] && isAlike(a[key], b[key]));
}

const isPlain = (value: unknown): value is Fields =>
  isRecord(value) && (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype);

export type Fields = Record<string, unknown>;

export const isRecord = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

export const asString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export function asList(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** JSON for people and models: the text if there is one. It never throws. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}
