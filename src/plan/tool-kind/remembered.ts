/** Caches results by name, for names of tools and arguments: there are few, and each occurs thousands of times. */
export function remembered<T>(read: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= 500) known.clear();
    const answer = read(name);
    known.set(name, answer);
    return answer;
  };
}

/** Caches the last result, for a text that is read several times in a row. */
export function rememberedLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly answer: T } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, answer: read(text) };
    return last.answer;
  };
}

/** A list of words as a set. */
export const words = (list: string): ReadonlySet<string> => new Set(list.split(' '));
