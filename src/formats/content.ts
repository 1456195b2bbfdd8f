import type { Kind, Media, Segment } from '../message.ts';
import { asList, asString, type Fields, isRecord } from './lens.ts';

export type Place = Pick<Segment, 'turn' | 'message' | 'path'>;

/**
 * A segment, its fields in one order: a history has one for every piece, and they are read most quickly where all have the
 * same shape. Most have a text and a call and nothing else, so that is all the room they take.
 */
export function newSegment(kind: Kind, place: Place, { text, media }: Content, about: About = NOTHING): Segment {
  const { callId, tool, isError, bound, signed, tags } = about;
  const { turn, message, path } = place;
  const plain = { kind, turn, message, path, text, callId, tool };
  return media || isError || bound || signed || tags ? { ...plain, isError, media, bound, signed, tags } : plain;
}

type About = Omit<Segment, keyof Place | keyof Content | 'kind'>;
const NOTHING: About = {};

/** The content of a segment: its texts joined, and the sizes of other parts. */
export type Content = Pick<Segment, 'text' | 'media'>;

/** Reads a string, a part or a list of parts. What is no text is sized by the provider's formula. */
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

/** One text in the place of a string or a list; a list keeps its last cache marker. */
export function replaceText(content: unknown, text: string, type = 'text'): unknown {
  return Array.isArray(content) ? [{ type, text, ...markersOf(content) }] : text;
}

function markersOf(parts: readonly unknown[]): Fields {
  const markers: Fields = {};
  for (const part of asList(parts)) for (const key of MARKERS) if (isRecord(part[key])) markers[key] = part[key];
  return markers;
}
