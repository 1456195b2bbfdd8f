import { isRecord, shallowCopy } from '../formats/lens.ts';
import type { Segment } from '../message.ts';
import type { Counter } from '../tokens/counter.ts';
import { commonCap } from './common-cap.ts';

type Path = readonly (string | number)[];

export interface CutTextOptions {
  /** How large the texts of the segment may be together. */
  readonly maxTokens: number;
  readonly counter: Counter;
  readonly shorten: (text: string, maxTokens: number) => string;
}

/** A copy of a message with the text of one segment shortened; all else in it is shared. */
export function cutText<M>(message: M, segment: Segment, options: CutTextOptions): M {
  return changeAt(message, segment.path, (content) => shortened(content, options)) as M;
}

function changeAt(node: unknown, path: Path, change: (value: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(node);
  if (!isRecord(node)) return node;
  const copy = shallowCopy(node) as Record<string | number, unknown>;
  copy[key] = changeAt(copy[key], rest, change);
  return copy;
}

/** A string, a part with a text, or a list of parts, of which the longest texts give way. */
function shortened(content: unknown, options: CutTextOptions): unknown {
  if (!Array.isArray(content)) return shortenPart(content, options.maxTokens, options);
  const { maxTokens, counter } = options;
  const sizes = content.map((part) => counter(textOf(part)));
  const excess = sizes.reduce((sum, size) => sum + size, 0) - maxTokens;
  const most = Math.max(1, commonCap(sizes, excess));
  return content.map((part, i) => ((sizes[i] ?? 0) > most ? shortenPart(part, most, options) : part));
}

function shortenPart(part: unknown, maxTokens: number, { shorten }: CutTextOptions): unknown {
  if (typeof part === 'string') return shorten(part, maxTokens);
  return isRecord(part) && typeof part.text === 'string' ? { ...part, text: shorten(part.text, maxTokens) } : part;
}

const textOf = (part: unknown): string => {
  const text = isRecord(part) ? part.text : part;
  return typeof text === 'string' ? text : '';
};
