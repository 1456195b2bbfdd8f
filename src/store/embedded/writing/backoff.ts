/** The delay before a retry. */
export class Backoff {
  readonly #firstMs: number;
  #ms = 0;
  #until = 0;

  constructor(firstMs = 1000) {
    this.#firstMs = firstMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  failed(): void {
    this.#ms = Math.min(this.#ms * 2 || this.#firstMs, MOST_WAITS * this.#firstMs);
    this.#until = performance.now() + this.#ms;
  }

  succeeded(): void {
    this.#ms = 0;
    this.#until = 0;
  }
}

const MOST_WAITS = 60;
