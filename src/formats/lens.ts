import { PalimpsestError } from '../errors.ts';
import type { Edit, Format, FormatName, NoteRole, Replacement, Segment, Viewer, Violation } from '../message.ts';

type Path = readonly (string | number)[];

/** What a format knows of its own messages. `createFormat` makes the rest of it. */
export interface Lens<M> {
  readonly name: FormatName;
  readonly noteRole: NoteRole;
  viewer(): Viewer<M>;
  /** One text in the place of a result's whole content, in the shape the format allows. */
  replace(content: unknown, text: string): unknown;
  note(role: NoteRole, text: string, messages: readonly M[]): M;
  check(messages: readonly M[]): readonly Violation[];
  /** Brings in line what a message says twice. */
  finish?(draft: M): void;
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
    edit(message, replacements) {
      let edited = message;
      for (const { segment, text } of replacements) edited = replaceAt(lens, edited, segment.path, 0, text);
      lens.finish?.(edited);
      return edited;
    },
    original: (message, segment) => originalText(lens, contentAt(message, segment.path), segment.text),
  };
  return format;
}

/** Applies edits to the places their segments name. What no edit names is the caller's own object. */
export function applyEdits<M>(
  format: Format<M>,
  messages: readonly M[],
  segments: readonly Segment[],
  edits: readonly Edit[],
): M[] {
  const replaced = messages.slice();
  const dropped = new Set<number>();
  const inserted = new Map<number, M[]>();
  for (let i = 0; i < edits.length; i++) {
    const edit = edits[i] as Edit;
    if (edit.kind === 'drop') for (let index = edit.from; index < edit.to; index++) dropped.add(index);
    else if (edit.kind === 'insert') {
      const note = format.note(edit.role, edit.text, messages);
      inserted.set(edit.before, [...(inserted.get(edit.before) ?? []), note]);
    } else {
      const group = replacementsFrom(i, edits, segments);
      const index = group[0]?.segment.message as number;
      replaced[index] = format.edit(replaced[index] as M, group);
      i += group.length - 1;
    }
  }
  return dropped.size === 0 && inserted.size === 0 ? replaced : restructure(replaced, dropped, inserted);
}

/** The replacements from here on that fall into one message: it is copied once for all of them. */
function replacementsFrom(start: number, edits: readonly Edit[], segments: readonly Segment[]): Replacement[] {
  const group: Replacement[] = [];
  for (let i = start; i < edits.length; i++) {
    const edit = edits[i] as Edit;
    if (edit.kind !== 'replace') break;
    const segment = segments[edit.segment];
    if (!segment)
      throw new PalimpsestError(
        'BAD_INPUT',
        `Expected a plan made for this list but found an edit of segment ${edit.segment}; view has ${segments.length}`,
      );
    if (group.length > 0 && segment.message !== group[0]?.segment.message) break;
    group.push({ segment, text: edit.text });
  }
  return group;
}

function restructure<M>(messages: readonly M[], dropped: ReadonlySet<number>, inserted: ReadonlyMap<number, M[]>): M[] {
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

/** A copy of a node with the content at a path replaced. What is not on the path is shared. */
function replaceAt<M, N>(lens: Lens<M>, node: N, path: Path, depth: number, text: string): N {
  if (depth === path.length) return lens.replace(node, text) as N;
  const copy = shallowCopy(node) as Record<string | number, unknown>;
  const key = path[depth] as string | number;
  copy[key] = replaceAt(lens, copy[key], path, depth + 1, text);
  return copy as N;
}

/** The text alone where putting it back would give the same content; else the content as JSON. */
function originalText<M>(lens: Lens<M>, content: unknown, text: string): string | undefined {
  if (typeof content === 'string') return content;
  try {
    const whole = JSON.stringify(content);
    return JSON.stringify(lens.replace(content, text)) === whole ? text : whole;
  } catch {
    return undefined;
  }
}

export type Fields = Record<string, unknown>;

export const isRecord = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

export const asString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export function asList(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** JSON for people and models: the text where there is one, never a throw. */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return '';
  }
}
