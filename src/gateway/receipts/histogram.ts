/** Counts durations in buckets, as Prometheus wants them. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  /** Upper bounds of the buckets, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  get count(): number {
    return this.#count;
  }
  get sum(): number {
    return this.#sum;
  }

  add(value: number): void {
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at !== -1) this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count++;
    this.#sum += value;
  }

  /** Each bound, with the number of values up to it. */
  buckets(): (readonly [bound: number, count: number])[] {
    let upTo = 0;
    return this.#bounds.map((bound, i) => {
      upTo += this.#counts[i] ?? 0;
      return [bound, upTo];
    });
  }
}
