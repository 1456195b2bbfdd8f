import type { Counter } from '../../tokens/counter.ts';

/** Shorter texts are counted as quickly as they are found. */
const LEAST_CHARS = 200;
/** The size of all texts in the cache; above it, the cache is emptied. */
const MOST_CHARS = 8_000_000;

const made = new WeakSet<Counter>();

/** Caches the counts of texts: the same messages are sized before every request. A counter that has a cache gets no second one. */
export function cachedCounter(counter: Counter): Counter {
  if (made.has(counter)) return counter;
  const known = new Map<string, number>();
  let chars = 0;
  const cached: Counter = (text) => {
    if (text.length < LEAST_CHARS) return counter(text);
    const found = known.get(text);
    if (found !== undefined) return found;
    const tokens = counter(text);
    if (chars + text.length > MOST_CHARS) {
      known.clear();
      chars = 0;
    }
    known.set(text, tokens);
    chars += text.length;
    return tokens;
  };
  made.add(cached);
  return cached;
}
