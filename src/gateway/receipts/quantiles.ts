/** Counts durations in steps of a tenth, so that any number of them takes the same room. */
export class Quantiles {
  readonly #counts = new Array<number>(STEPS).fill(0);
  #count = 0;

  add(milliseconds: number): void {
    const step = Math.ceil(Math.log(Math.max(milliseconds, LEAST_MS) / LEAST_MS) / LOG_STEP);
    const at = Math.min(STEPS - 1, step);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#count++;
  }

  /** The duration that at least this share of all did not exceed; 0 if there are none. */
  at(share: number): number {
    let left = Math.ceil(share * this.#count);
    if (left === 0) return 0;
    const step = this.#counts.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    return Number((LEAST_MS * Math.exp(step * LOG_STEP)).toPrecision(3));
  }
}

const LEAST_MS = 0.001;
const LOG_STEP = Math.log(1.1);
/** Up to ten minutes. */
const STEPS = Math.ceil(Math.log(600_000 / LEAST_MS) / LOG_STEP) + 1;
