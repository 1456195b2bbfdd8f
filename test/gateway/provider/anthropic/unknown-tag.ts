/** What is said where a `type` is none of those known. */
export function unknownTag(place: string, found: string, expected: readonly string[]): string {
  const tags = expected.map((tag) => `'${tag}'`).join(', ');
  return `${place}: Input tag '${found}' found using 'type' does not match any of the expected tags: ${tags}`;
}
