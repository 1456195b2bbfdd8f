/** Counts the tokens of a text. */
export type Counter = (text: string) => number;

/** What is worked out of a text once and kept, because an agent sends the same text on every call. */
export interface TextFacts {
  readonly tokens: number;
  handle: string | undefined;
  handleOf: ((text: string) => string) | undefined;
  lines: number | undefined;
  subject: string | undefined;
  /** Empty where it tells none. */
  exitCode: string | undefined;
  errorLine: string | undefined;
}

/** Below this a text is counted again: that is quicker than looking it up. */
const SHORT = 96;
const LIMIT_CHARS = 1 << 26;

interface Entry {
  readonly text: string;
  readonly facts: TextFacts;
  readonly next: Entry | undefined;
}

/**
 * A bounded map keyed by the text, in two generations: when the young one is full it becomes the old one,
 * and what is asked for again moves back. So it forgets what is no longer sent, without a clock.
 * A text is found by a sample of its characters: to hash all of a long one, as Map does, takes as long as SHA-256.
 */
class FactsCache {
  #young = new Map<number, Entry>();
  #old = new Map<number, Entry>();
  #chars = 0;
  readonly #counter: Counter;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  get(text: string): TextFacts {
    const key = sampleOf(text);
    const entries = this.#young.get(key);
    const young = find(entries, text);
    if (young) return young;
    const facts = find(this.#old.get(key), text) ?? newFacts(this.#counter(text));
    this.#chars += text.length;
    if (this.#chars <= LIMIT_CHARS) this.#young.set(key, { text, facts, next: newest(entries, MOST_ALIKE) });
    else {
      this.#old = this.#young;
      this.#young = new Map([[key, { text, facts, next: undefined }]]);
      this.#chars = text.length;
    }
    return facts;
  }
}

/** So many texts may have the same sample. More would make a search of each look-up. */
const MOST_ALIKE = 7;

function find(entries: Entry | undefined, text: string): TextFacts | undefined {
  for (let entry = entries; entry; entry = entry.next) if (entry.text === text) return entry.facts;
  return undefined;
}

function newest(entries: Entry | undefined, most: number): Entry | undefined {
  if (!entries || most === 0) return undefined;
  return { text: entries.text, facts: entries.facts, next: newest(entries.next, most - 1) };
}

function sampleOf(text: string): number {
  const { length } = text;
  const stride = 1 + (length >> 5);
  let sample = length;
  for (let i = 0; i < length; i += stride) sample = (Math.imul(sample, 31) + text.charCodeAt(i)) | 0;
  return (Math.imul(sample, 31) + text.charCodeAt(length - 1)) | 0;
}

/** All fields from the start: facts are made for every text, and read most quickly where all have one shape. */
export function newFacts(tokens: number): TextFacts {
  return {
    tokens,
    handle: undefined,
    handleOf: undefined,
    lines: undefined,
    subject: undefined,
    exitCode: undefined,
    errorLine: undefined,
  };
}

const caches = new WeakMap<Counter, FactsCache>();

/** Reads the facts of texts, counting each with `counter` once. */
export function factsOf(counter: Counter): (text: string) => TextFacts {
  const cache = caches.get(counter) ?? new FactsCache(counter);
  caches.set(counter, cache);
  return (text) => (text.length < SHORT ? newFacts(counter(text)) : cache.get(text));
}
