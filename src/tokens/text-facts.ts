/** Counts the tokens of a text. */
export type Counter = (text: string) => number;

/** What is worked out of a text once and kept, because an agent sends the same text on every call. */
export interface TextFacts {
  readonly tokens: number;
  /** Where it is remembered: the text, and the facts of another with the same sample. */
  readonly text: string | undefined;
  next: TextFacts | undefined;
  handle: string | undefined;
  handleOf: ((text: string) => string) | undefined;
  lines: number | undefined;
  subject: string | undefined;
  /** Empty where it tells none. */
  exitCode: string | undefined;
  errorLine: string | undefined;
}

/** Below this a text is counted again: that is quicker than looking it up. */
export const SHORT = 96;
const LIMIT_CHARS = 1 << 26;

/**
 * A bounded map keyed by the text, in two generations: when the young one is full it becomes the old one,
 * and what is asked for again moves back. So it forgets what is no longer sent, without a clock.
 * A text is found by a sample of its characters: to hash all of a long one, as Map does, takes as long as SHA-256.
 */
class FactsCache {
  #young = new Map<number, TextFacts>();
  #old = new Map<number, TextFacts>();
  #chars = 0;
  readonly #counter: Counter;

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  get(text: string): TextFacts {
    const key = sampleOf(text);
    const alike = this.#young.get(key);
    const young = find(alike, text);
    if (young) return young;
    const facts = this.#takeOld(key, text) ?? newFacts(this.#counter(text), text);
    this.#chars += text.length;
    if (this.#chars > LIMIT_CHARS) this.#age();
    else if (alike && count(alike) < MOST_ALIKE) facts.next = alike;
    this.#young.set(key, facts);
    return facts;
  }

  #takeOld(key: number, text: string): TextFacts | undefined {
    const old = this.#old.size === 0 ? undefined : find(this.#old.get(key), text);
    return old && { ...old, next: undefined };
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#chars = 0;
  }
}

/** So many texts may have the same sample. More would make a search of each look-up. */
const MOST_ALIKE = 8;

function find(alike: TextFacts | undefined, text: string): TextFacts | undefined {
  for (let facts = alike; facts; facts = facts.next) if (facts.text === text) return facts;
  return undefined;
}

const count = (alike: TextFacts | undefined): number => (alike ? 1 + count(alike.next) : 0);

function sampleOf(text: string): number {
  const { length } = text;
  const stride = 1 + (length >> 5);
  let sample = length;
  for (let i = 0; i < length; i += stride) sample = (Math.imul(sample, 31) + text.charCodeAt(i)) | 0;
  return (Math.imul(sample, 31) + text.charCodeAt(length - 1)) | 0;
}

/** All fields from the start: facts are made for every text, and read most quickly where all have one shape. */
export function newFacts(tokens: number, text?: string): TextFacts {
  return {
    tokens,
    text,
    next: undefined,
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
