import { isRecord, shallowCopy } from '../formats/lens.ts';
import type { Segment } from '../message.ts';

type Path = readonly (string | number)[];

/** A copy of a message with the text of one segment shortened; all else in it is shared. */
export function cutText<M>(message: M, segment: Segment, shorten: (text: string) => string): M {
  return changeAt(message, segment.path, (content) => shortened(content, shorten)) as M;
}

function changeAt(node: unknown, path: Path, change: (value: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(node);
  if (!isRecord(node)) return node;
  const copy = shallowCopy(node) as Record<string | number, unknown>;
  copy[key] = changeAt(copy[key], rest, change);
  return copy;
}

/** A string, a part with a text, or a list of parts, of which the longest text gives way. */
function shortened(content: unknown, shorten: (text: string) => string): unknown {
  if (typeof content === 'string') return shorten(content);
  if (Array.isArray(content)) {
    const longest = Math.max(...content.map((part) => textOf(part).length));
    const at = content.findIndex((part) => textOf(part).length === longest);
    return content.map((part, i) => (i === at ? shortened(part, shorten) : part));
  }
  return isRecord(content) && typeof content.text === 'string' ? { ...content, text: shorten(content.text) } : content;
}

const textOf = (part: unknown): string => {
  const text = isRecord(part) ? part.text : part;
  return typeof text === 'string' ? text : '';
};
