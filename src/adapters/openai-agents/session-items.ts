import type { Item } from '../../formats/items.ts';

/**
 * Tracks which items of a session were sent as others, and which are new in a run. The runner saves new items as they were sent:
 * masked, and dropped items not at all or in the wrong order.
 */
export class SessionItems {
  readonly #originals = new Map<string, Item | undefined>();
  #history: readonly Item[] | undefined;
  /** The new items of the run, until they are saved. */
  #fresh: readonly Item[] | undefined;
  #hasDropped = false;

  /** A run begins: these are the items of the session, as they are sent. */
  read(history: readonly Item[]): void {
    this.#history = history;
    this.#fresh = undefined;
    this.#hasDropped = false;
  }

  /** A request is sent with these items, or with others in their places. */
  send(items: readonly Item[], { hasDropped }: { readonly hasDropped: boolean }): void {
    if (this.#history) this.#fresh ??= withoutHistory(items, this.#history);
    this.#hasDropped ||= hasDropped;
  }

  /** An item is sent in the place of another, or a note in the place of none. */
  replace(original: Item | undefined, sent: Item): void {
    this.#originals.set(keyOf(sent), original && asSaved(original));
  }

  /** The items to save for those that the runner saves. */
  save(items: readonly Item[]): readonly Item[] {
    const restored = items.flatMap((item) => this.#restore(item));
    const fresh = this.#hasDropped ? (this.#fresh ?? []) : [];
    if (this.#fresh) this.#fresh = [];
    if (fresh.length === 0) return restored;
    const others = new ItemBag(restored);
    const saved = fresh.map((item) => others.take(item) ?? asSaved(item));
    return [...saved, ...restored.filter((item) => others.take(item))];
  }

  #restore(item: Item): readonly Item[] {
    const key = keyOf(item);
    if (!this.#originals.has(key)) return [item];
    const original = this.#originals.get(key);
    return original ? [original] : [];
  }
}

/** The items after the last one of the history. None if the history cannot be found in them. */
function withoutHistory(items: readonly Item[], history: readonly Item[]): readonly Item[] {
  const known = new ItemBag(history);
  const last = items.map((item) => known.take(item) !== undefined).lastIndexOf(true);
  return history.length > 0 && last === -1 ? [] : items.slice(last + 1);
}

/** Items by their content, with counts for equal ones. */
class ItemBag {
  readonly #items = new Map<string, Item[]>();

  constructor(items: readonly Item[]) {
    for (const item of items) {
      const key = keyOf(item);
      this.#items.set(key, [...(this.#items.get(key) ?? []), item]);
    }
  }

  take(item: Item): Item | undefined {
    return this.#items.get(keyOf(item))?.shift();
  }
}

/** The runner saves calls and results of functions without their ids. */
function asSaved(item: Item): Item {
  if (item.type !== 'function_call' && item.type !== 'function_call_result') return item;
  const { id: _, ...saved } = item as Item & { id?: unknown };
  return saved;
}

const keyOf = (item: Item): string => JSON.stringify(asSaved(item));
