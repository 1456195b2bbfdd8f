import type { Segment } from '../message.ts';
import { replacementLaw } from './law.ts';

/** Law 6, monotone: a replacement is smaller than what it hides, so no plan makes a request larger. */
export const monotone = replacementLaw('monotone', (edit, segment) =>
  edit.text.length < hiddenChars(segment) ? undefined : 'A replacement is not smaller than what it hides.',
);

/** A text and its images and files in characters. An image behind a short address is as large as its tokens. */
export function hiddenChars({ text, media }: Segment): number {
  return media ? media.reduce((sum, { bytes, tokens }) => sum + Math.max(bytes, 4 * tokens), text.length) : text.length;
}
