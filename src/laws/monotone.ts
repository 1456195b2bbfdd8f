import { replacementLaw } from './law.ts';

/** Law 6, monotone: a replacement is smaller than what it hides, so no plan makes a request larger. */
export const monotone = replacementLaw('monotone', (edit, { text, media }) => {
  const hidden = media ? media.reduce((sum, item) => sum + item.bytes, text.length) : text.length;
  return edit.text.length < hidden ? undefined : 'A replacement is not smaller than what it hides.';
});
