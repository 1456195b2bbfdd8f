/** Law 9, text: no surrogate pair is split by a cut, and no replacement is empty. */
export function isWholeText(text: string, original: string): boolean {
  return text !== '' && (loneSurrogates(text) === 0 || loneSurrogates(text) <= loneSurrogates(original));
}

export function loneSurrogates(text: string): number {
  return text.match(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g)?.length ?? 0;
}
