import type { Kind, Media, Segment } from '../message.ts';
import { asList, asString, type Fields, isRecord } from './lens.ts';

export type Place = Pick<Segment, 'turn' | 'message' | 'path'>;

/**
 * Creates a segment with its fields in a fixed order. A history has a segment for every piece, and reading is fastest if all have
 * the same shape. Most have only a text and a call, so only these fields are always there.
 */
export function newSegment(kind: Kind, place: Place, { text, media }: Content, about: About = NOTHING): Segment {
  const { callId, tool, isError, bound, signed, tags } = about;
  const { turn, message, path } = place;
  // Written out twice: in Node 20 a field behind a spread (`{ ...plain, isError }`) takes as long as 20 plain ones.
  return media || isError || bound || signed || tags
    ? { kind, turn, message, path, text, callId, tool, isError, media, bound, signed, tags }
    : { kind, turn, message, path, text, callId, tool };
}

type About = Omit<Segment, keyof Place | keyof Content | 'kind'>;
const NOTHING: About = {};

/** The content of a segment: its texts joined, and the sizes of other parts. */
export type Content = Pick<Segment, 'text' | 'media'>;

/** Reads a string, a part or a list of parts. Parts that are not text are sized by the provider's formula. */
export function readContent(content: unknown, size: (part: Fields) => Media): Content {
  if (typeof content === 'string') return { text: content };
  const texts: string[] = [];
  const media: Media[] = [];
  for (const part of Array.isArray(content) ? content : [content]) {
    const text = partText(part);
    if (text !== undefined) texts.push(text);
    else if (isRecord(part)) media.push(size(part));
  }
  return withMedia(texts.join('\n'), media);
}

export const withMedia = (text: string, media: readonly Media[]): Content =>
  media.length > 0 ? { text, media } : { text };

/** `text`, `input_text`, `output_text` and the like; a part of any other type is more than its text. */
function partText(part: unknown): string | undefined {
  if (!isRecord(part)) return asString(part);
  const type = asString(part.type) ?? 'text';
  if (type === 'refusal') return asString(part.refusal);
  return type.endsWith('text') ? asString(part.text) : undefined;
}

const MARKERS = ['cache_control', 'prompt_cache_breakpoint', 'promptCacheBreakpoint'];

/** Replaces a string or a list by one text. A list keeps its last cache marker. */
export function replaceText(content: unknown, text: string, type = 'text'): unknown {
  return Array.isArray(content) ? [{ type, text, ...markersOf(content) }] : text;
}

function markersOf(parts: readonly unknown[]): Fields {
  const markers: Fields = {};
  for (const part of asList(parts)) for (const key of MARKERS) if (isRecord(part[key])) markers[key] = part[key];
  return markers;
}
