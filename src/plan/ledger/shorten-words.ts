import { isRecord, shallowCopy } from '../../formats/lens.ts';
import type { Segment } from '../../message.ts';
import type { Counter } from '../../tokens/counter.ts';
import { commonCap } from '../common-cap.ts';
import { truncateResult } from '../truncate-result.ts';
import type { Ledger } from './ledger.ts';
import type { Turn } from './rows.ts';
import { contentTokens } from './totals.ts';

/** An original message. */
export interface Whole<M> {
  readonly message: M;
  readonly segments: readonly Segment[];
}

/** Shortens users' own words in one message, always from the original. */
export type ShortenWords = <M>(ledger: Ledger<M>, place: number, whole: Whole<M>) => void;

export function shortenWords<M>(ledger: Ledger<M>, place: number, whole: Whole<M>): void {
  const { format, counter, messages, clipSizes } = ledger;
  const start = ledger.startOf(place);
  let { message } = whole;
  for (const [i, { kind, path, text }] of whole.segments.entries()) {
    const maxTokens = clipSizes.get(start + i);
    if (maxTokens === undefined || kind !== 'user') continue;
    const options = { maxTokens, counter, handle: ledger.showHandle(text) };
    message = changeAt(message, path, (content) => shortened(content, options)) as M;
  }
  messages[place] = message;
  for (const [i, { text }] of format.view([message]).entries()) rewrite(ledger, start + i, text);
}

/** A copy with the value at a path changed; everything else in it is shared. */
function changeAt(node: unknown, path: Segment['path'], change: (value: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(node);
  if (!isRecord(node)) return node;
  const copy = shallowCopy(node) as Record<string | number, unknown>;
  copy[key] = changeAt(copy[key], rest, change);
  return copy;
}

interface ShortenOptions {
  /** The size of all texts of the segment together. */
  readonly maxTokens: number;
  readonly counter: Counter;
  readonly handle: string;
}

/** A string, a part with a text, or a list of parts, of which the longest texts are shortened. */
function shortened(content: unknown, options: ShortenOptions): unknown {
  if (!Array.isArray(content)) return shortenPart(content, options);
  const { maxTokens, counter } = options;
  const sizes = content.map((part) => counter(textOf(part)));
  const excess = sizes.reduce((sum, size) => sum + size, 0) - maxTokens;
  const most = Math.max(1, commonCap(sizes, excess));
  return content.map((part, i) => ((sizes[i] ?? 0) > most ? shortenPart(part, { ...options, maxTokens: most }) : part));
}

function shortenPart(part: unknown, options: ShortenOptions): unknown {
  const shorten = (text: string): string => truncateResult(text, { ...options, strategy: 'both' });
  if (typeof part === 'string') return shorten(part);
  return isRecord(part) && typeof part.text === 'string' ? { ...part, text: shorten(part.text) } : part;
}

const textOf = (part: unknown): string => {
  const text = isRecord(part) ? part.text : part;
  return typeof text === 'string' ? text : '';
};

function rewrite<M>({ segments, segmentTokens, counter, rows, totals }: Ledger<M>, index: number, text: string): void {
  const segment = segments[index] as Segment;
  if (segment.text === text) return;
  const before = segmentTokens[index] as number;
  const content = contentTokens(segment, counter(text));
  segments[index] = { ...segment, text };
  segmentTokens[index] = content;
  const row = rows.find((turn) => turn.has(segment.message)) as Turn;
  totals.resize(segment, row, { tokens: content - before, chars: text.length - segment.text.length });
}
