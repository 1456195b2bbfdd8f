import type { Item } from '../../formats/items.ts';

/** The items that were sent in the place of others. */
export class SentItems {
  readonly #originals = new Map<string, Item | undefined>();

  /** `original` is undefined for a note, which has none. */
  add(sent: Item, original: Item | undefined): void {
    this.#originals.set(keyOf(sent), original);
  }

  /** The items with the originals in their places, and without notes. */
  restore(items: readonly Item[]): Item[] {
    return items.flatMap((item) => {
      const key = keyOf(item);
      if (!this.#originals.has(key)) return [item];
      const original = this.#originals.get(key);
      if (!original) return [];
      return 'id' in item ? [original] : [withoutId(original)];
    });
  }
}

/** The runner saves calls and results without their ids. */
function withoutId(item: Item): Item {
  const { id: _, ...rest } = item as Item & { id?: unknown };
  return rest;
}

const keyOf = (item: Item): string => JSON.stringify(withoutId(item));
