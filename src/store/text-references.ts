import { isSameReference } from './check-input.ts';
import type { Reference } from './store.ts';

export interface TimedReference {
  readonly about: Reference;
  readonly time: number;
}

/** The references of one text, each kept once. Most texts have a single one, which needs no map. */
export class TextReferences {
  #single: TimedReference | undefined;
  #many: Map<string, TimedReference> | undefined;

  /** Adds a reference. The first time of a known one stays. */
  add(reference: TimedReference): void {
    if (this.#many) {
      const key = keyOf(reference);
      if (!this.#many.has(key)) this.#many.set(key, reference);
    } else if (!this.#single) this.#single = reference;
    else if (!isSameReference(this.#single.about, reference.about))
      this.#many = new Map([this.#single, reference].map((one) => [keyOf(one), one]));
  }

  all(): readonly TimedReference[] {
    if (this.#many) return [...this.#many.values()];
    return this.#single ? [this.#single] : [];
  }

  remove(references: readonly TimedReference[]): void {
    for (const reference of references) {
      this.#many?.delete(keyOf(reference));
      if (this.#single === reference) this.#single = undefined;
    }
  }
}

const keyOf = ({ about: { session, turn, tool } }: TimedReference): string => JSON.stringify([session, turn, tool]);
