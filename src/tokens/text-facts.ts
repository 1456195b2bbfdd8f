/** Counts the tokens of a text. */
export type Counter = (text: string) => number;

/** What is worked out of a text once and kept, because an agent sends the same text on every call. */
export interface TextFacts {
  readonly tokens: number;
  handle?: string;
  handleOf?: (text: string) => string;
  lines?: number;
  subject?: string;
  failure?: { readonly exitCode: string | undefined; readonly line: string | undefined };
}

/** Below this a text is counted again: that is quicker than looking it up. */
const SHORT = 24;
const LIMIT_CHARS = 64 * 1024 * 1024;

/**
 * A bounded map keyed by the text, in two generations: when the young one is full it becomes the old one,
 * and what is asked for again moves back. So it forgets what is no longer sent, without a clock.
 */
class FactsCache {
  #young = new Map<string, TextFacts>();
  #old = new Map<string, TextFacts>();
  #chars = 0;
  readonly #counter: Counter;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  get(text: string): TextFacts {
    const young = this.#young.get(text);
    if (young) return young;
    const facts = this.#old.get(text) ?? { tokens: this.#counter(text) };
    this.#chars += text.length;
    if (this.#chars > LIMIT_CHARS) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#chars = text.length;
    }
    this.#young.set(text, facts);
    return facts;
  }
}

const caches = new WeakMap<Counter, FactsCache>();

/** Reads the facts of texts, counting each with `counter` once. */
export function factsOf(counter: Counter): (text: string) => TextFacts {
  const cache = caches.get(counter) ?? new FactsCache(counter);
  caches.set(counter, cache);
  return (text) => (text.length < SHORT ? { tokens: counter(text) } : cache.get(text));
}
