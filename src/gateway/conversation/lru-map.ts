/** A map of limited size. A new entry removes the one that was set longest ago. */
export class LruMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #most: number;
  #newest: K | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  /** Undefined removes the entry. */
  set(key: K, value: V | undefined): void {
    // The newest is already at the end.
    if (key !== this.#newest || value === undefined) this.#entries.delete(key);
    if (value === undefined) return;
    this.#entries.set(key, value);
    this.#newest = key;
    if (this.#entries.size <= this.#most) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest as K);
  }
}
