import type { Segment } from '../message.ts';

/** Law 6, monotone: a replacement is smaller than what it hides. */
export function isSmaller(text: string, segment: Segment): boolean {
  const hidden = segment.media?.reduce((sum, item) => sum + item.bytes, segment.text.length) ?? segment.text.length;
  return text.length < hidden;
}
