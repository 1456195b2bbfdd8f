import { replacementLaw } from './law.ts';

/** Law 9, text: no cut splits a surrogate pair, and no replacement is empty. */
export const text = replacementLaw('text', (edit, segment) => {
  if (edit.text === '') return 'A replacement is empty.';
  if (edit.text.isWellFormed()) return undefined;
  return loneSurrogates(edit.text) <= loneSurrogates(segment.text) ? undefined : 'A replacement splits a character.';
});

export function loneSurrogates(text: string): number {
  return text.match(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g)?.length ?? 0;
}
